"""From how many pairs an index pays: a table for each query set of a run that has `sweep`, which keeps no index.

An index pays from N pairs on if the build, beyond what `sweep` needs too, takes no longer than what N pairs save. Both
times of a pair are those of the run's batch. For fewer pairs than that it is a proportion; for more it is a lower
bound, since N pairs can always be swept in batches of that size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from grailbench.compare.costs import Cost, pays_from
from grailbench.harness.cells import Cell
from grailbench.report.measured import generated_kind, median
from grailbench.report.papers.thesis import on_gpu
from grailbench.report.table import Table
from grailbench.util.words import BLANK, short

NAME = "pays"
SWEEP = "sweep"  #: the implementation without an index that an index must beat
THREADS = ("one thread", "all threads")  #: an index on several threads or a GPU is compared with a sweep on all
OURS, OTHERS = "ours", "others"
NEVER = "never"


@dataclass(frozen=True)
class Payment:
    """An index on one graph and query set, against the sweep on as many threads.

    cell      of the index
    swept     of `sweep`
    threads   of `THREADS`
    phase     what its build is taken from: 'ready', from edges to a ready index, or 'label' where that was not timed
    pairs     the least number of pairs from which it pays; `inf` if its pairs take as long as swept ones
    """

    cell: Cell
    swept: Cell
    threads: str
    phase: str
    pairs: float

    @property
    def whose(self) -> str:
        """One of ours, or of others."""
        return OURS if self.cell.ours else OTHERS

    @property
    def beyond(self) -> bool:
        """True if it pays only from more pairs on than a batch of the run has."""
        return inf > self.pairs > self.swept.queries

    @property
    def text(self) -> str:
        """'1,234', '>= 250,000' beyond the batch, 'never'."""
        return NEVER if self.pairs == inf else f"{'≥ ' if self.beyond else ''}{int(self.pairs):,}"


def pair_ns(cell: Cell) -> float | None:
    """Nanoseconds of one pair of the batch, or None."""
    time = median(cell, "query")
    return time * 1e6 / cell.queries if time and cell.queries else None


def payment(cell: Cell, swept: Cell, threads: str) -> Payment | None:
    """From how many pairs on an index pays; None without the times of both, or if it keeps no index."""
    own, other = pair_ns(cell), pair_ns(swept)
    if not own or not other or not cell.index_bytes:
        return None
    for phase in ("ready", "label"):
        build, least = median(cell, phase), median(swept, phase)
        if build is not None and least is not None:
            pairs = pays_from(Cost(build * 1e6, own), Cost(least * 1e6, other), 1)
            return Payment(cell, swept, threads, phase, pairs)
    return None


def payments(cells: Iterable[Cell]) -> list[Payment]:
    """Every index of every graph and query set, against the sweep of the same set on as many threads; against one on
    other threads where there is none."""
    cells = list(cells)
    swept: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in cells:
        if cell.impl == SWEEP and cell.part is None and pair_ns(cell):
            swept.setdefault((cell.dataset, cell.query_set), {}).setdefault(_threads(cell), cell)
    found = []
    for cell in cells:
        own = swept.get((cell.dataset, cell.whole_set), {})
        threads = _threads(cell)
        threads = threads if threads in own else next(iter(own), "")
        if cell.impl != SWEEP and threads and (one := payment(cell, own[threads], threads)):
            found.append(one)
    return found


def _threads(cell: Cell) -> str:
    return THREADS[(cell.threads or 1) > 1 or on_gpu([cell])]


# ------------------------------------------------------------------ tables


def tables(cells: Iterable[Cell]) -> list[Table]:
    """A table for each query set, real and generated graphs apart; none for a run without `sweep`."""
    groups: dict[tuple[bool, str], list[Payment]] = {}
    for one in payments(cells):
        groups.setdefault((one.swept.generated, one.swept.query_set), []).append(one)
    return [_table(name, like, own) for (like, name), own in sorted(groups.items(), key=lambda each: each[0][0])]


def _table(query_set: str, like: bool, found: list[Payment]) -> Table:
    """A line per graph: for each number of threads the time of a swept pair, and whose index pays first, ours and of
    others; records of every index."""
    import pandas

    graphs = list(dict.fromkeys(one.swept.dataset for one in found))
    least: dict[tuple[str, str, str], Payment] = {}
    for one in found:
        key = one.swept.dataset, one.threads, one.whose
        if key not in least or one.pairs < least[key].pairs:
            least[key] = one
    shown = [t for t in THREADS if any(one.threads == t for one in found)]
    sides = [(t, w) for t in shown for w in (OURS, OTHERS) if any((g, t, w) in least for g in graphs)]
    headers = ["graph"]
    for threads in shown:
        headers.append(f"swept, {threads}: ns a pair")
        for who in (w for t, w in sides if t == threads):
            headers += [f"{who}, {threads}: pays from", f"{who}, {threads}"]
    lines = []
    for graph in graphs:
        line = [graph]
        for threads in shown:
            times = (pair_ns(one.swept) for one in found if (one.swept.dataset, one.threads) == (graph, threads))
            line.append(short(next(times, None)) or BLANK)
            for who in (w for t, w in sides if t == threads):
                one = least.get((graph, threads, who))
                line += [BLANK, BLANK] if one is None else [one.text, _who(one.cell)]
        lines.append(line)
    records = list(_records(found, like))
    kind = f" ({generated_kind(graphs)})" if like else ""
    numbers = frozenset(head for head in headers if "ns a pair" in head or "pays from" in head)
    return Table(
        f"{NAME}-{query_set}", f"From how many pairs an index pays, {query_set}{kind}",
        headers, lines, numbers, notes=list(_notes(found)), records=records, file=NAME, data=pandas.DataFrame(records),
    )  # fmt: skip


def _who(cell: Cell) -> str:
    return cell.label if cell.part is None else f"{cell.label} (first {cell.part:,} pairs)"


def _notes(found: list[Payment]) -> Iterator[str]:
    batches = sorted({one.swept.queries for one in found})
    batch = f"batch of {batches[0]:,} pairs" if len(batches) == 1 else "run's batch"
    yield (
        "The build of an index beyond what the sweep needs too, over what it saves a pair against the sweep, both "
        f"measured at the {batch}; shown is the index that pays from the fewest pairs on."
    )
    yield (
        "This takes the sweep's time to be proportional to the pairs, which it is not: in a smaller batch a pair takes "
        "another time, searched or swept."
    )
    if any(one.beyond for one in found):
        yield "≥: beyond the batch, where the number is a lower bound, since more pairs can be swept in such batches."
    if any(one.pairs == inf for one in found):
        yield f"{NEVER}: at this batch the sweep answers a pair in no more time than the index."
    if any(one.phase == "label" for one in found):
        yield "The way from edges was not timed of all: there the build is the labeling alone, and a peer's has the " \
              "condensing in it."  # fmt: skip


def _records(found: list[Payment], like: bool) -> Iterator[dict]:
    for one in found:
        yield {
            "dataset": one.swept.dataset, "generated": like, "queries": one.swept.query_set, "threads": one.threads,
            "whose": one.whose, "configuration": one.cell.label, "index_pairs": one.cell.queries,
            "build_phase": one.phase, "build_ms": median(one.cell, one.phase),
            "swept_build_ms": median(one.swept, one.phase),
            "pair_ns": pair_ns(one.cell), "swept_pair_ns": pair_ns(one.swept), "batch": one.swept.queries,
            "pays_from": None if one.pairs == inf else int(one.pairs), "lower_bound": one.beyond,
        }  # fmt: skip
