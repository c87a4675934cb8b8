"""Who wins where: every implementation against the best other on the same machine, graph, questions and place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from grailbench.compare.measures import ANSWERS, FROM_EDGES, Measure, best, graph_of, place, questions, total
from grailbench.compare.ranking import Duel, duel
from grailbench.harness.rows import STATUSES
from grailbench.report.render.csv import csv
from grailbench.report.site.entries import Entry
from grailbench.report.table import Table
from grailbench.util import words

WINS, LOSES = "wins", "loses"


class Machine(NamedTuple):
    """A machine, or a run of which none is known. `key` is the same for cells whose times may be compared."""

    key: tuple[str, str]
    title: str


def machine(entry: Entry) -> Machine | None:
    """The machine of a cell; None if its run was measured on several, so that it is in no comparison."""
    run = entry.source.run
    if run.mixed:
        return None
    title = words.machine({**run.environment, "commit": None}, whole=False)
    if run.fingerprint is None:
        return Machine(("run", entry.source.name), f"{title} (run {entry.source.name})")
    return Machine(("machine", run.fingerprint), f"{title} (machine {run.fingerprint[:6]})")


@dataclass(frozen=True, eq=False)
class Round:
    """An implementation on one machine, graph, query set and place.

    answering  by the time of a pair, or of the last phase; `whole` from edges to all answers of the set
    lost       its cell with the worst status, if no cell of it is sound
    """

    machine: Machine
    graph: tuple[str, str | None]
    asked: str
    place: str
    answering: Duel
    whole: Duel
    lost: Entry | None

    @property
    def verdict(self) -> str | None:
        """That of `answering`; `LOSES` if it has no sound cell there and another has; None with nothing to compare."""
        if self.answering.own is None:
            return None if self.answering.other is None else LOSES
        return verdict(self.answering)


def verdict(each: Duel) -> str | None:
    """`WINS` or `LOSES`, or why neither is said (`Ratio.equal`); None without a ratio."""
    if each.ratio is None:
        return None
    return {-1: WINS, 1: LOSES}.get(each.ratio.order, each.ratio.equal)


@lru_cache(maxsize=1)  # pages of one site ask for the same entries
def _grouped(entries: tuple[Entry, ...]) -> dict[tuple, list[Entry]]:
    """The entries that may be compared with one another; those of runs on several machines are left out."""
    groups: dict[tuple, list[Entry]] = {}
    for entry in entries:
        at, cell = machine(entry), entry.cell
        if at is not None:
            key = cell.problem, at, graph_of(cell), questions(cell), place(cell)
            groups.setdefault(key, []).append(entry)
    return groups


def rounds(name: str, problem: str, entries: Iterable[Entry]) -> list[Round]:
    """Every round of an implementation, in the order of its cells."""
    found = []
    for (solved, at, graph, asked, where), group in _grouped(tuple(entries)).items():
        own = [entry for entry in group if entry.cell.impl == name]
        if solved != problem or not own:
            continue
        others = [entry for entry in group if entry.cell.impl != name]
        lost = None if any(each.cell.sound for each in own) else max(
            own, key=lambda each: STATUSES.index(each.cell.status))  # fmt: skip
        whole = total(FROM_EDGES, max((entry.cell.queries or 0 for entry in group), default=0) or None)
        found.append(Round(at, graph, asked, where, _duel(own, others, ANSWERS), _duel(own, others, whole), lost))
    return found


def _duel(own: list[Entry], others: list[Entry], measure: Measure) -> Duel:
    one, other = (best(side, measure, first_named) for side in (own, others))
    return duel(one, other, measure, bool(one and other and one.item.source is other.item.source))


def first_named(entry: Entry) -> tuple[str, str]:
    """Which of equal entries is named: the first by label and run."""
    return entry.cell.label, entry.source.name


def graphs_won(found: Iterable[Round], whole: bool = False) -> tuple[set[str], set[str]]:
    """The graphs on which an implementation wins a round and loses none, and all on which it had another beside it; by
    the time of the answers or, if `whole`, from edges."""
    verdicts = _verdicts(found, whole)
    return {graph for graph, seen in verdicts.items() if WINS in seen and LOSES not in seen}, set(verdicts)


def graphs_lost(found: Iterable[Round]) -> set[str]:
    """The graphs on which an implementation loses a round and wins none."""
    return {graph for graph, seen in _verdicts(found).items() if LOSES in seen and WINS not in seen}


def _verdicts(found: Iterable[Round], whole: bool = False) -> dict[str, set[str]]:
    verdicts: dict[str, set[str]] = {}
    for each in found:
        seen = verdict(each.whole) if whole else each.verdict
        if seen is not None:
            verdicts.setdefault(each.graph[0], set()).add(seen)
    return verdicts


# ------------------------------------------------------------------ texts and blocks


def to(up: str, address: str) -> str:
    """An address of the site for a page in a folder; `up` leads to the site's."""
    return f"{up}{address}"


def tables(table: Table) -> list[tuple[str, object]]:
    """The blocks of a table: itself, and its CSV if it has data."""
    return [("table", table), *([("data", (table.file or table.name, csv([table])))] if table.data is not None else [])]
