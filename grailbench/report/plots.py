"""A run's figures, by name and as files: SVG and PNG, each with its data as CSV."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grailbench.errors import InputError, NothingMeasured
from grailbench.report import document, draw, stalls, strips, tradeoffs
from grailbench.report.captions import CAPTIONS
from grailbench.report.document import Report
from grailbench.report.figure import Figure
from grailbench.report.papers import run_figures
from grailbench.report.places import WHY, place, save
from grailbench.report.problems import shown

FOLDER = "figures"


def write(
    run: str | None,
    names: Iterable[str] = (),
    out: str | Path | None = None,
    form: str = "both",
    reference: str | None = None,
    phase: str = "query",
    profile: str | Path | None = None,
    machine: str | None = None,
) -> list[Path]:
    """Draw figures of a run (None: the latest) into a folder, each file atomically; returns the paths.

    names    which of `captions.CAPTIONS`, all by default; further pages of a long figure are NAME-2 and so on
    out      the folder, by default `figures` in the run's folder
    profile  the CSV of Nsight Compute for figure 8, by default `ncu.csv` in the run's folder
    machine  of a run on unlike workers, that whose measurements are drawn

    Raises InputError for an unknown name or reference and for a recorded run without `out`, NothingMeasured if the run
    has no sound time or a figure of `names` has no data.
    """
    report, names = document.of_run(run, machine=machine), list(names)
    document.check_measured(report)
    found = report.run
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
    return [save(where / file, data) for figure in shown for file, data in draw.files(figure, source, form)]


def of_report(
    report: Report, reference: str | None = None, phase: str = "query", profile: Path | None = None
) -> dict[str, Figure]:
    """Every figure of every problem of a report's run, by name; a figure without data has an empty form.

    `reference`, `phase` and `profile` apply to reachability. Raises the errors of `run_figures.of_report`.
    """
    found: dict[str, Figure] = {}
    if report.cells:
        found |= run_figures.of_report(report.cells, report.tables, reference, phase, profile)
    for figures in dict.fromkeys(shown(name).figures for name in report.run.problems):
        found |= figures(report.run.cells) if figures else {}
    of_all = [*tradeoffs.of_run(report.run), *strips.figures(report.run.cells)]
    found |= {figure.name: figure for figure in of_all}
    return {name: found[name] for name in CAPTIONS if name in found}
