"""A run's figures: all of them by name, and as files, SVG and PNG, each with its data as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grailbench.errors import InputError, NothingMeasured
from grailbench.graph.store import atomic_file
from grailbench.report import document, draw, stalls
from grailbench.report.document import Report
from grailbench.report.figure import Figure
from grailbench.report.papers import run_figures
from grailbench.report.places import WHY, place
from grailbench.report.problems import shown
from grailbench.runs.cells import Run

FOLDER = "figures"


def write(
    run: str | None,
    names: Iterable[str] = (),
    out: str | Path | None = None,
    form: str = "both",
    reference: str | None = None,
    phase: str = "query",
    profile: str | Path | None = None,
) -> list[Path]:
    """Draw the figures of a run (None: the latest) into `out`, by default its folder `figures`; returns the paths.

    `names`: which of `captions.CAPTIONS`, all by default; a long figure has several pages, NAME-2 and so on. Files are
    written atomically. `profile`: the CSV of Nsight Compute for figure 8, by default `ncu.csv` in the run's folder.
    Raises InputError for a name or reference that is none and for a recorded run without `out`, NothingMeasured when
    the run has no sound time, or a figure that was asked for has no data.
    """
    report, names = document.of_run(run), list(names)
    found = report.run
    _check_measured(found)
    drawn = of_report(report, reference, phase, stalls.of_run(found.folder, profile))
    for name in names:
        if name not in drawn:
            raise InputError(f"no figure {name!r} of this run", remedy=f"choose among {', '.join(drawn)}")
        if not drawn[name].drawable:
            raise NothingMeasured(f"{found.title}: it has nothing to show in figure {name!r}")
    where = place(found.folder, FOLDER, out)
    if where is None:
        raise InputError(WHY, path=found.folder, remedy="name a folder: --out DIR")
    source = f"{report.title}. {report.machine}"
    shown = [drawn[name] for name in names or drawn if drawn[name].drawable]
    return [_save(where / file, data) for figure in shown for file, data in draw.files(figure, source, form)]


def of_report(
    report: Report, reference: str | None = None, phase: str = "query", profile: Path | None = None
) -> dict[str, Figure]:
    """Every figure of every problem of a report's run, by name; one without data has an empty form.

    `reference`, `phase` and `profile` are those of reachability. Raises InputError as `run_figures.of_report`.
    """
    found: dict[str, Figure] = {}
    if report.cells:
        found |= run_figures.of_report(report.cells, report.tables, reference, phase, profile)
    for figures in dict.fromkeys(shown(name).figures for name in report.run.problems):
        found |= figures(report.run.cells) if figures else {}
    return found


def _check_measured(run: Run) -> None:
    """Raise NothingMeasured when no cell has a sound time."""
    if not any(cell.sound for cell in run.cells):
        found = [cell.status for cell in run.cells]
        counts = ", ".join(f"{found.count(status)} {status}" for status in dict.fromkeys(found))
        raise NothingMeasured(f"{run.title}: no cell was measured ({counts or 'no rows'})")


def _save(path: Path, data: bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(data)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None
    return path
