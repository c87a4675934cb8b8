"""Runs of problems other than reachability: which modules have their figures and tables.

A suite is two modules, for one problem or several. One has `PROBLEM`, `FIGURES`, `cells(rows)`, `figures(rows)`,
`grid(rows)` and `records(rows)` (see `report.closure`), the other `PAGES` for matplotlib; a figure is drawn when its
frame has a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench.errors import NothingMeasured
from grailbench.report.figures import Figure
from grailbench.report.places import place
from grailbench.report.render.csv import csv
from grailbench.report.render.json import json
from grailbench.report.render.markdown import markdown
from grailbench.report.render.terminal import terminal
from grailbench.runs import folder as results
from grailbench.runs.cells import plain
from grailbench.runs.rows import SOUND, STANDS_ON
from grailbench.words import machine

if TYPE_CHECKING:
    import pandas

#: problem -> modules of its tables and figures, and of its drawings
SUITES = {
    "closure": ("grailbench.report.papers.closures", "grailbench.report.plots_closure"),
    **dict.fromkeys(
        ("bfs", "sssp", "apsp"), ("grailbench.report.papers.traversals", "grailbench.report.plots_traversal")
    ),
}
FOLDER = "report"


@dataclass(frozen=True)
class Suite:
    """A run that holds rows of problems with suites, and no row of reachability."""

    title: str
    machine: str
    folder: Path
    rows: pandas.DataFrame
    problems: tuple[str, ...]
    disturbed: list[str] = field(default_factory=list)

    @property
    def header(self) -> list[str]:
        """The lines below the title: the machine, and what disturbed it."""
        return [self.machine, *self.disturbed]

    def check_measured(self) -> None:
        """Raise NothingMeasured when no cell has a sound time."""
        found = results.statuses(list(plain(self.rows[["key", *STANDS_ON]])))
        if not any(status in SOUND for status in found.values()):
            raise NothingMeasured(f"{self.title}: no cell was measured")

    def figures(self) -> dict[str, Figure]:
        """Every figure of every problem of the run, by name."""
        found: dict[str, Figure] = {}
        for module in _modules(self.problems):
            found |= module.figures(self.rows)
        return found

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
                files[f"{module.PROBLEM}.csv"] = csv([module.table(self.rows)])
        if form in ("markdown", "both"):
            parts = [markdown(module.table(self.rows)) for module in modules]
            files["report.md"] = "\n".join([f"# {self.title}\n", *(f"- {line}\n" for line in self.header), *parts])
        for name, text in files.items():
            with atomic_file(folder / name) as file:
                file.write(text.encode())
        return [folder / name for name in files]

    def show(self, as_json: bool) -> Iterator:
        """Lines of JSON, or lines and tables for the screen."""
        for module in _modules(self.problems):
            if as_json:
                yield from json(module.table(self.rows))
            else:
                yield from (self.title, *self.header, "")
                yield from terminal(module.table(self.rows))


def of_run(run: str | None) -> Suite | None:
    """The suite that a run is (a folder or a name; None: the latest), or None when it has rows of reachability, or of
    problems without a suite. Raises InputError when there is no such run."""
    folder = results.latest_results() if run is None else results.find_run(run)
    rows, environment = results.load_run(folder)
    return make(rows, environment, folder)


def make(rows: pandas.DataFrame, environment: Mapping, folder: Path) -> Suite | None:
    """As `of_run`, from a run's rows and environment."""
    from grailbench.report import document

    named = dict.fromkeys(rows["problem"].dropna()) if "problem" in rows else {}
    known = tuple(name for name in named if name in SUITES)
    if not known or rows["problem"].isna().any() or "reachability" in named:
        return None
    named_machine, disturbed = machine(environment), document.disturbed(environment)
    return Suite(f"Run {folder.name}", named_machine, folder, rows, known, disturbed)


def pages() -> dict:
    """What draws the figures of all suites, by name."""
    found = {}
    for _, drawings in SUITES.values():
        found |= import_module(drawings).PAGES
    return found


def _modules(problems: Iterable[str]) -> list:
    """The suites of some problems, each once."""
    return [import_module(name) for name in dict.fromkeys(SUITES[problem][0] for problem in problems)]
