"""`grailbench plan`: the exact cells that `run` would execute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grailbench.cli import options
from grailbench.cli.printing import show
from grailbench.problems.contract import USUAL
from grailbench.util.screen import Grid
from grailbench.util.words import count

if TYPE_CHECKING:
    from grailbench.harness.plan import Plan


@click.command("plan")
@options.matrix
@options.timing
@options.as_json
def command(as_json, **flags):
    """Print the matrix that `grailbench run` with the same flags would execute, and run nothing.

    \b
    Examples:
      grailbench plan --config quickstart
      grailbench plan --dataset kegg --impl sequential --impl parallel --dim 2 --dim 5
    """
    from grailbench.harness.prepare import missing, plan_of

    plan, _ = plan_of(options.fields(flags))
    show(as_json, (cell.record() for cell in plan.cells), [plan_table(plan, missing(plan))])


def plan_table(plan: Plan, missing: list[str]) -> Grid:
    """The cells of a plan as a table, with notes such as which graphs must be fetched."""
    from grailbench.harness import axes
    from grailbench.harness.environment import usable_cores

    absent, cores = set(missing), usable_cores()
    title = f"{plan.name}: {count(len(plan.cells), 'cell')} on {count(len(plan.by_dataset()), 'graph')}"
    columns, late = ([axis for axis in axes.shown() if axis.late is late] for late in (False, True))
    heads = ["dataset", "impl", *(axis.header for axis in columns), "queries", "trials", "warm-up", "notes"]
    lines = []
    for cell in (cell for graph in plan.by_dataset().values() for cell in graph):
        notes = []
        if cell.dataset in absent:
            notes.append(f"to fetch, else {cell.dataset}-like" if cell.fallback else "to fetch")
        notes += ["from edges too"] if cell.from_edges else []
        notes += ["energy too"] if cell.energy else []
        notes += [f"at most {cell.time_limit:g} s"] if cell.time_limit else []
        notes += [f"at most {cell.memory_limit:g} GiB"] if cell.memory_limit else []
        notes += ["a process of its own"] if cell.process == "own" else []
        notes += [f"{count(cores, 'core')} here"] if (cell.threads or 0) > cores else []
        notes += [axis.words(value) for axis in late if (value := getattr(cell, axis.name)) not in axis.unsaid]
        notes = [cell.problem, *notes] if cell.problem != USUAL else notes
        values = (cell.dataset, cell.impl, *(getattr(cell, axis.name) for axis in columns))
        counts = (cell.queries.name, cell.trials, cell.warmup, ", ".join(notes))
        lines.append([_text(value) for value in (*values, *counts)])
    numbers = {"trials", "warm-up", *(axis.header for axis in columns if axis.number)}
    return Grid(title, heads, lines, frozenset(numbers), keys=3 + len(columns))


def _text(value) -> str:
    return "" if value is None else str(value)
