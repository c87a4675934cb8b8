"""A table as a section of a Markdown page."""

from __future__ import annotations

from tabulate import tabulate

from grailbench.report.table import Table


def markdown(table: Table, level: int = 2) -> str:
    """Heading of this level, table and notes."""
    return f"{'#' * level} {table.title}\n\n{content(table)}"


def content(table: Table) -> str:
    """The table and its notes, without a heading."""
    body = tabulate(
        [[cell.replace("|", "\\|") for cell in line] for line in table.lines],
        headers=table.headers,
        tablefmt="github",
        disable_numparse=True,
        colalign=["right" if header in table.right else "left" for header in table.headers],
    )
    foot = "".join(f"- {note}\n" for note in table.notes)
    return f"{body}\n" + (f"\n{foot}" if foot else "")


def compact(table: Table) -> str:
    """As `content`, without padding, so that a changed number changes only one line of a page."""
    rule = ["---:" if header in table.right else "---" for header in table.headers]
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (table.headers, rule, *table.lines)]
    body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return body + "".join(["\n"] * bool(table.notes) + [f"- {note}\n" for note in table.notes])
