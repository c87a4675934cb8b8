"""The pages of graphs: what a graph is, pictures of its levels and degrees, and the best of each budget on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grailbench.compare import costs
from grailbench.compare.measures import FROM_EDGES, Best, best, by_pair, graph_of, kind_of_questions, total
from grailbench.data.registry import Dataset, registry
from grailbench.errors import GrailbenchError
from grailbench.graph import generate, profile
from grailbench.graph.generate import catalogue
from grailbench.graph.generate.networks import NETWORKS
from grailbench.graph.profile import Outline
from grailbench.problems.contract import PROBLEMS, USUAL
from grailbench.report import paying, tradeoffs
from grailbench.report.page.sections import Block
from grailbench.report.profiled import figures
from grailbench.report.site import budgets
from grailbench.report.site.entries import Entry, by_graph
from grailbench.report.site.rounds import first_named, machine, tables, to
from grailbench.report.table import Column, Table, of_rows
from grailbench.util.visible import quoted
from grailbench.util.words import count, grouped, listing, short

LIKE = "-like"
ANSWERS = 10_000  #: of the time in the index


def page(name: str, entries: Iterable[Entry], up: str = "../") -> list[Block]:
    """The page of a graph: what it is, its figures, and the best of each budget on each machine.

    entries  cells of any graphs; those of this one are shown
    up       leads from the page to the folder of the site
    """
    own = [entry for entry in entries if entry.cell.dataset == name]
    recorded = _outline(name, own)
    return [*_about(name, own, recorded), *_pictures(name, recorded), *_tradeoffs(own, up), *_budgets(own, up)]


def _outline(name: str, own: Iterable[Entry]) -> Outline | None:
    """The recorded outline of a graph, unless that is of another graph of this name."""
    found = profile.recorded().get(name)
    known = {entry.cell.graph_sha256 for entry in own} - {None}
    return found if found is not None and (not known or found.sha256 in known) else None


# ------------------------------------------------------------------ what it is


def _about(name: str, own: list[Entry], recorded: Outline | None) -> Iterator[Block]:
    cell = own[0].cell if own else None
    dataset = registry().get(name)
    yield "heading", "What it is"
    if dataset is not None:
        yield "text", f"{dataset.title}, a real graph of the set {dataset.set_title}."
    elif (said := _generated(name)) is not None:
        yield "text", said
    elif cell is not None and cell.kind == "imported":
        yield (
            "text",
            "Imported from a file on the machine that measured it; it is not in the registry.",
        )
    else:
        yield "text", "This installation knows no graph of this name; the page is made from its rows alone."
    facts = [*_counts(own, recorded), *(_registered(dataset) if dataset is not None else ())]
    command = _command(name, dataset)
    yield "facts", [*facts, *([("how to get it", command)] if command else [])]


def _generated(name: str) -> str | None:
    """What a generated graph is and what it stands for; None for a name that no generator here knows."""
    if (made := catalogue.graphs().get(name)) is not None:
        of = catalogue.sets()[catalogue.set_of(name)]
        return f"{made.title}. Generated, no real graph; the set {of.title}: {of.about}"
    if name in NETWORKS:
        stands = "it has the size of a graph of Pathak et al." if name.startswith("slides-") else "of no real one"
        stands = "it stands for a road network" if name.startswith("roads-") else stands
        return f"Generated, no real graph: a network of kind {NETWORKS[name].kind}; {stands}."
    base = name.removesuffix(LIKE)
    if base in generate.HOME_MADE:
        return (
            f"Generated, no real graph: a random DAG of the size of {base}, a home-made graph of Computation 2020 "
            "whose file is not available. It stands for that one."
        )
    if name in generate.look_alikes():
        return (
            f"A look-alike: generated, no real graph. It stands for {base} and has exactly its vertices, edges, roots, "
            "levels and degrees, and nearly its positive share."
        )
    try:
        known = generate.generated_name(name)
    except GrailbenchError:
        return None
    return None if known is None else "Generated from its name, which says kind, size and seed; no real graph."


def _counts(own: list[Entry], recorded: Outline | None) -> Iterator[tuple[str, str]]:
    if recorded is not None:
        yield "vertices", f"{recorded.vertices:,}"
        repeated = [f"{recorded.duplicates:,} repeat another"] if recorded.duplicates else []
        repeated += [f"{recorded.loops:,} join a vertex to itself"] if recorded.loops else []
        yield "edges", f"{recorded.edges:,}" + (f" ({', '.join(repeated)})" if repeated else "")
        yield "strong components", f"{recorded.components:,}, the largest of {count_vertices(recorded.largest)}"
        yield "levels", f"{recorded.depth:,}"
        yield "roots and sinks", f"{recorded.roots:,} and {recorded.sinks:,}"
        yield "weak components", f"{recorded.weak:,}"
        if recorded.rate is not None:
            error = f" ± {recorded.rate_error:.2g}" if recorded.rate_error else ""
            yield "positive share", f"{recorded.rate:.4g}{error} of the ordered pairs of vertices have a path"
    sizes = dict.fromkeys((e.cell.problem, e.cell.vertices, e.cell.edges) for e in own if e.cell.vertices is not None)
    for problem, vertices, edges in sizes:
        root = ", as condensed, with a super-root and its edges" if problem in (USUAL, "counts") else ""
        yield f"in rows of {problem}", f"{vertices:,} vertices, {edges or 0:,} edges{root}"
    checksums = dict.fromkeys(e.cell.graph_sha256 for e in own if e.cell.graph_sha256)
    if recorded is not None and not checksums:
        checksums = {recorded.sha256: None}
    yield from (("SHA-256", each) for each in checksums)
    stands = dict.fromkeys(e.cell.stands_for for e in own if e.cell.stands_for)
    if stands:
        yield "stands for", ", ".join(stands)


def count_vertices(number: int) -> str:
    return f"{number:,} {'vertex' if number == 1 else 'vertices'}"


def _registered(dataset: Dataset) -> Iterator[tuple[str, str]]:
    if dataset.aliases:
        yield "also called", ", ".join(dataset.aliases)
    printed = dict.fromkeys(row.where for row in dataset.published)
    if printed:
        yield "in print", "; ".join(printed)
    if dataset.closure is not None:
        yield "closure", f"{dataset.closure.pairs:,} pairs, and {dataset.closure.cyclic:,} vertices on cycles"
    yield "comes from", " or ".join(dataset.sources)
    yield "licence", "unknown to the registry; ask its source"
    yield "file", f"{dataset.graph_file}, format {dataset.format}"
    for row in dataset.published:
        if row.erratum:
            yield "erratum", f"{row.where}: {row.erratum}"
    if dataset.notes:
        yield "notes", " ".join(dataset.notes)


def _command(name: str, dataset: Dataset | None) -> str | None:
    if dataset is not None:
        return f"grailbench fetch {quoted(name)}"
    if _generated(name) is None:
        return None
    if (sizes := generate.parse_random(name)) is not None:
        vertices, degree, seed = sizes
        return f"grailbench generate random --vertices {vertices} --degree {degree:g} --seed {seed} --name {name}"
    return f"grailbench generate {quoted(name)}"


def _pictures(name: str, recorded: Outline | None) -> Iterator[Block]:
    if recorded is None:
        yield "heading", "Levels and degrees"
        made = f"grailbench profile {quoted(name)} --record outlines.jsonl"
        yield "text", f"No outline of this graph is recorded. This command makes one: {made}"
        return
    for figure in figures(recorded):
        if figure.form.empty:
            yield "text", f"{figure.title}: {figure.note.removeprefix('Unavailable: ')}"
        else:
            yield "heading", figure.title
            yield "figure", figure


# ------------------------------------------------------------------ trade-offs


def _tradeoffs(own: list[Entry], up: str) -> Iterator[Block]:
    """The trade-offs of the run with most configurations that have both a build and a query on this graph."""
    runs: dict[str, list[Entry]] = {}
    for entry in own:
        cell = entry.cell
        if cell.problem == USUAL and cell.sound and cell.stats("query") is not None and machine(entry):
            runs.setdefault(entry.source.name, []).append(entry)
    if not runs:
        return
    name, found = max(sorted(runs.items()), key=lambda each: len({entry.cell.label for entry in each[1]}))
    addresses = {entry.cell.key: to(up, entry.address) for entry in found}
    cells = [entry.cell for entry in found]
    drawn = [each for each in tradeoffs.figures(cells, lambda cell: addresses[cell.key]) if not each.form.empty]
    if not drawn:
        return
    yield "heading", "Trade-offs"
    yield "text", f"Of the run {name}, which has most configurations on this graph. Every mark leads to its rows."
    yield from (("figure", figure) for figure in drawn)
    table = paying.table(costs.fronts(paying.groups_of(cells)))
    if table.lines:
        yield from tables(table)


# ------------------------------------------------------------------ best of each budget


def _budgets(own: list[Entry], up: str) -> Iterator[Block]:
    yield "heading", "Best of each budget"
    mixed = sorted({entry.source.name for entry in own if machine(entry) is None})
    if mixed:
        yield "text", f"Not compared, as measured on several machines: {listing(mixed, 6)}."
    compared: dict[tuple, list[Entry]] = {}
    for entry in own:
        if (at := machine(entry)) is not None:
            compared.setdefault((at.key, graph_of(entry.cell), entry.cell.problem), []).append(entry)
    several = len({entry.cell.graph_sha256 for entry in own}) > 1
    blocks = []
    ordered = sorted(compared.items(), key=lambda each: list(PROBLEMS).index(each[0][2]))
    for number, ((_, (_, sha256), problem), found) in enumerate(ordered, 1):
        title = f"{problem}, {machine(found[0]).title}"
        title += f", graph of SHA-256 {(sha256 or 'unknown')[:12]}" if several else ""
        made = [table for table in _tables(found, f"{problem}-{number}", up) if table is not None]
        blocks += [("heading", title), *(block for table in made for block in tables(table))] if made else []
    if not blocks:
        yield "text", "No cell of this graph has a time that may be shown."
        return
    kinds = sorted({problem == USUAL for _, _, problem in compared}, reverse=True)
    yield "lines", [*(note for pairwise in kinds for note in budgets.NOTES[pairwise]), budgets.RESOURCES]
    yield from blocks


def _tables(found: list[Entry], name: str, up: str) -> Iterator[Table | None]:
    """The tables of cells of one machine, graph and problem: one for each kind of questions, then memory and energy."""
    pairwise = by_pair(found[0].cell)
    kinds: dict[str, list[Entry]] = {}
    for entry in found:
        kinds.setdefault(kind_of_questions(entry.cell), []).append(entry)
    for number, (kind, some_of) in enumerate(kinds.items(), 1):
        made = budgets.pairs if pairwise else budgets.whole
        title = f"Fastest, {kind} {'pairs' if pairwise else ''}".strip()
        yield made(f"fastest-{name}-{number}", title, some_of, up)
    yield budgets.resources(f"least-{name}", "Least memory and energy", found, up)


# ------------------------------------------------------------------ all graphs


def index(entries: Iterable[Entry], up: str = "") -> list[Block]:
    """A table of all graphs: size, depth, how much is reachable, number of cells, and the best time from edges."""
    rows, things = [], []
    for name, own in by_graph(entries).items():
        timed = [entry for entry in own if by_pair(entry.cell) and kind_of_questions(entry.cell) == "random"
                 and machine(entry) is not None]  # fmt: skip
        least = best(timed, total(FROM_EDGES, ANSWERS), first_named)
        things.append((own[0], least and least.item))
        rows.append(_row(name, own, least))
    if not rows:
        return [("text", "There is no graph.")]
    notes = [
        "Vertices and edges of the file; where no outline is recorded, of the rows, which may count a super-root. In "
        "trees: strong components in the trees at the ends. Positive share: of the ordered pairs of vertices.",
        f"The best time from edges in memory to an index and {ANSWERS:,} answers to random pairs, a median, with the "
        "machine that it was measured on. Times of different machines are not to be compared.",
    ]
    columns = [
        Column("graph", "graph", link=lambda each: to(up, each[0].graph_address)), Column("kind", "kind"),
        *(Column(name, name, grouped) for name in ("vertices", "edges", "levels")),
        Column("in trees", "in_trees", lambda share: f"{100 * share:.0f} %"),
        Column("positive share", "positive_share", "{:.3g}".format),
        Column("cells", "cells", grouped),
        Column(f"{ANSWERS:,} answers: ms", "best_ms", short, lambda each: to(up, each[1].address)),
        Column("configuration", "configuration", link=lambda each: to(up, each[1].implementation_address)),
        Column("machine", "machine"),
    ]  # fmt: skip
    return tables(of_rows("graphs", count(len(rows), "graph"), columns, rows, things, notes=notes))


def _row(name: str, own: list[Entry], least: Best | None) -> dict:
    """The values of a line."""
    recorded = _outline(name, own)
    cell = next((each.cell for each in own if each.cell.vertices is not None), own[0].cell)
    return {
        "graph": name, "kind": "generated" if cell.generated else cell.kind or "unknown",
        "vertices": recorded.vertices if recorded else cell.vertices,
        "edges": recorded.edges if recorded else cell.edges,
        "levels": recorded and recorded.depth, "in_trees": recorded and recorded.in_trees,
        "positive_share": recorded and recorded.rate, "cells": len(own), "best_ms": least and least.value,
        "configuration": least and least.cell.label, "machine": least and machine(least.item).title,
    }  # fmt: skip
