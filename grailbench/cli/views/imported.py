"""What `grailbench import` shows."""

from __future__ import annotations

from collections.abc import Iterator

from grailbench.cli.views.datasets import COLUMNS
from grailbench.data.imported import ImportResult
from grailbench.util.screen import Grid
from grailbench.util.visible import quoted
from grailbench.util.words import count, grouped


def show(result: ImportResult) -> Iterator[Grid | str]:
    """What was read, what it became, and what to do next."""
    row = result.record()
    line = [grouped(row[key]) for key in COLUMNS.values()]
    yield Grid(f"{result.name}, with the super-root", list(COLUMNS), [line], frozenset(COLUMNS), keys=0)
    yield (
        f"read as {row['format']}: {row['file_vertices']:,} vertices, {row['file_edges']:,} edges, "
        f"{row['read_ms']:.0f} ms, {row['mb_per_s']:.0f} MB/s"
    )
    yield f"ids: {row['ids']}"
    if row["weights"] is not None:
        yield f"weights: {row['weights']}"
    yield from row["notes"]
    yield (
        f"condensed: {count(row['components'], 'component')}, "
        f"{row['duplicates']:,} duplicate edges, {row['loops']:,} edges inside components"
    )
    yield f"next: grailbench run --dataset {quoted(result.name)}"
