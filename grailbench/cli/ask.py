"""The command `grailbench ask`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from grailbench.cli import options
from grailbench.cli.printing import note, output
from grailbench.errors import CheckFailed
from grailbench.util import ahead
from grailbench.util.words import count as counted

if TYPE_CHECKING:
    import numpy as np

    from grailbench.api import Graph, Index
    from grailbench.data.imported import Chosen
    from grailbench.graph.ids import Ids
    from grailbench.problems.reachability.pairs import Pairs

MOST = 1 << 30  #: bytes of a file of vertices
_SEARCH = "dfs"  # an implementation that builds nothing


class _WithNumbers(click.Command):
    """A command of vertices, which takes -3 for one of them and for no option; --descendants and --ancestors need no
    value before --from-file."""

    def parse_args(self, ctx, args):
        ctx.ignore_unknown_options = any(re.fullmatch("-[0-9]+", arg) for arg in args)
        given = list(args)
        for at in range(len(args) - 1, 0, -1):
            if args[at].startswith("--from-file") and args[at - 1] in ("--descendants", "--ancestors"):
                given.insert(at, "")
        return super().parse_args(ctx, given)


@click.command(cls=_WithNumbers)
@click.argument("graph", type=options.GRAPH_OR_FILE)
@click.argument("source", metavar="[U", required=False)
@click.argument("target", metavar="V]", required=False)
@click.option("--only", multiple=True, metavar="kind=NAME",
              help="Ask on the edges of this kind alone; may repeat: of one of these kinds.")  # fmt: skip
@click.option("--pairs", type=options.FILE, help="Ask the pairs of a file, as --queries of run reads them (also .gz, "
              ".csv); - is the standard input.")  # fmt: skip
@click.option("--source", "--source-column", "source_column", metavar="COLUMN",
              help="Of a table of pairs with a header: where a pair begins.")  # fmt: skip
@click.option("--target", "--target-column", "target_column", metavar="COLUMN",
              help="Of a table of pairs with a header: where a pair ends.")  # fmt: skip
@click.option("--descendants", metavar="U", multiple=True,
              help="All other vertices that U reaches; may repeat: that one of them reaches.")  # fmt: skip
@click.option("--ancestors", metavar="V", multiple=True, help="All other vertices that reach V; may repeat.")
@click.option("--from-file", type=options.FILE,
              help="Further U or V, one a line: --descendants --from-file FILE; - is the standard input.")  # fmt: skip
@click.option("--within", type=options.Whole(0), metavar="N", help="Only those at most N edges away.")
@click.option("--topological", is_flag=True, help="Each after all that reach it, but for those in a cycle with it.")
@click.option("--distances", is_flag=True, help="The edges from the nearest U, or to the nearest V, too.")
@click.option("--count", is_flag=True, help="Only how many; alone, the number of descendants of every vertex.")
@click.option("--path", is_flag=True, help="A shortest path for each pair, too.")
@click.option("--exit-code", is_flag=True, help="End with 1 if U does not reach V.")
@click.option("--explain", is_flag=True, help="Which filter or search answered each pair, and what it looked at.")
@click.option("--out", type=options.Output(dir_okay=False, allow_dash=True),
              help="Write the answers there; .gz is packed.")  # fmt: skip
@options.index
@click.option("--index", "index_file", type=options.FILE, help="Open an index that --save wrote.")
@click.option("--save", type=options.Output(dir_okay=False, index=True), help="Save the index for --index.")
@options.as_json
def ask(graph, **flags):
    """Ask whether U reaches V in GRAPH, a name or a file, and print `U V 1` or `U V 0`.

    GRAPH may also be an index that --save or `grailbench build` wrote; with --impl another index is made of its graph,
    so that a GPU answers from what `streamed` saved.

    Answers are in the ids of the graph's file and in the order of the questions; --pairs reads them back. Every vertex
    reaches itself. For --pairs an index is built first (see --save); one pair or set is a search. If a file of pairs
    gives answers and one of them is wrong, the exit code is 1; with --exit-code it is 1 too if U does not reach V, for
    scripts.

    \b
    Examples:
      grailbench ask kegg-like 17 1500 --explain
      grailbench ask kegg-like --descendants 17 --count
      grailbench ask needs app zlib --only kind=runtime
      grailbench ask kegg-like --ancestors 1500 --ancestors 1501 --within 3 --distances
      echo "17 1500" | grailbench ask kegg-like --pairs - --path --json
      grailbench ask kegg-like 17 1500 --impl sequential --save kegg.index
      grailbench ask kegg-like 1500 17 --index kegg.index
      grailbench ask kegg.index 1500 17
    """
    from grailbench.data.imported import named
    from grailbench.graph.ids import write_pairs
    from grailbench.graph.mapped import is_index

    flags = SimpleNamespace(**flags)
    _require_one_question(flags)
    ahead.expect("grailbench.api.first:of_answer", not _alone(flags))
    flags.names = _names(flags)  # once, as the standard input may have them
    with output(flags.out) as stream:
        chosen = None if is_index(graph) else named(graph, note)
        index, wrong, no, lines = None, None, False, ()
        asked = _searched(chosen, flags)
        if asked is None:
            index = _index(graph, chosen, flags)
            if flags.descendants or flags.ancestors:
                asked = _set_of(index, flags)
            elif flags.count:
                lines = _count_lines(index, flags.as_json)
            else:
                pairs = _pairs(index.graph, flags)
                answers = index.reaches_many_vertices(pairs.sources, pairs.targets)
                wrong = _wrong(index.graph, pairs, answers)
                asked = Asked(index.graph.ids, pairs.sources, pairs.targets, answers)
        if isinstance(asked, Set):
            lines = _set_lines(asked, flags)
        elif asked is not None:
            no = flags.exit_code and not asked.answers[0]
            if flags.path or flags.explain or flags.as_json:
                lines = _pair_lines(asked, index, flags)
            else:
                write_pairs(stream, *asked)
        for line in lines:
            text = json.dumps(line) if isinstance(line, dict) else line
            stream.write(f"{text}\n".encode("utf-8", "surrogatepass"))
    if flags.out not in (None, "-"):
        note(f"answers: {flags.out}")
    if wrong is not None:
        raise wrong
    if no:
        click.get_current_context().exit(1)


def _require_one_question(flags: SimpleNamespace) -> None:
    """Raises click.UsageError if the options ask nothing, several things, or what does not go together."""
    one = {
        "U V": flags.source is not None, "--pairs": flags.pairs is not None,
        "--descendants": flags.descendants, "--ancestors": flags.ancestors,
    }  # fmt: skip
    questions = [name for name, given in one.items() if given]
    of_pairs = bool({"U V", "--pairs"} & {*questions})
    columns = [each is not None for each in (flags.source_column, flags.target_column)]
    several = f", not {' and '.join(questions)}" if questions else ""
    faults = {
        f"one vertex, {flags.source}: U V, or --descendants U, or --ancestors V":
            flags.source is not None and flags.target is None,
        f"one question: {', '.join(one)} or --count{several}": len(questions) > 1 or not (questions or flags.count),
        "--source and --target name columns of --pairs: both or none":
            any(columns) and not (all(columns) and flags.pairs is not None),
        "--from-file, --within, --topological and --distances are for --descendants or --ancestors":
            (flags.from_file or flags.within is not None or flags.topological or flags.distances)
            and not (flags.descendants or flags.ancestors),
        "--count is a number: leave out --topological and --distances":
            flags.count and (flags.topological or flags.distances),
        "--exit-code is for U V": flags.exit_code and flags.source is None,
        "--count is for --descendants, --ancestors, or alone": flags.count and of_pairs,
        "--path and --explain are for pairs: U V or --pairs": (flags.path or flags.explain) and not of_pairs,
        "--explain gives the path too: leave out --path": flags.path and flags.explain,
        "--index opens an index that was built: leave out --impl and --save":
            flags.index_file and (flags.save or flags.impl != "auto"),
    }  # fmt: skip
    for fault, found in faults.items():
        if found:
            raise click.UsageError(fault)


class Asked(NamedTuple):
    """Pairs of vertices, int32[k] each, whose ids are those of the graph, and whether each source reaches its target,
    bool[k]."""

    ids: Ids
    sources: np.ndarray
    targets: np.ndarray
    answers: np.ndarray


class Set(NamedTuple):
    """The answer to --descendants or --ancestors: the ids of the graph, those that were given, those that were found,
    and for each of these its distance, int32[k], or None."""

    ids: Ids
    given: list
    found: list
    away: np.ndarray | None


def _searched(chosen: Chosen | None, flags: SimpleNamespace) -> Asked | Set | None:
    """The answer for U V, --descendants or --ancestors by a search that loads no kernels, which takes most of the time
    of such a question. None for another question, or if the search takes longer than that."""
    further = (
        flags.path or flags.within is not None or flags.topological or flags.distances or flags.filters or flags.only
    )
    if chosen is None or not _alone(flags) or flags.index_file or further:
        return None
    import numpy as np

    from grailbench.data.library import open_graph
    from grailbench.graph import search

    graph = open_graph(*chosen)
    ids, dag = graph.ids, graph.dag
    if flags.source is not None:
        ends = np.array([ids.vertex_of(flags.source), ids.vertex_of(flags.target)], np.int32)
        answer = search.reaches(dag, *dag.component[ends])
        return None if answer is None else Asked(ids, ends[:1], ends[1:], np.array([answer]))
    if flags.ancestors and dag.reverse is None:
        return None
    given = np.array([ids.vertex_of(name) for name in flags.names], np.int64)
    rows = dag.reverse if flags.ancestors else (dag.offsets, dag.children)
    if (seen := search.reached(*rows, np.unique(dag.component[given]))) is None:
        return None
    others = seen[dag.component]
    others[given] = False
    found = ids.labels_of(np.flatnonzero(others)).tolist()
    return Set(ids, [_plain(ids.label_of(vertex)) for vertex in given.tolist()], found, None)


def _alone(flags: SimpleNamespace) -> bool:
    """Whether one pair or set is asked of no index in particular: a search, for which no index pays."""
    one = flags.source is not None or flags.descendants or flags.ancestors
    return one and flags.impl == "auto" and not (flags.explain or flags.save)


def _index(name: str, chosen: Chosen | None, flags: SimpleNamespace) -> Index:
    """The index of a graph, or the one in the saved file of that name if there is no graph. Raises what `build` and
    `load` raise."""
    from grailbench.api import Graph, build, load

    if chosen is None:
        if flags.index_file or (flags.save and not flags.only):
            raise click.UsageError(f"{name} is an index that was saved: leave out --index and --save")
        if not flags.only:
            return load(name, implementation=None if flags.impl == "auto" else flags.impl)
    graph = load(name).graph if chosen is None else Graph.open(*chosen)
    if flags.only:
        graph = graph.only(kind=_kinds(flags.only))
    if flags.index_file:
        return load(flags.index_file, graph)
    for vertex in (flags.source, flags.target, *flags.descendants, *flags.ancestors):
        if vertex:  # before anything is built
            graph.vertex(vertex)
    impl = _SEARCH if _alone(flags) else flags.impl
    index = build(graph, impl, d=flags.dim, filters=flags.filters, threads=flags.threads)
    if flags.save:
        index.save(flags.save)
        note(f"index: {flags.save}")
    return index


def _kinds(only: tuple[str, ...]) -> list[str]:
    """The kinds of edges in values of --only. Raises click.UsageError."""
    parts = [each.partition("=") for each in only]
    for text, (key, equals, _) in zip(only, parts, strict=True):
        if not equals or key != "kind":
            raise click.UsageError(f"--only {text}: kind=NAME is expected")
    return [name for _, _, name in parts]


def _pairs(graph: Graph, flags: SimpleNamespace) -> Pairs:
    """The pairs that are asked, of vertices."""
    import numpy as np

    from grailbench.problems.reachability.pairs import UNKNOWN, Pairs, read_pairs

    if flags.pairs is not None:
        columns = None if flags.source_column is None else (flags.source_column, flags.target_column)
        return read_pairs(flags.pairs, graph.ids, columns=columns)
    ends = np.array([[graph.vertex(flags.source)], [graph.vertex(flags.target)]], np.int32)
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


def _pair_lines(asked: Asked, index: Index | None, flags: SimpleNamespace) -> Iterator[str | dict]:
    label = asked.ids.label_of
    for u, v, reaches in zip(*(each.tolist() for each in asked[1:]), strict=True):
        source, target = _plain(label(u)), _plain(label(v))
        if flags.explain:
            explained = index.explain(source, target)
            yield explained.record() if flags.as_json else str(explained)
            continue
        path = index.path(source, target) if flags.path else None
        if flags.as_json:
            record = {"source": source, "target": target, "reachable": reaches}
            yield record | ({"path": path} if flags.path else {})
        else:
            yield " -> ".join(map(str, path)) if path else f"no path from {source} to {target}"


def _names(flags: SimpleNamespace) -> list[str]:
    """The vertices of --descendants or --ancestors, and those of --from-file."""
    from grailbench.util.files import read_text

    names = [name for name in flags.descendants or flags.ancestors if name]  # there is none before --from-file
    if flags.from_file:
        names += [name for line in read_text(flags.from_file, most=MOST).splitlines() if (name := line.strip())]
    return names


def _set_of(index: Index, flags: SimpleNamespace) -> Set:
    """The answer of an index to --descendants or --ancestors."""
    ids = index.graph.ids
    given = [_plain(ids.label_of(index.graph.vertex(name))) for name in flags.names]
    ask = index.descendants if flags.descendants else index.ancestors
    found = ask(given, within=flags.within, topological=flags.topological, distances=flags.distances)
    found, away = found if flags.distances else (found, None)
    return Set(ids, given, found.tolist(), away)


def _set_lines(asked: Set, flags: SimpleNamespace) -> Iterator[str | dict]:
    given, found, away = asked[1:]
    if flags.as_json:
        one = {"vertex": given[0]} if len(given) == 1 else {"vertices": given}
        key = "descendants" if flags.descendants else "ancestors"
        yield one | {key: len(found) if flags.count else found} | ({} if away is None else {"distances": away.tolist()})
    elif away is not None:
        between = " " if asked.ids.numeric else "\t"
        yield from (f"{name}{between}{edges}" for name, edges in zip(found, away.tolist(), strict=True))
    else:
        yield from [str(len(found))] if flags.count else map(str, found)


def _count_lines(index: Index, as_json: bool) -> Iterator[str | dict]:
    import numpy as np

    ids = index.graph.ids_of(np.arange(index.graph.vertices)).tolist()
    between = " " if index.graph.ids.numeric else "\t"
    for each, found in zip(ids, index.count_descendants().tolist(), strict=True):
        yield {"vertex": each, "descendants": found} if as_json else f"{each}{between}{found}"


def _plain(label: Any) -> Any:
    """An id as JSON has it."""
    return label if isinstance(label, str) else int(label)
