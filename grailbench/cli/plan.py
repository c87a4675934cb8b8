"""The command `grailbench plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grailbench.cli import options
from grailbench.cli.printing import show, table
from grailbench.problems.contract import USUAL
from grailbench.report.table import Table
from grailbench.util.words import count

if TYPE_CHECKING:
    from grailbench.harness.plan import Cell, Plan


@click.command
@options.matrix
@options.timing
@options.as_json
def plan(as_json, **flags):
    """Print the matrix that `grailbench run` with the same flags would execute, and run nothing.

    \b
    Examples:
      grailbench plan --config quickstart
      grailbench plan --dataset kegg --impl sequential --impl parallel --dim 2 --dim 5
    """
    from grailbench.harness.prepare import missing, plan_of

    found, _ = plan_of(flags)
    show(as_json, (cell.record() for cell in found.cells), [plan_table(found, missing(found))])


def plan_table(plan: Plan, missing: list[str]) -> Table:
    """The cells of a plan as a table, with notes such as which graphs must be fetched."""
    from grailbench.harness import axes
    from grailbench.util.cores import usable_cores

    cores = usable_cores()
    columns, late = ([axis for axis in axes.shown() if axis.late is late] for late in (False, True))

    def notes(cell: Cell) -> str:
        fetch = f"to fetch, else {cell.dataset}-like" if cell.fallback else "to fetch"
        found = {
            cell.problem: cell.problem != USUAL,
            fetch: cell.dataset in missing,
            "from edges too": cell.from_edges,
            "single pairs too": cell.single,
            "energy too": cell.energy,
            f"at most {cell.time_limit or 0:g} s": cell.time_limit,
            f"at most {cell.memory_limit or 0:g} GiB": cell.memory_limit,
            "a process of its own": cell.process == "own",
            f"{count(cores, 'core')} here": (cell.threads or 0) > cores,
        }
        values = {axis: getattr(cell, axis.name) for axis in late}
        found |= {axis.words(value): True for axis, value in values.items() if value not in axis.unsaid}
        return ", ".join(note for note, holds in found.items() if holds)

    heads = {
        "dataset": "dataset", "impl": "impl", **{axis.header: axis.name for axis in columns},
        "queries": lambda cell: cell.queries.name, "trials": "trials", "warm-up": "warmup", "notes": notes,
    }  # fmt: skip
    cells = [cell for graph in plan.by_dataset().values() for cell in graph]
    title = f"{plan.name}: {count(len(plan.cells), 'cell')} on {count(len(plan.by_dataset()), 'graph')}"
    numbers = ["trials", "warm-up", *(axis.header for axis in columns if axis.number)]
    return table(title, heads, cells, numbers, keys=3 + len(columns))
