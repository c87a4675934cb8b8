"""The pages of graphs: what a graph is, pictures of its levels and degrees, and what is worth its price on it."""

from collections.abc import Iterable, Iterator

from grailbench.compare.measures import best, by_pair, from_edges, grouped
from grailbench.compare.stability import mark
from grailbench.data.registry import registry
from grailbench.errors import GrailbenchError
from grailbench.graph import generate, profile
from grailbench.graph.generate import catalogue
from grailbench.graph.generate.networks import NETWORKS
from grailbench.graph.profile import Outline
from grailbench.harness.cells import Cell
from grailbench.problems.contract import USUAL
from grailbench.report import break_even, tradeoffs
from grailbench.report.page.sections import Block
from grailbench.report.profiled import of_outline
from grailbench.report.site.entries import Entry, by_graph, first_named, link, linked_table
from grailbench.report.table import Column
from grailbench.util import words
from grailbench.util.visible import quoted

PICTURE = "Queries against what the index costs"  #: the heading of the first picture of a page
ANSWERS = 10_000  #: of the time in the table of all graphs


def page(name: str, own: list[Entry]) -> list[Block]:
    """The page of a graph, of its cells: the picture of its answers against the build, what it is, its levels and
    degrees, and its other trade-offs; levels and degrees first where no answers were timed."""
    recorded = _outline(name, own)
    pictures, tables = _tradeoffs(own)
    shape, about = list(_pictures(name, recorded)), _about(name, own, recorded)
    drawn_first = not pictures and any(kind == "figure" for kind, _ in shape)
    return [*shape, *about, *tables] if drawn_first else [*pictures, *about, *shape, *tables]


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
        text, command = f"{dataset.title}, a real graph of the set {dataset.set_title}.", "fetch"
    elif (made := _generated(name)) is not None:
        text = f"Generated, no real graph{made}."
        command = "generate" if name in {*catalogue.graphs(), *NETWORKS, *generate.look_alikes()} else ""
    elif own and own[0].cell.kind == "imported":
        text, command = "Imported from a file on the machine that measured it; it is not in the registry.", ""
    else:
        text, command = "This installation knows no graph of this name; the page is made from its rows alone.", ""
    yield "text", text
    facts = dict(_counts(own, recorded))
    if dataset is not None:
        facts |= {
            "in print": "; ".join(dict.fromkeys(row.where for row in dataset.published)),
            "comes from": " or ".join(dataset.sources), "licence": "unknown to the registry; ask its source",
            "erratum": "; ".join(f"{row.where}: {row.erratum}" for row in dataset.published if row.erratum),
            "notes": " ".join(dataset.notes),
        }  # fmt: skip
    facts["how to get it"] = f"grailbench {command} {quoted(name)}" if command else ""
    yield "facts", [(key, value) for key, value in facts.items() if value]


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


def _tradeoffs(own: list[Entry]) -> tuple[list[Block], list[Block]]:
    """The trade-offs of the run with most configurations that have both a build and a query on this graph: the first
    picture, and what comes later."""
    timed = [e for e in own if e.cell.problem == USUAL and e.cell.sound and e.cell.stats("query") and e.source.machine]
    runs = grouped(timed, lambda entry: entry.source.name)
    if not runs:
        return [], []
    name, found = max(sorted(runs.items()), key=lambda each: len({entry.cell.label for entry in each[1]}))
    addresses = {entry.cell.key: link(entry.address) for entry in found}
    cells = [entry.cell for entry in found]
    drawn = [each for each in tradeoffs.figures(cells, lambda cell: addresses[cell.key]) if not each.form.empty]
    if not drawn:
        return [], []
    first, *others = [("figure", figure) for figure in drawn]
    text = f"Of the run {name}, which has most configurations on this graph. Every mark leads to its rows."
    tables = [("table", table) for table in break_even.tables(cells)]
    return [("text", text), first], [("heading", "Other trade-offs"), *others, *tables] if others or tables else []


# ------------------------------------------------------------------ all graphs


def index(entries: Iterable[Entry]) -> list[Block]:
    """A table of all graphs: size, depth, how much is reachable, number of cells, and the best time from edges."""
    lines = []
    for name, own in by_graph(entries).items():
        timed = [each for each in own if by_pair(each.cell) and each.cell.random and each.source.machine is not None]
        lines.append((name, own, _outline(name, own), best(timed, from_edges(ANSWERS), first_named)))
    columns = [
        Column("graph", lambda each: each[0], link=lambda each: link(each[1][0].graph_address)),
        Column("kind", lambda each: "generated" if each[1][0].cell.generated else each[1][0].cell.kind or "unknown"),
        *(Column(name, lambda each, name=name: getattr(each[2] or _sized(each[1]), name), words.grouped)
          for name in ("vertices", "edges")),
        Column("levels", lambda each: each[2] and each[2].depth, words.grouped),
        Column("in trees", lambda each: each[2] and each[2].in_trees, "{:.0%}".format),
        Column("positive share", lambda each: each[2] and each[2].rate, "{:.3g}".format),
        Column("cells", lambda each: len(each[1]), words.grouped),
        Column(f"{ANSWERS:,} answers: ms", lambda each: each[3] and each[3].value, words.short,
               lambda each: link(each[3].item.address), mark=lambda each: mark(each[3].cell)),
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
