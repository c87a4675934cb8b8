"""Entries of the tables beside print, from the cells of one graph: which cell is shown, and what is noted of it."""

from __future__ import annotations

from dataclasses import replace

from grailbench.harness.cells import Cell
from grailbench.report.papers.beside import Entry
from grailbench.report.papers.feeds import Feed
from grailbench.report.published import PRINTED_QUERIES

NOT_RUN = "the graph is not in the run"


def unprinted(own: list[Cell], feed: Feed) -> Entry:
    """The entry of a column in a row without printed values."""
    return asked(time(own, feed), feed.asks)


def asked(entry: Entry, asks: bool) -> Entry:
    """The entry, with a note on the number of queries if it depends on them and the number differs from print's."""
    if not asks or not other_queries(entry):
        return entry
    note = f"asked {entry.cell.queries:,} queries, not {PRINTED_QUERIES:,}"
    return replace(entry, measured_notes=(*entry.measured_notes, note))


def other_queries(entry: Entry) -> bool:
    """True for a value that was measured on another number of queries than print's."""
    return entry.measured is not None and entry.cell is not None and entry.cell.queries not in (None, PRINTED_QUERIES)


def time(own: list[Cell], feed: Feed, why: str = NOT_RUN) -> Entry:
    """The entry of a column of a table of times from the cells of one graph; `why` is the reason if there are none."""
    if not own:
        return Entry(status="missing", measured_notes=(why,))
    fit = [cell for cell in own if feed.takes(cell)]
    if feed.value == "positives":  # the same for every sound cell on the same queries
        sound = [c for c in own if c.positives is not None and c.random and c.sound]
        fit = [c for c in sound if feed.takes(c)] or sound or fit
    if not fit:
        failed = {c.reason for c in own if c.status == "skipped" and c.reason}
        why = failed.pop() if len(failed) == 1 and len(own) == 1 else f"the run has no cell {feed}, unfiltered"
        return Entry(status="missing", measured_notes=(why,))
    return timed(fit, feed)


def timed(fit: list[Cell], feed: Feed) -> Entry:
    """The entry of the best of some cells, as `_preference` orders them."""
    cell = min(fit, key=_preference)
    if feed.counts and cell.sound and (count := feed.count(cell)) is not None:
        return Entry(count, cell=cell)
    stats = feed.stats(cell)
    notes = (f"{cell.label}: {cell.status}" + (f", {cell.reason}" if cell.reason else ""),)
    if cell.status == "sampled":
        notes = (f"sampled: {cell.reason}",)  # one for all configurations on these queries
    if cell.sound and stats is None:
        return Entry(status="missing", measured_notes=(f"{cell.label}: no {feed.value} in its rows",), cell=cell)
    if cell.status == "ok":
        return Entry(stats.mean, cell=cell)
    if cell.sound:
        return Entry(stats.mean, status=cell.status, measured_notes=notes, cell=cell)
    return Entry(status=cell.status, measured_notes=notes, cell=cell)


def _preference(cell: Cell) -> tuple:
    """Orders cells: sound ones first, then those on as many queries as print, depth-first, with most threads, with
    random child order, with the smallest seed."""
    grave = {"ok": 0, "sampled": 0, "incomplete": 1}.get(cell.status, 2)
    asked, search, order = cell.queries != PRINTED_QUERIES, cell.search != "dfs", cell.order != "random"
    return grave, asked, search, -cell.threads, order, cell.seed or 0
