"""The pages of graphs: what a graph is, pictures of its levels and degrees, trade-offs, and the best of each budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from grailbench.compare import measures
from grailbench.compare.measures import AT_HAND, FROM_EDGES, Best, Measure, best, by_pair, of_value, total
from grailbench.compare.ratios import span
from grailbench.data.registry import Dataset, registry
from grailbench.errors import GrailbenchError
from grailbench.graph import generate, profile
from grailbench.graph.generate import catalogue
from grailbench.graph.generate.networks import NETWORKS
from grailbench.graph.profile import Outline
from grailbench.harness.cells import NOT_FROM_EDGES, Cell
from grailbench.harness.statistics import Interval
from grailbench.problems.contract import PROBLEMS, USUAL
from grailbench.report import paying, tradeoffs
from grailbench.report.page.sections import Block
from grailbench.report.profiled import of_outline
from grailbench.report.site.entries import Entry, by_graph, first_named, grouped, link, linked_table, not_compared
from grailbench.report.table import Column, Table
from grailbench.util import words
from grailbench.util.visible import quoted
from grailbench.util.words import short, size

ANSWERS = 10_000  #: of the time in the table of all graphs
BUDGETS = (1, ANSWERS, 1_000_000, 1_000_000_000)  #: answers
NOTES = (
    "From edges: from edges in memory to the answers, with the index of reachability. Graph at hand: the index and the "
    "answers, or the last phase alone, of a condensed or prepared graph in memory, on a GPU in the GPU's. Medians over "
    "the trials, with 95 % intervals.",
    "A pair is taken to cost what it did in the batch that was measured; in a smaller batch it costs more, most of "
    "all on a GPU. A peer condenses the graph in its build too: compare it with others from edges.",
    "Least memory and energy: what keeps no index (0 bytes) is left out. The peak is that of the cell's process, with "
    "the interpreter and the graph, and that of its GPU's memory if it uses one.",
)


def page(name: str, own: list[Entry]) -> list[Block]:
    """The page of a graph, of its cells: what it is, its figures, and the best of each budget on each machine."""
    recorded = _outline(name, own)
    return [*_about(name, own, recorded), *_pictures(name, recorded), *_tradeoffs(own), *_budgets(own)]


def _outline(name: str, own: Iterable[Entry]) -> Outline | None:
    """The recorded outline of a graph, unless that is of another graph of this name."""
    found = profile.recorded().get(name)
    known = {entry.cell.graph_sha256 for entry in own} - {None}
    return found if found is not None and (not known or found.sha256 in known) else None


# ------------------------------------------------------------------ what it is


def _about(name: str, own: list[Entry], recorded: Outline | None) -> Iterator[Block]:
    yield "heading", "What it is"
    dataset = registry().get(name)
    if dataset is not None:
        said, command = f"{dataset.title}, a real graph of the set {dataset.set_title}.", "fetch"
    elif (made := _generated(name)) is not None:
        said, command = f"Generated, no real graph{made}.", "generate" if name in _stored_names() else ""
    elif own and own[0].cell.kind == "imported":
        said, command = "Imported from a file on the machine that measured it; it is not in the registry.", ""
    else:
        said, command = "This installation knows no graph of this name; the page is made from its rows alone.", ""
    yield "text", said
    facts = [*_counts(own, recorded), *(_registered(dataset) if dataset is not None else ())]
    yield "facts", [*facts, *([("how to get it", f"grailbench {command} {quoted(name)}")] if command else [])]


def _stored_names() -> set[str]:
    """The names that 'grailbench generate' takes."""
    return {*catalogue.graphs(), *NETWORKS, *generate.look_alikes()}


def _generated(name: str) -> str | None:
    """What a generated graph is, to follow 'no real graph'; None for a name that no generator here knows."""
    if (made := catalogue.graphs().get(name)) is not None:
        of = catalogue.sets()[catalogue.set_of(name)]
        return f": {made.title}; the set {of.title}: {of.about.rstrip('.')}"
    if name in NETWORKS:
        return f": a network of kind {NETWORKS[name].kind}"
    if name in generate.look_alikes():
        return f": a look-alike of {name.removesuffix('-like')}, with its vertices, edges, levels and degrees"
    try:
        return None if generate.generated_name(name) is None else ", from its name, which says kind, size and seed"
    except GrailbenchError:
        return None


def _counts(own: list[Entry], recorded: Outline | None) -> Iterator[tuple[str, str]]:
    if recorded is not None:
        yield "vertices", f"{recorded.vertices:,}"
        more = f" ({recorded.duplicates:,} repeat another, {recorded.loops:,} are loops)"
        yield "edges", f"{recorded.edges:,}{more if recorded.duplicates or recorded.loops else ''}"
        yield "strong components", f"{recorded.components:,}, the largest of {recorded.largest:,}"
        yield "levels", f"{recorded.depth:,}"
        yield "roots and sinks", f"{recorded.roots:,} and {recorded.sinks:,}"
        yield "weak components", f"{recorded.weak:,}"
        if recorded.rate is not None:
            error = f" ± {recorded.rate_error:.2g}" if recorded.rate_error else ""
            yield "positive share", f"{recorded.rate:.4g}{error} of the ordered pairs of vertices have a path"
    cells = [entry.cell for entry in own]
    for problem, vertices, edges in dict.fromkeys((c.problem, c.vertices, c.edges) for c in cells if c.vertices):
        root = ", as condensed, with a super-root and its edges" if problem in (USUAL, "counts") else ""
        yield f"in rows of {problem}", f"{vertices:,} vertices, {edges or 0:,} edges{root}"
    checksums = dict.fromkeys(cell.graph_sha256 for cell in cells if cell.graph_sha256)
    yield "SHA-256", ", ".join(checksums) or (recorded.sha256 if recorded else "unknown")
    if stands := dict.fromkeys(cell.stands_for for cell in cells if cell.stands_for):
        yield "stands for", ", ".join(stands)


def _registered(dataset: Dataset) -> Iterator[tuple[str, str]]:
    facts = {
        "also called": ", ".join(dataset.aliases),
        "in print": "; ".join(dict.fromkeys(row.where for row in dataset.published)),
        "closure": dataset.closure
        and f"{dataset.closure.pairs:,} pairs, {dataset.closure.cyclic:,} vertices on cycles",
        "comes from": " or ".join(dataset.sources),
        "licence": "unknown to the registry; ask its source",
        "file": f"{dataset.graph_file}, format {dataset.format}",
        "erratum": "; ".join(f"{row.where}: {row.erratum}" for row in dataset.published if row.erratum),
        "notes": " ".join(dataset.notes),
    }
    return ((name, value) for name, value in facts.items() if value)


def _pictures(name: str, recorded: Outline | None) -> Iterator[Block]:
    if recorded is None:
        yield "heading", "Levels and degrees"
        made = f"grailbench profile {quoted(name)} --record outlines.jsonl"
        yield "text", f"No outline of this graph is recorded. This command makes one: {made}"
        return
    for figure in of_outline(recorded):
        if figure.form.empty:
            yield "text", f"{figure.title}: {figure.note.removeprefix('Unavailable: ')}"
        else:
            yield from (("heading", figure.title), ("figure", figure))


# ------------------------------------------------------------------ trade-offs


def _tradeoffs(own: list[Entry]) -> Iterator[Block]:
    """The trade-offs of the run with most configurations that have both a build and a query on this graph."""
    timed = [e for e in own if e.cell.problem == USUAL and e.cell.sound and e.cell.stats("query") and e.source.machine]
    runs = grouped(timed, lambda entry: entry.source.name)
    if not runs:
        return
    name, found = max(sorted(runs.items()), key=lambda each: len({entry.cell.label for entry in each[1]}))
    addresses = {entry.cell.key: link(entry.address) for entry in found}
    cells = [entry.cell for entry in found]
    drawn = [each for each in tradeoffs.figures(cells, lambda cell: addresses[cell.key]) if not each.form.empty]
    if drawn:
        yield "heading", "Trade-offs"
        yield "text", f"Of the run {name}, which has most configurations on this graph. Every mark leads to its rows."
        yield from (("figure", figure) for figure in drawn)
        yield from (("table", table) for table in paying.tables(cells))


# ------------------------------------------------------------------ best of each budget


def _budgets(own: list[Entry]) -> Iterator[Block]:
    yield "heading", "Best of each budget"
    yield from not_compared(own)
    groups = grouped(
        (entry for entry in own if entry.source.machine is not None),
        lambda entry: (entry.source.machine, entry.cell.graph_sha256, entry.cell.problem),
    )
    blocks: list[Block] = []
    for (machine, sha256, problem), found in sorted(groups.items(), key=lambda each: [*PROBLEMS].index(each[0][2])):
        several = len({entry.cell.graph_sha256 for entry in own}) > 1
        made = [table for table in _tables(found) if table.lines]
        if made:
            graph = f", graph of SHA-256 {(sha256 or 'unknown')[:12]}" if several else ""
            blocks += [("heading", f"{problem}, {machine.title}{graph}"), *(("table", table) for table in made)]
    yield from [("lines", NOTES), *blocks] if blocks else [("text", "No cell of this graph has a time to compare.")]


def _tables(found: list[Entry]) -> Iterator[Table]:
    """The tables of cells of one machine, graph and problem: one for each kind of queries, then memory and energy."""
    pairwise = by_pair(found[0].cell)
    for kind, own in grouped(found, lambda entry: measures.kind_of_questions(entry.cell)).items():
        yield _fastest(f"Fastest, {kind}{' pairs' if pairwise else ''}", own, BUDGETS if pairwise else [None])
    yield _least(found, pairwise)


def _fastest(title: str, own: list[Entry], budgets: Iterable[int | None]) -> Table:
    """The best of each number of answers (None: all), from edges and with the graph at hand."""
    ways = [(answers, way, total(way, answers)) for answers in budgets for way in (FROM_EDGES, AT_HAND)]
    lines = [(*each, least) for each in ways if (least := best(own, each[2], first_named)) is not None]
    columns = [
        Column("answers", lambda each: "all" if each[0] is None else each[0], words.grouped),
        Column("begins", lambda each: each[1]), *_of_best("ms", lambda each: each[3], short),
        Column("95 %", lambda each: _interval(each[3].cell, each[2]), lambda bounds: span(bounds, short)),
        Column("queries", lambda each: measures.asked(each[3].cell)),
    ]  # fmt: skip
    notes = [] if any(way == FROM_EDGES for _, way, *_ in lines) else [f"From edges: {NOT_FROM_EDGES}."]
    return linked_table("fastest", title, columns, lines, keys=2, notes=notes)


def _interval(cell: Cell, measure: Measure) -> Interval | None:
    found = measure.stats(cell)
    return Interval(found.median_low, found.median_high) if found.trials > 1 else None


def _of_best(header: str, of: Callable[[Any], Best], text: Callable[[Any], str], **more: Any) -> list[Column]:
    """The columns of the best of each line: its configuration, and its value, which leads to its rows."""
    return [
        Column("configuration", lambda each: of(each).cell.label,
               link=lambda each: link(of(each).item.implementation_address)),
        Column(header, lambda each: of(each).value, text, lambda each: link(of(each).item.address), **more),
    ]  # fmt: skip


def _least(own: list[Entry], pairwise: bool) -> Table:
    """The least index, peak memory and energy among cells of one machine and graph."""
    wanted = [
        ("index" if pairwise else "held", lambda cell: cell.index_bytes, lambda value: size(int(value))),
        ("peak memory", _memory, lambda value: size(int(value))),
        ("joules of a million pairs" if pairwise else "joules", partial(_energy, pairwise=pairwise), short),
    ]
    lines = [(what, text, least) for what, value, text in wanted
             if (least := best(own, of_value(value), first_named)) is not None]  # fmt: skip
    columns = [
        Column("least", lambda each: each[0]),
        *_of_best("value", lambda each: each[2], str, said=lambda each: each[1](each[2].value)),
        Column("queries", lambda each: measures.asked(each[2].cell)),
    ]
    return linked_table("least", "Least memory and energy", columns, lines)


def _memory(cell: Cell) -> int | None:
    if cell.host_peak_bytes is None:
        return None
    return cell.host_peak_bytes + (cell.device_peak_bytes or 0 if measures.place(cell) == measures.GPU else 0)


def _energy(cell: Cell, pairwise: bool) -> float | None:
    spent = cell.joules(cell.last_phase)
    return spent if spent is None or not pairwise else spent * 1e6 / cell.queries if cell.queries else None


# ------------------------------------------------------------------ all graphs


def index(entries: Iterable[Entry]) -> list[Block]:
    """A table of all graphs: size, depth, how much is reachable, number of cells, and the best time from edges."""
    lines = []
    for name, own in by_graph(entries).items():
        timed = [entry for entry in own if by_pair(entry.cell) and entry.source.machine is not None
                 and measures.kind_of_questions(entry.cell) == "random"]  # fmt: skip
        lines.append((name, own, _outline(name, own), best(timed, total(FROM_EDGES, ANSWERS), first_named)))
    columns = [
        Column("graph", lambda each: each[0], link=lambda each: link(each[1][0].graph_address)),
        Column("kind", lambda each: "generated" if each[1][0].cell.generated else each[1][0].cell.kind or "unknown"),
        *(Column(name, lambda each, name=name: getattr(each[2] or _sized(each[1]), name), words.grouped)
          for name in ("vertices", "edges")),
        Column("levels", lambda each: each[2] and each[2].depth, words.grouped),
        Column("in trees", lambda each: each[2] and each[2].in_trees, "{:.0%}".format),
        Column("positive share", lambda each: each[2] and each[2].rate, "{:.3g}".format),
        Column("cells", lambda each: len(each[1]), words.grouped),
        Column(f"{ANSWERS:,} answers: ms", lambda each: each[3] and each[3].value, short,
               lambda each: link(each[3].item.address)),
        Column("configuration", lambda each: each[3] and each[3].cell.label,
               link=lambda each: link(each[3].item.implementation_address)),
        Column("machine", lambda each: each[3] and each[3].item.source.machine.title),
    ]  # fmt: skip
    notes = [
        "Vertices and edges of the file; where no outline is recorded, of the rows, which may count a super-root. In "
        "trees: strong components in the trees at the ends. Positive share: of the ordered pairs of vertices.",
        f"The best time from edges in memory to an index and {ANSWERS:,} answers to random pairs, a median, with the "
        "machine that it was measured on. Times of different machines are not to be compared.",
    ]
    return [("table", linked_table("graphs", words.count(len(lines), "graph"), columns, lines, notes=notes))]


def _sized(own: list[Entry]) -> Cell:
    """A cell that says how large the graph is, if one does."""
    return next((entry.cell for entry in own if entry.cell.vertices is not None), own[0].cell)
