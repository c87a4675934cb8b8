"""The typed values of tables as CSV, in full precision."""

from __future__ import annotations

from collections.abc import Iterable

from grailbench.report.table import Table


def csv(tables: Iterable[Table]) -> str:
    """The tables of one file: a header line, then one line per row of each `Table.data`."""
    import pandas

    frames = [table.data for table in tables if table.data is not None]
    whole = frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)
    return whole.to_csv(index=False, lineterminator="\n")
