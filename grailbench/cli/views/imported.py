"""What `grailbench import` shows."""

from __future__ import annotations

from collections.abc import Iterator

from grailbench.datasets.imported import ImportResult
from grailbench.screen import Grid
from grailbench.words import count, grouped


def show(result: ImportResult) -> Iterator[Grid | str]:
    """What was read and what it became, for the screen."""
    row = result.record()
    line = [grouped(row[key]) for key in _COLUMNS.values()]
    yield Grid(f"{result.name}, with the super-root", list(_COLUMNS), [line], frozenset(_COLUMNS), keys=0)
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
    yield f"next: grailbench run --dataset {result.name}"


_COLUMNS = {
    "Vertices": "vertices",
    "Edges": "edges",
    "Degree": "degree",
    "Levels": "levels",
    "Roots": "roots",
    "Sinks": "sinks",
    "Max in": "max_in_degree",
    "Max out": "max_out_degree",
}
