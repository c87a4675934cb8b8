"""Runs of problems other than reachability: which modules have their tables.

A suite is a module, for one problem or several, with `PROBLEM` and `table` of the cells of a run. Their figures are
those of `report.plots`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from grailbench import words
from grailbench.errors import NothingMeasured
from grailbench.report.places import place
from grailbench.report.render.csv import csv
from grailbench.report.render.json import json
from grailbench.report.render.markdown import markdown
from grailbench.report.render.terminal import terminal
from grailbench.runs.cells import Run, load

#: problem to the module of its tables
SUITES = {
    "closure": "grailbench.report.papers.closures",
    **dict.fromkeys(("bfs", "sssp", "apsp"), "grailbench.report.papers.traversals"),
}
FOLDER = "report"


@dataclass(frozen=True)
class Suite:
    """A run that has cells of problems with suites, and none of reachability."""

    run: Run
    problems: tuple[str, ...]

    @property
    def title(self) -> str:
        return self.run.title

    @property
    def folder(self) -> Path:
        return self.run.folder

    @property
    def machine(self) -> str:
        return words.machine(self.run.environment)

    @property
    def header(self) -> list[str]:
        """The lines below the title: the machine, and what disturbed it."""
        from grailbench.report import document

        return [self.machine, *document.disturbed(self.run.environment)]

    def check_measured(self) -> None:
        """Raise NothingMeasured when no cell has a sound time."""
        if not any(cell.sound for cell in self.run.cells):
            raise NothingMeasured(f"{self.title}: no cell was measured")

    def write(self, form: str = "both", out: str | Path | None = None) -> list[Path]:
        """`report.md` ('markdown') and `PROBLEM.csv` with a line a cell and phase ('csv'), or both, in `out`, by
        default the run's folder `report`; returns the paths: none of a recorded run without `out`."""
        from grailbench.graph.store import atomic_file

        folder = place(self.folder, FOLDER, out)
        if folder is None:
            return []
        modules, files = _modules(self.problems), {}
        if form in ("csv", "both"):
            for module in modules:
                files[f"{module.PROBLEM}.csv"] = csv([module.table(self.run.cells)])
        if form in ("markdown", "both"):
            parts = [markdown(module.table(self.run.cells)) for module in modules]
            files["report.md"] = "\n".join([f"# {self.title}\n", *(f"- {line}\n" for line in self.header), *parts])
        for name, text in files.items():
            with atomic_file(folder / name) as file:
                file.write(text.encode())
        return [folder / name for name in files]

    def show(self, as_json: bool) -> Iterator:
        """Lines of JSON, or lines and tables for the screen."""
        for module in _modules(self.problems):
            if as_json:
                yield from json(module.table(self.run.cells))
            else:
                yield from (self.title, *self.header, "")
                yield from terminal(module.table(self.run.cells))


def of_run(run: str | None) -> Suite | None:
    """The suite that a run is (a folder or a name; None: the latest), or None when it has cells of reachability, or of
    problems without a suite. Raises InputError when there is no such run."""
    return make(load(run))


def make(run: Run) -> Suite | None:
    """As `of_run`, of a run that was read."""
    known = tuple(name for name in run.problems if name in SUITES)
    return None if not known or "reachability" in run.problems else Suite(run, known)


def _modules(problems: Iterable[str]) -> list:
    """The suites of some problems, each once."""
    return [import_module(name) for name in dict.fromkeys(SUITES[problem] for problem in problems)]
