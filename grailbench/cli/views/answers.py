"""The answers of `grailbench run --answers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grailbench.cli.views.output import output
from grailbench.errors import InputError
from grailbench.harness.plan import Plan
from grailbench.problems.contract import Workload, problem
from grailbench.util.words import listing


class Answers:
    """The file of `run --answers`: the answers of the first cell of a run that is verified as right.

    Raises InputError for a plan whose cells have other answers than one another, or none that can be written as lines,
    and for a file that `--queries` would read as a table.
    """

    def __init__(self, path: str, plan: Plan):
        self.path, self.written = path, False
        if path.removesuffix(".gz").lower().endswith(".csv"):
            raise InputError("answers are lines `u v 0|1`, no table", path=path, remedy="a name without .csv")
        for solved in {cell.problem for cell in plan.cells}:
            if not problem(solved).written:
                raise InputError(f"--answers: those of problem {solved} are no lines", remedy="leave it out")
        for what, found in (
            ("graph", dict.fromkeys(cell.dataset for cell in plan.cells)),
            ("query set", dict.fromkeys(cell.queries.name for cell in plan.cells)),
        ):
            if len(found) > 1:
                raise InputError(f"--answers is for one {what}; this run has {listing(found)}", remedy="a run for each")

    def __call__(self, workload: Workload, answers: Any) -> None:
        """Writes the answers."""
        with output(self.path) as stream:
            workload.write_answers(stream, answers)
        self.written = True

    def check(self, say: Callable[[str], object]) -> None:
        """Says where the answers are. Raises InputError if there are none: no cell made a pass that is right."""
        if not self.written:
            raise InputError(
                "--answers: no answers were written, as no cell was verified in this call that answers each question",
                remedy="a run that has all its trials asks nothing again: leave out --resume, or add --trials",
            )
        if self.path != "-":
            say(f"answers: {self.path}")
