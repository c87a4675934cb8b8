"""`grailbench profile`: what of a graph decides which index suits it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import options
from grailbench.cli.printing import note, show, table
from grailbench.report.table import Table
from grailbench.util.words import count, estimate, grouped, magnitude, share, short, size

if TYPE_CHECKING:
    from grailbench.graph.profile import Reach
    from grailbench.problems.reachability.profile import Profile


@click.command
@click.argument("graphs", metavar="GRAPH...", nargs=-1, required=True, type=options.GRAPH_OR_FILE)
@click.option(
    "--seed", type=options.Whole(0), default=1, show_default=True, help="Of the vertices and pairs that are drawn."
)
@click.option("--out", type=options.OUT_FOLDER, help="Draw figures into DIR.")
@options.drawn
@click.option("--record", type=options.Output(dir_okay=False, path_type=Path),
              help="Instead, put the outline of each GRAPH into FILE, a JSON line a graph.")  # fmt: skip
@options.as_json
def profile(graphs, seed, out, form, record, as_json):
    """Show what of GRAPH, a name or a file, decides which index suits it.

    \b
    structure  vertices, edges, strong components, roots, sinks, and how near to a forest it is
    ends       the trees at its ends, the core between them, and the bytes of the core's closure
    levels     by longest path from a root, and how many vertices each has
    degrees    of the condensed graph, with their tails
    reach      how many vertices a vertex reaches, and the share of random pairs that are reachable
    pairs      which step of `sequential` answers random and balanced pairs, and what is left to a search

    A file is imported under its stem. The same seed gives the same profile. With --out also figures of the ends, the
    levels, the degrees, the components and the pairs, each with its data as CSV.

    An outline is sizes, components, trees, levels in at most 64 bins and degrees in powers of two, for pages that show
    graphs which are not at hand. Lines of other graphs stay in the file, and one of the same graph is replaced.

    \b
    Examples:
      grailbench profile kegg
      grailbench profile my-graph.gra --out figures --format svg
      grailbench profile kegg-like --json
      grailbench profile kegg-like erdos-renyi-100-0.1 --record outlines.jsonl
    """
    from grailbench.data.imported import named
    from grailbench.data.library import open_graph
    from grailbench.graph import profile as outlines
    from grailbench.problems.reachability.profile import profile

    recorded = {} if record is None else outlines.read(record)
    for graph in graphs:
        name, sha256 = named(graph, note)
        if record is None:
            folder = out if len(graphs) == 1 or out is None else out / Path(graph).stem
            _show(profile(open_graph(name, sha256), seed), folder, form, as_json)
        else:
            recorded[name] = profile(open_graph(name), pairs=0)
            outlines.write(record, recorded.values())
            note(f"recorded: {name}")


def _show(found: Profile, out: Path | None, form: str, as_json: bool) -> None:
    from grailbench.problems.reachability.profile import remarks
    from grailbench.report import draw
    from grailbench.report.profiled import of_answers, of_outline
    from grailbench.util.visible import quoted

    parts = [part for table in tables(found) for part in (table, *([""] if table.notes else []))]
    parts += [*([] if found.reach is None else [reached(found.reach)]), *remarks(found)]
    parts += [f"next: grailbench advise {quoted(found.name)}"] if found.vertices else []
    show(as_json, [found.record()], parts)
    if out is not None:
        source = f"{found.name}, SHA-256 {found.sha256[:16]}, seed {found.seed}"
        answers = of_answers(each._asdict() for each in found.settled)
        for path in draw.save([*of_outline(found), answers], out, source, form):
            note(f"written: {path}")


BINS = 16  #: most lines of the table of levels, a divisor of the bins of an outline
_BAR = 40  # characters of its longest bar


def tables(profile: Profile) -> Iterator[Table]:
    """The tables of a profile; those that would have no line are left out."""
    yield _structure(profile)
    if profile.vertices:
        yield _levels(profile)
        yield _degrees(profile)
        yield _settled(profile)


def reached(reach: Reach) -> str:
    """What the searches found, in a sentence."""
    others = estimate(reach.mean, None if reach.whole else reach.error)
    how = "all vertices" if reach.whole else f"{reach.sources:,} random vertices; standard errors"
    return (
        f"A vertex reaches {others} others on average and {reach.most:,} at most; of random pairs "
        f"{_rate(100 * reach.rate, 100 * reach.rate_error)} % are reachable (searched from {how})."
    )


def _rate(rate: float, error: float) -> str:
    """A percentage and its error in as many places as the first digit of the error needs: '0.00012747 ± 0.00000008'."""
    if error == 0:
        return short(rate)
    places = max(1, -magnitude(error))
    return f"{rate:.{places}f} ± {error:.{places}f}"


def _structure(graph: Profile) -> Table:
    from grailbench.problems.reachability.profile import FORESTS

    def part(line: dict[str, str]) -> str:
        whole = getattr(graph, line["of"]) if line["of"] else 0
        return f"{share(number(line), whole)} of {line['whole']}" if whole else ""

    def number(line: dict[str, str]) -> int:
        return attrgetter(line["field"])(graph)

    with open(Path(__file__).with_name("profile.csv"), encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))  # what is counted, its field of a profile, and of what it is a share
    kind = f"an {graph.forest}: {FORESTS[graph.forest]}" if graph.forest else "no forest"
    fits = "fits `core` here" if graph.fits else "more than `core` takes here"
    notes = [
        f"Trees at the ends: {kind}. Peeled are sources with at most one child, again and again, then sinks with at "
        "most one parent.",
        f"Closure of the core, as bits: {size(graph.closure_bytes)}, {fits}.",
    ]  # fmt: skip
    columns = {"": "what", "number": number, "share": part}
    return table(f"{graph.name}: structure", columns, lines, ["number"], ends=frozenset({3, 7, 16}),
                 notes=notes if graph.vertices else [])  # fmt: skip


def _levels(graph: Profile) -> Table:
    import numpy as np

    from grailbench.graph.profile import level_bins

    bins = list(pairwise(level_bins(graph.depth, BINS)))
    places = np.searchsorted(level_bins(graph.depth), bins)
    until = np.concatenate(([0], np.cumsum(graph.levels)))[places]
    means = {each: float(end - begin) / (each[1] - each[0]) for each, (begin, end) in zip(bins, until, strict=True)}
    columns = {
        "level": lambda each: f"{each[0] + 1:,}" + (f" to {each[1]:,}" if each[1] > each[0] + 1 else ""),
        "components" if graph.depth <= BINS else "components a level":
            lambda each: short(means[each]) if means[each] % 1 else grouped(int(means[each])),
        "": lambda each: "█" * round(_BAR * means[each] / max(means.values())),
    }  # fmt: skip
    widths = f"widest {graph.widest:,}, median {graph.median_level:,.10g}"
    title = f"{count(graph.depth, 'level')} by longest path from a root: {widths}"
    return table(title, columns, bins, list(columns)[:2])


def _degrees(graph: Profile) -> Table:
    from grailbench.graph.profile import QUANTILES

    columns = {
        "": lambda line: line[0], "mean": lambda line: f"{line[1].mean:.2f}",
        **{f"{q} %": lambda line, q=str(q): line[1].quantiles[q] for q in QUANTILES},
        "most": lambda line: line[1].most, "of the edges at 1 %": lambda line: share(line[1].top, 1),
    }  # fmt: skip
    notes = ["90 %: that many components have no more. At 1 %: at the components with most (at least one)."]
    sides = [("parents", graph.parents), ("children", graph.children)]
    return table("degrees of components", columns, sides, list(columns)[1:], notes=notes)


def _settled(profile: Profile) -> Table:
    from grailbench.problems.reachability.profile import INDEX, PAIRS, STAGES, Settled

    def reachable(each: Settled) -> str:
        if each.kind == "balanced" or not each.rate_error:
            return share(each.positives, each.pairs)
        return f"{_rate(100 * each.positives / each.pairs, 100 * each.rate_error)} %"

    steps = dict(zip((*STAGES[:-1], "searched"), STAGES, strict=True))
    columns = {
        "pairs": "kind", "asked": "pairs", "reachable": reachable,
        **{head: lambda each, stage=stage: share(getattr(each, stage), each.pairs) for head, stage in steps.items()},
        "edges a search": lambda each: short(each.edges_a_search),
    }  # fmt: skip
    notes = [
        f"Steps of `sequential` with d = {INDEX.dim} in their order, random child order: both ends in one component; "
        "level, labels: no; tree: yes; hubs: yes or no."
    ]
    if any(each.pairs < PAIRS for each in profile.settled):
        notes.append(f"Less than {PAIRS:,} pairs were asked where their searches scanned too many edges.")
    return table("what answers the pairs", columns, profile.settled, list(columns)[1:], notes=notes)
