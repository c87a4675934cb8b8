"""A run's report as one HTML file. It needs no network, no outside fonts or scripts, and its data cannot run as code.

The answer comes first, then tables and figures. Without JavaScript the page lacks only sorting, hints on touch, legends
that hide their series, and other references in the heat map. Its content security policy allows only its own style
sheet and script, by their hashes. The same run always gives the same file.
"""

from __future__ import annotations

from pathlib import Path

from grailbench.errors import InputError
from grailbench.report import stalls
from grailbench.report.document import FOLDER, Report
from grailbench.report.page import sections
from grailbench.report.page.shell import rendered
from grailbench.report.places import WHY, place, save

FILE = "report.html"


def of_run(report: Report, file: str = "", reference: str | None = None, out: str | Path | None = None) -> Path:
    """Write the page of a run to `file`, by default to `report.html` in `out`, by default the run's `report` folder.

    Raises InputError for a recorded run without `file` or `out`, and the errors of `write`.
    """
    folder = report.run.folder
    where = place(folder, FOLDER, out)
    if not file and where is None:
        raise InputError(WHY, path=folder, remedy="name a folder with --out, or a file: --html=FILE.html")
    path = Path(file) if file else where / FILE
    return write(report, path, reference, profile=stalls.of_run(folder))


def write(
    report: Report, path: Path, reference: str | None = None, phase: str = "query", profile: Path | None = None
) -> Path:
    """Write the page to `path`, atomically. Returns the path.

    Raises InputError if the name does not end in .html (it may be the name of a run), if the file cannot be written,
    and for an unknown reference.
    """
    return save(checked(path), page(report, reference, phase, profile).encode())


def checked(path: Path) -> Path:
    """The path of a page. Raises InputError if its name does not end in .html: it may be the name of a run."""
    if path.suffix.lower() not in (".html", ".htm"):
        remedy = "runs go before: report RUN --html"
        raise InputError("the name of an HTML file ends in .html", path=path, remedy=remedy)
    return path


def page(report: Report, reference: str | None = None, phase: str = "query", profile: Path | None = None) -> str:
    """The whole page as text. `profile` is a CSV of Nsight Compute.

    Raises InputError if the profile cannot be read, and for a reference that `figures.choose_reference` refuses.
    """
    return whole(report.title, report.status_counts(), sections.of_report(report, reference, phase, profile))


def whole(title: str, lead: str, parts: list[sections.Section]) -> str:
    """A page of these sections as text; the first is named 'summary', to which the page's first link leads."""
    return rendered(
        "page.html", title=title, lead=lead, sections=parts,
    )  # fmt: skip
