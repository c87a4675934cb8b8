"""The thesis's figures: printed times against measured ones, and the share of each phase of its labeling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Panel, Part
from grailbench.report.papers.beside import Entry, Filled
from grailbench.report.papers.feeds import CPU, FEEDS, WEIGHTS
from grailbench.report.papers.thesis import GPU_TABLES, TIME_TABLES
from grailbench.util.words import count, short, times

if TYPE_CHECKING:
    import pandas


_DATA_SETS = {"6.1": "Small sparse", "6.2": "Small dense", "6.3": "Large real"}


def printed(tables: Iterable[Filled], sampled: str = "") -> Figure:
    """A panel per printed column with a series per table; a mark is open if its printed value has an erratum."""
    tables = list(tables)
    frame = printed_frame(tables)
    bounds = {(name, dataset, column): _bounds(name, column, entry) for name, dataset, column, entry in _times(tables)}
    shown = frame[frame.ratio.notna() & (frame.printed > 0)]
    panels = []
    for column, part in shown.groupby("column", sort=False):
        marks = [
            Mark(
                f"table {row.table}", row.printed, row.measured,
                f"{row.title}: printed {short(row.printed)} ms, measured {short(row.measured)} ms, "
                f"{times(row.ratio)}" + (f" ({row.erratum})" if row.erratum else ""),
                *bounds[row.table, row.dataset, column], bool(row.erratum),
            )
            for row in part.itertuples()
        ]  # fmt: skip
        panels.append(Panel(str(column), tuple(marks)))
    names = tuple(dict.fromkeys(f"table {name}" for name in shown.table))
    guides = tuple((10.0**k, "equal" if k == 0 else f"{10.0**k:g}×") for k in range(-9, 10))
    form = Marks(tuple(panels), names, Axis("printed ms"), Axis("measured ms"), square=True, guides=guides)
    odd = "An open mark: print is known to be odd there." if shown.erratum.any() else ""
    noted = sampled if (frame.status == "sampled").any() else ""
    return Figure("printed", frame, form, " ".join(text for text in (odd, noted) if text))


def _times(tables: Iterable[Filled]) -> Iterable[tuple[str, str, str, Entry]]:
    """The printed times of tables 2.4-2.6 and 6.1-6.6 as table, dataset, column, entry; columns of 6.4-6.6 that repeat
    2.4-2.6 are left out."""
    for table in tables:
        for row in table.rows if table.name in TIME_TABLES else ():
            for column, feed in FEEDS[table.name].items():
                entry = row.entries[column]
                if not (feed.counts or entry.printed is None or (table.name in GPU_TABLES and column in CPU)):
                    yield table.name, row.dataset, column, entry


def _bounds(table: str, column: str, entry: Entry) -> tuple[float | None, float | None]:
    """The 95 % interval of a measured mean, or Nones."""
    stats = None if entry.measured is None or entry.cell is None else FEEDS[table][column].stats(entry.cell)
    return (None, None) if stats is None else (stats.low, stats.high)


def printed_frame(tables: Iterable[Filled]) -> pandas.DataFrame:
    """One row per printed time of `_times`: table, dataset, title, column, config, measured (mean ms, missing if not
    measured), printed (ms), ratio, status, measured_notes, erratum.

    All graphs are real, because only real graphs fill published rows.
    """
    import pandas

    tables = list(tables)
    columns = ["table", "dataset", "title", "column", "config", "measured", "printed", "ratio", "status",
               "measured_notes", "erratum"]  # fmt: skip
    titles = {(table.name, row.dataset): row.title for table in tables for row in table.rows}
    rows = [
        (name, dataset, titles[name, dataset], column, entry.cell.label if entry.cell else None, entry.measured,
         float(entry.printed), entry.ratio, entry.status, "; ".join(entry.measured_notes),
         "; ".join(entry.printed_notes))
        for name, dataset, column, entry in _times(tables)
    ]  # fmt: skip
    return pandas.DataFrame(rows, columns=columns).astype(dict.fromkeys(("measured", "printed", "ratio"), float))


def weights(tables: Iterable[Filled], sampled: str = "") -> Figure:
    """A panel per data set or graph with two bars of shares: measured and printed."""
    frame = weights_frame(tables)
    panels = []
    for _, group in frame.groupby(["level", "name"], sort=False):
        title = str(group["name"].iloc[0])
        bars = []
        for source, own in group.groupby("source", sort=False):
            head, rows = f"{title}, {source}", own.itertuples()
            parts = tuple(Part(row.phase, row.share, f"{head}, {row.phase}: {row.share:.0%}") for row in rows)
            bars.append(Bar(str(source), parts))
        panels.append(Panel(title, tuple(bars)))
    if not (frame.source != "printed").any():
        panels = []
    form = Bars(tuple(panels), tuple(dict.fromkeys(frame.phase)), whole=True)
    return Figure("weights", frame, form, "" if frame.empty else sampled)


WEIGHTS_FRAME = ("level", "table", "name", "generated", "source", "graphs", "phase", "ms", "share")


def weights_frame(tables: Iterable[Filled]) -> pandas.DataFrame:
    """One row per phase of a bar of the thesis's 'weight of sub algorithms': level ('data set' or 'graph'), table,
    name, generated, source ('measured' or 'printed'), number of graphs, phase, ms (mean; None for a data set), share.

    A share is that of the phase in the sum of the seven phases. A data set's share is the mean over its measured
    graphs. Look-alikes are a data set of their own. Graphs that print gives the same name (Citeseer occurs twice) are
    named with their table.
    """
    import pandas

    sets: dict[tuple, list[dict[str, float]]] = {}
    single = []
    tables = [table for table in tables if set(WEIGHTS) <= set(table.columns)]
    titles = Counter(row.title for table in tables for row in table.rows)
    for table in tables:
        for row in table.rows:
            measured = {column: row.entries[column].measured for column in WEIGHTS}
            printed = {column: row.entries[column].printed for column in WEIGHTS}
            if None in measured.values():
                continue
            generated = row.entries["Total"].cell.generated
            name = "Generated graphs" if generated else _DATA_SETS.get(table.name, "Other graphs")
            for source, bar in (("measured", measured), ("printed", printed)):
                if None in bar.values():
                    continue
                found = {column: float(value) for column, value in bar.items()}
                shares = {column: ms / (sum(found.values()) or 1.0) for column, ms in found.items()}
                sets.setdefault((table.name, name, generated, source), []).append(shares)
                title = row.title if titles[row.title] == 1 else f"{row.title} (table {table.name})"
                for column, ms in found.items():
                    single.append(("graph", table.name, title, generated, source, 1, column, ms, shares[column]))
    grouped = []
    for (table_name, name, generated, source), graphs in sets.items():
        title = f"{name}, {count(len(graphs), 'graph')}"
        for column in WEIGHTS:
            mean = sum(shares[column] for shares in graphs) / len(graphs)
            grouped.append(("data set", table_name, title, generated, source, len(graphs), column, None, mean))
    return pandas.DataFrame([*grouped, *single], columns=WEIGHTS_FRAME).astype({"ms": float, "share": float})
