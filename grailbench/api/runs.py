"""Runs in a program: what was measured as data frames and figures, and what changed between two runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grailbench.api import notebook
from grailbench.errors import CheckFailed, InputError
from grailbench.graph.arguments import check_path, flag, shown
from grailbench.harness import cells as measured

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

    from grailbench.report.document import Report
    from grailbench.report.figure import Figure

LATEST = "latest"


class Run:
    """A run that is stored: every cell that was measured, its trials, and the machine. `read_run` opens one, `run`
    measures one. It is not changed, and has been read whole.
    """

    def __init__(self, run: measured.Run):
        self._run = run

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self._run.name

    @property
    def folder(self) -> Path:
        """Its folder, or the file of its pack."""
        return self._run.folder

    @cached_property
    def cells(self) -> pandas.DataFrame:
        """A row a cell and phase: the columns `problem`, `dataset`, `impl`, the configuration, `phase`, `trials`,
        `median` with the bounds of its 95 % interval `median_low` and `median_high` (ms), `stability`, `status`, and so
        on, as in the page of columns of CSV files. A cell without times has one row with an empty phase and a `reason`.
        """
        from grailbench.report.measured import detail

        found = detail(self._run.cells, self._report.verdicts)
        found.insert(0, "problem", [cell.problem for cell in self._run.cells for _ in cell.phases or [None]])
        return found

    @cached_property
    def trials(self) -> pandas.DataFrame:
        """A row a trial and phase: the columns `problem`, `dataset`, `impl`, the configuration, `query_set`, `under`
        ('' or the phase that this one is a part of), `phase`, `trial` and `ms`."""
        import pandas

        rows = [{"problem": cell.problem, "dataset": cell.dataset, "impl": cell.impl, **cell.axes, "seed": cell.seed,
                 "query_set": cell.query_set, "under": under, "phase": phase, "trial": trial, "ms": ms}
                for cell in self._run.cells for (under, phase), times in cell.times.items()
                for trial, ms in times.items()]  # fmt: skip
        return pandas.DataFrame(rows)

    @cached_property
    def environment(self) -> pandas.DataFrame:
        """A row a session of the run, with its processor, cores, GPUs, memory, software, commit and load."""
        import pandas

        from grailbench.harness.machines import sessions

        return pandas.json_normalize([{k: v for k, v in each.items() if k not in ("earlier", "workers")}
                                      for each in sessions(self._run.environment)])  # fmt: skip

    @property
    def figures(self) -> list[str]:
        """The names of the figures that `figure` draws."""
        return [name for name, found in self._figures.items() if found.drawable]

    def figure(self, name: str, page: int = 1) -> Picture:
        """A figure of matplotlib, which a notebook shows and `savefig` writes; long ones have several pages.

        Raises InputError for a name that is not among `figures`, and for a page that the figure has not.
        """
        from grailbench.graph.arguments import whole_number
        from grailbench.report import draw

        if not isinstance(name, str) or name not in self.figures:
            raise InputError(f"no figure {shown(name)} of this run", remedy=f"choose among {', '.join(self.figures)}")
        pages = draw.pictures(self._figures[name], f"{self._report.title}. {self._report.machine}")
        return pages[whole_number(page, "page", 1, len(pages)) - 1]

    def compare(self, other: Run | str | os.PathLike[str]) -> pandas.DataFrame:
        """What changed since another run, the base: a row a time, counter and lost cell that both have.

        Its columns are `kind` ('time', 'counter', 'cell'), `dataset`, `configuration`, `what` (the phase or counter),
        `base` and `new` (ms, counts or statuses), `ratio` (new / base), its 95 % interval `low` and `high`, and
        `verdict` by the default gate of `grailbench compare`: 'regression', 'improvement', 'same', 'unclear', ...
        """
        import pandas

        from grailbench.compare.runs import Gate, compare

        base = other if isinstance(other, Run) else read_run(other)
        found = compare(base._run, self._run, Gate())
        rows: list[tuple[Any, ...]] = []
        for cell in found.cells:
            rows.append(("cell", cell.dataset, cell.label, cell.reason, cell.base, cell.new, cell.verdict))
        for each in found.counters:
            rows.append(("counter", each.dataset, each.label, each.counter, each.base, each.new, each.verdict))
        for time in found.times:
            rows.append(("time", time.dataset, time.label, time.phase, time.base.ms, time.new.ms, time.verdict,
                         time.ratio, *time.bounds))  # fmt: skip
        columns = ["kind", "dataset", "configuration", "what", "base", "new", "verdict", "ratio", "low", "high"]
        return pandas.DataFrame([[*row, *[None] * (len(columns) - len(row))] for row in rows], columns=columns)

    @cached_property
    def _report(self) -> Report:
        from grailbench.report import document

        return document.make(self._run)

    @cached_property
    def _figures(self) -> dict[str, Figure]:
        from grailbench.report import figures

        return figures.of_report(self._report)

    def __repr__(self) -> str:
        return f"<grailbench.Run: {self.name}, {self._report.status_counts()}>"

    def _repr_html_(self) -> str:
        report = self._report
        facts = [("machine", report.machine), ("cells", report.status_counts()), ("figures", ", ".join(self.figures))]
        return notebook.card(report.title, facts, [*report.unstable, *report.answer])


def read_run(path: str | os.PathLike[str] = LATEST, machine: str | None = None) -> Run:
    """Opens a run that is stored: its folder, its name (`grailbench list runs`), its pack, or 'latest'.

    machine  of a run on unlike machines, the one whose measurements are meant

    Raises InputError if there is no such run, if a row is damaged, if no machine is named so, or if one must be named.
    """
    from grailbench.report import document

    check_path(path)
    if machine is not None and (not isinstance(machine, str) or not machine):
        raise InputError(f"machine {shown(machine)}: the name of one is expected")
    return Run(document.of_run(None if path == LATEST else os.fspath(path), machine=machine).run)


def run(
    graphs: str | Iterable[str] = (),
    implementations: str | Iterable[str] = (),
    *,
    config: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Measures graphs x implementations x parameters, as `grailbench run` does: every cell is verified, then timed.

    graphs           names of graphs (`grailbench list datasets`), or of one
    implementations  their names, or one; by default those that are usual for the problem
    config           an experiment that is shipped, or its TOML file, whose keys the other arguments replace
    out              the folder of the run, new or empty; by default one in results/runs
    progress         whether a notebook shows a bar
    options          keys of an experiment, each a value or a list: `dim`, `threads`, `trials`, `queries`, `count`,
                     `seed`, `sets`, `problem`, `from_edges`, ...

    A cell that is wrong or failed has no times; `run.cells` has its status and reason. Raises InputError for what is
    unknown or where nothing is named, MachineLacks and NothingMeasured if no cell could be measured.
    """
    from grailbench.harness import runner
    from grailbench.harness.plan import Experiment, config_from_flags, make_plan

    if unknown := [name for name in options if name not in Experiment.model_fields]:
        known = ", ".join(Experiment.model_fields)
        raise InputError(f"run() has no option {shown(unknown[0])}", remedy=f"it has {known}")
    for path, what in ((config, "config"), (out, "out")):
        if path is not None:
            check_path(path, what)
    named = {"datasets": _names(graphs, "graphs"), "implementations": _names(implementations, "implementations")}
    given: dict[str, Any] = {**options, **named}
    view = notebook.Progress(flag(progress, "progress"))
    if not named["datasets"] and not options.get("sets") and config is None:
        raise InputError("no graph is named", remedy="run(['kegg'], ['dfs', 'sequential']), or config='quickstart'")
    plan = make_plan(config_from_flags(None if config is None else os.fspath(config), **given))
    done = runner.run(plan, view, out=None if out is None else os.fspath(out))
    with suppress(CheckFailed):  # the statuses of its cells say so
        done.check()
    return read_run(str(done.folder))


def _names(given: Any, what: str) -> tuple[str, ...]:
    """Some names, or one. Raises InputError for anything else."""
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple | set) else None
    if found is None or not all(isinstance(name, str) and name and "\0" not in name for name in found):
        raise InputError(f"{what} {shown(given)}: names are expected")
    return found
