"""What `grailbench generate` shows."""

from __future__ import annotations

from grailbench.data import generating
from grailbench.util.screen import Grid
from grailbench.util.words import BLANK, grouped

LISTED = "Look-alikes, counted as in print: those of the thesis with the super-root"


def account(record: dict) -> list[Grid | str]:
    """A generated graph, and a table of its differences from the wanted numbers if there are any."""
    counts, seconds = f"{record['name']}: {record['vertices']:,} vertices, {record['edges']:,} edges", record["seconds"]
    if not record["differences"]:
        return [f"{counts}, {seconds:.2f} s", record["path"]]
    title = f"{counts} in its file, {seconds:.2f} s"
    heads, lines = ["quantity", record["basis"] or "wanted", "generated", "difference"], []
    for row in record["differences"]:
        relative = BLANK if row["relative"] is None else f"{row['relative']:+.2%}" if row["relative"] else "0"
        lines.append([row["quantity"], grouped(row["wanted"], BLANK), grouped(row["generated"], BLANK), relative])
    return [Grid(title, heads, lines, frozenset(heads[1:])), *_super_root(record), record["path"]]


def _super_root(record: dict) -> list[str]:
    """A line which says that the table counts the super-root and its edges, if it does."""
    counted = {row["quantity"]: row["generated"] for row in record["differences"]}
    vertices, edges = counted["vertices"] - record["vertices"], counted["edges"] - record["edges"]
    if not vertices:
        return []
    return [f"Vertices and edges of this table: with the super-root and its {edges:,} edges, as print counts them."]


def listing_table() -> Grid:
    """The look-alikes as a table."""
    heads, lines = ["name", "vertices", "edges", "positive pairs", "counts are"], []
    for row in generating.listing():
        rate = BLANK if row["positive_rate"] is None else f"{row['positive_rate']:.4%}"
        lines.append([row["name"], grouped(row["vertices"], BLANK), grouped(row["edges"], BLANK), rate, row["basis"]])
    return Grid(LISTED, heads, lines, frozenset(heads[1:4]))
