"""`grailbench ask`: answers on one graph, in its own ids."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from grailbench.cli import completion, options
from grailbench.cli.printing import note, output
from grailbench.errors import CheckFailed
from grailbench.util.words import count as counted

if TYPE_CHECKING:
    import numpy as np

    from grailbench.api import Graph, Index
    from grailbench.problems.reachability.pairs import Pairs


class _WithNumbers(click.Command):
    """A command of vertices, which takes -3 for one of them and for no option."""

    def parse_args(self, ctx, args):
        ctx.ignore_unknown_options = any(re.fullmatch("-[0-9]+", arg) for arg in args)
        return super().parse_args(ctx, args)


@click.command("ask", cls=_WithNumbers)
@click.argument("graph", type=completion.GRAPH_OR_FILE)
@click.argument("source", metavar="[U", required=False)
@click.argument("target", metavar="V]", required=False)
@click.option(
    "--pairs",
    type=completion.FILE,
    metavar="FILE",
    help="Ask the pairs of a file, as --queries of run reads them (also .gz, .csv); - is the standard input.",
)
@click.option(
    "--source", "source_column", metavar="COLUMN", help="Of a table of pairs with a header: where a pair begins."
)
@click.option(
    "--target", "target_column", metavar="COLUMN", help="Of a table of pairs with a header: where a pair ends."
)
@click.option("--descendants", metavar="U", help="All other vertices that U reaches.")
@click.option("--ancestors", metavar="V", help="All other vertices that reach V.")
@click.option("--count", is_flag=True, help="Only how many; alone, the number of descendants of every vertex.")
@click.option("--path", is_flag=True, help="A shortest path for each pair, too.")
@click.option("--explain", is_flag=True, help="Which filter or search answered each pair, and what it looked at.")
@click.option("--out", type=options.Output(dir_okay=False, allow_dash=True), metavar="FILE",
              help="Write the answers there; .gz is packed.")  # fmt: skip
@options.index
@click.option("--index", "index_file", type=completion.FILE, metavar="FILE", help="Open an index that --save wrote.")
@click.option("--save", type=options.Output(dir_okay=False, index=True), metavar="FILE",
              help="Save the index for --index.")  # fmt: skip
@options.as_json
def command(graph, source, target, **flags):  # fmt: skip
    """Ask whether U reaches V in GRAPH, a name or a file, and print `U V 1` or `U V 0`.

    GRAPH may also be an index that --save or `grailbench build` wrote; with --impl another index is made of its graph,
    so that a GPU answers from what `streamed` saved.

    Answers are in the ids of the graph's file and in the order of the questions; --pairs reads them back. Every vertex
    reaches itself. The index is built first (see --save). If a file of pairs gives answers and one of them is wrong,
    the exit code is 1.

    \b
    Examples:
      grailbench ask kegg-like 17 1500 --explain
      grailbench ask kegg-like --descendants 17 --count
      echo "17 1500" | grailbench ask kegg-like --pairs - --path --json
      grailbench ask kegg-like 17 1500 --impl sequential --save kegg.index
      grailbench ask kegg-like 1500 17 --index kegg.index
      grailbench ask kegg.index 1500 17
    """
    _answer(graph, Question(source, target, **flags))


@dataclass(frozen=True)
class Question:
    """The arguments of the command after GRAPH."""

    source: str | None
    target: str | None
    pairs: str | None
    source_column: str | None
    target_column: str | None
    descendants: str | None
    ancestors: str | None
    count: bool
    path: bool
    explain: bool
    out: str | None
    impl: str
    dim: int
    filters: str | None
    threads: int
    index_file: str | None
    save: str | None
    as_json: bool

    def __post_init__(self):
        if self.source is not None and self.target is None:
            raise click.UsageError(f"one vertex, {self.source}: U V, or --descendants U, or --ancestors V")
        one = {
            "U V": self.source is not None,
            "--pairs": self.pairs is not None,
            "--descendants": self.descendants is not None,
            "--ancestors": self.ancestors is not None,
        }
        asked = [name for name, given in one.items() if given]
        if len(asked) > 1 or not (asked or self.count):
            raise click.UsageError(
                f"one question: {', '.join(one)} or --count" + (f", not {' and '.join(asked)}" if asked else "")
            )
        named = [each is not None for each in (self.source_column, self.target_column)]
        if any(named) and not (all(named) and self.pairs is not None):
            raise click.UsageError("--source and --target name columns of --pairs: both or none")
        of_pairs = bool({"U V", "--pairs"} & {*asked})
        if self.count and of_pairs:
            raise click.UsageError("--count is for --descendants, --ancestors, or alone")
        if (self.path or self.explain) and not of_pairs:
            raise click.UsageError("--path and --explain are for pairs: U V or --pairs")
        if self.path and self.explain:
            raise click.UsageError("--explain gives the path too: leave out --path")
        if self.index_file and (self.save or self.impl != "auto"):
            raise click.UsageError("--index opens an index that was built: leave out --impl and --save")


def _answer(graph: str, question: Question) -> None:
    """Answers a question on the graph of that name or file, or on a saved index; prints or writes them."""
    from grailbench.problems.reachability.pairs import write_pairs

    with output(question.out) as stream:
        index = _index(graph, question)
        wrong = None
        if question.descendants is not None or question.ancestors is not None:
            records = _set_records(index, question)
        elif question.count:
            records = _count_records(index)
        else:
            pairs = _pairs(index.graph, question)
            answers = index.reaches_many_vertices(pairs.sources, pairs.targets)
            wrong = _wrong(index.graph, pairs, answers)
            if not (question.path or question.explain or question.as_json):
                write_pairs(stream, index.graph.ids, pairs.sources, pairs.targets, answers)
                records = ()
            else:
                records = _pair_records(index, pairs, answers, question)
        for text, record in records:
            stream.write(f"{json.dumps(record) if question.as_json else text}\n".encode("utf-8", "surrogatepass"))
    if question.out not in (None, "-"):
        note(f"answers: {question.out}")
    if wrong is not None:
        raise wrong


def _index(name: str, question: Question) -> Index:
    from grailbench.api import Graph, build, load
    from grailbench.api.engine import is_saved
    from grailbench.data.imported import named

    if is_saved(name):
        if question.index_file or question.save:
            raise click.UsageError(f"{name} is an index that was saved: leave out --index and --save")
        return load(name, implementation=None if question.impl == "auto" else question.impl)
    graph = Graph.open(*named(name, note))
    if question.index_file:
        return load(question.index_file, graph)
    index = build(graph, question.impl, d=question.dim, filters=question.filters, threads=question.threads)
    if question.save:
        index.save(question.save)
        note(f"index: {question.save}")
    return index


def _pairs(graph: Graph, question: Question) -> Pairs:
    """The pairs that are asked, of vertices."""

    import numpy as np

    from grailbench.problems.reachability.pairs import UNKNOWN, Pairs, read_pairs

    if question.pairs is not None:
        columns = None if question.source_column is None else (question.source_column, question.target_column)
        return read_pairs(question.pairs, graph.ids, columns=columns)
    ends = np.array([[graph.vertex(question.source)], [graph.vertex(question.target)]], np.int32)
    return Pairs(ends[0], ends[1], np.array([UNKNOWN], np.int8), np.zeros(1, np.int64))


def _wrong(graph: Graph, pairs: Pairs, answers: np.ndarray) -> CheckFailed | None:
    """The error for answers that a file gives and that are wrong."""

    import numpy as np

    from grailbench.problems.reachability.pairs import UNKNOWN

    wrong = np.flatnonzero((pairs.given != UNKNOWN) & (pairs.given != answers))
    if not wrong.size:
        return None
    at = int(wrong[0])
    u, v = (graph.ids.label_of(int(ends[at])) for ends in (pairs.sources, pairs.targets))
    truth = "reaches" if answers[at] else "does not reach"
    return CheckFailed(
        f"{counted(wrong.size, 'given answer')} of {answers.size:,} wrong: line {pairs.lines[at]}: {u} {truth} {v}"
    )


# ------------------------------------------------------------------ answers: each as a line of text and as a record


def _pair_records(index: Index, pairs: Pairs, answers: np.ndarray, question: Question) -> Iterator[tuple[str, dict]]:
    label = index.graph.ids.label_of
    for u, v, reaches in zip(pairs.sources.tolist(), pairs.targets.tolist(), answers.tolist(), strict=True):
        source, target = _plain(label(u)), _plain(label(v))
        if question.explain:
            explained = index.explain(source, target)
            yield str(explained), explained.record()
            continue
        record: dict[str, Any] = {"source": source, "target": target, "reachable": reaches}
        path = index.path(source, target) if question.path else None
        if question.path:
            record["path"] = path
        yield " -> ".join(map(str, path)) if path else f"no path from {source} to {target}", record


def _set_records(index: Index, question: Question) -> Iterator[tuple[str, dict]]:
    of, key = (
        (question.descendants, "descendants") if question.descendants is not None else (question.ancestors, "ancestors")
    )
    vertex = index.graph.vertex(of)
    asked = _plain(index.graph.ids.label_of(vertex))
    found = (index.descendants if key == "descendants" else index.ancestors)(asked)
    if question.count:
        yield f"{found.size}", {"vertex": asked, key: int(found.size)}
    elif question.as_json:
        yield "", {"vertex": asked, key: found.tolist()}
    else:
        for each in found.tolist():
            yield str(each), {}


def _count_records(index: Index) -> Iterator[tuple[str, dict]]:
    import numpy as np

    ids = index.graph.ids_of(np.arange(index.graph.vertices))
    between = " " if index.graph.ids.numeric else "\t"
    for each, found in zip(ids.tolist(), index.count_descendants().tolist(), strict=True):
        yield f"{each}{between}{found}", {"vertex": each, "descendants": found}


def _plain(label: Any) -> Any:
    """An id as JSON has it."""
    return label if isinstance(label, str) else int(label)
