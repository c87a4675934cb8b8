"""A run's report as one HTML file: no network, no outside fonts or scripts, and nothing in its data can run.

Figures and tables are made here, on the server's side so to say: without JavaScript the page lacks only sorting,
toggles and other references in the heat map. Its content security policy allows the one script by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from grailbench import __version__
from grailbench.errors import InputError
from grailbench.graph.store import atomic_file
from grailbench.report import draw, figures, html_tables, stalls
from grailbench.report.document import FOLDER, Report
from grailbench.report.draw import style
from grailbench.report.figure import Figure
from grailbench.report.html_markup import Safe, download, safe, tag
from grailbench.report.papers import computation, peers, run_figures
from grailbench.report.papers.feeds import THESIS_GPU
from grailbench.report.places import WHY, place
from grailbench.report.published import COUNT_TABLES
from grailbench.report.render.csv import csv
from grailbench.runs import folder as results
from grailbench.runs import statistics
from grailbench.runs.cells import NOT_FROM_EDGES, detail
from grailbench.words import times

FILE = "report.html"
_PAGES = {
    "light": {
        "page": "#ffffff", "raised": "#f3f5f7", "ink": "#1a1f24", "soft": "#56606b",
        "line": "#dfe3e8", "edge": "#8a949f", "link": "#14599b", "good": "#17703f", "bad": "#b3261e",
        "faster": "31 111 180", "slower": "200 98 20",
    },
    "dark": {
        "page": "#14181d", "raised": "#1f252c", "ink": "#e8ecf0", "soft": "#a3adb8",
        "line": "#2e3640", "edge": "#6d7883", "link": "#7cbcf7", "good": "#6ccf97", "bad": "#ff8f85",
        "faster": "64 140 220", "slower": "205 110 40",
    },
}  # fmt: skip


def of_run(
    report: Report, folder: Path, file: str = "", reference: str | None = None, out: str | Path | None = None
) -> Path:
    """Write the page of the run in `folder`; `file` '' is `report.html` in `out`, by default the run's folder `report`.

    Raises InputError for a recorded run without `file` or `out`, else as `write`.
    """
    environment = results.read_environment(folder)
    where = place(folder, FOLDER, out)
    if not file and where is None:
        raise InputError(WHY, path=folder, remedy="name a folder with --out, or a file: --html=FILE.html")
    path = Path(file) if file else where / FILE
    return write(report, environment, path, reference, profile=stalls.of_run(folder))


def write(
    report: Report,
    environment: Mapping,
    path: Path,
    reference: str | None = None,
    phase: str = "query",
    profile: Path | None = None,
) -> Path:
    """Write the page to `path`, atomically. Raises InputError when the name does not end in .html (a run was meant),
    when it cannot be written, and for a reference that is none."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            "the name of an HTML file ends in .html", path=path, remedy="a run goes before: report RUN --html"
        )
    text = page(report, environment, reference, phase, profile)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None
    return path


def page(
    report: Report,
    environment: Mapping,
    reference: str | None = None,
    phase: str = "query",
    profile: Path | None = None,
) -> str:
    """The whole file as text. `profile`: a CSV of Nsight Compute. Raises InputError for one that cannot be read, and
    for a reference that `figures.choose_reference` refuses."""
    drawn = run_figures.of_report(report.cells, report.tables, reference, phase, profile)
    sections = [
        ("summary", "Summary", _summary(report, environment, drawn)),
        ("printed", "Printed against measured", _printed(report, drawn["printed"])),
        ("phases", "Where the time goes", _phases(drawn["phases"], drawn["phase-table"])),
        ("weights", "Weight of sub algorithms", _figure(drawn["weights"])),
        ("edges", "Time against edges", _figure(drawn["edges"])),
        ("speedup", "Speed-up", _speedup(drawn["speedup"], drawn["edges"])),
        ("claims", computation.TITLE, _claims(report, drawn)),
        ("peers", "Peers", _peers(report)),
        ("counters", "Counters", _counters(drawn["counters"])),
        ("graphs", "Graphs", _graphs(report)),
        ("cells", "All cells", _cells(report)),
        ("environment", "Environment", _environment(environment)),
    ]
    sections = [section for section in sections if section[2]]
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in sections]
    script = _script()
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#summary", class_="skip"),
        tag(
            "header",
            tag("div", tag("h1", report.title), tag("p", report.status_counts(), class_="lead")),
            tag("button", "Dark page", type="button", class_="theme"),
        ),
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", [tag("section", tag("h2", title), body, id=name) for name, title, body in sections]),
        tag("footer", f"grailbench {__version__}. Every figure and table has its data as a CSV link."),
        tag("script", Safe(script)),
    )
    return "<!DOCTYPE html>\n" + tag("html", _head(report.title, script), body, lang="en", class_="no-js") + "\n"


def _head(title: str, script: str) -> Safe:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · grailbench"),
        tag("style", Safe(_style())),
    )


def _style() -> str:
    css = files("grailbench.report").joinpath("templates", "report.css").read_text("utf-8")
    for name, series in (("light", style.LIGHT), ("dark", style.DARK)):
        colours = {**_PAGES[name], **{f"s{i}": colour for i, colour in enumerate(series)}}
        css = css.replace(f"@{name.upper()}@", " ".join(f"--{key}: {value};" for key, value in colours.items()))
    return css + draw.styles()


def _script() -> str:
    js = files("grailbench.report").joinpath("templates", "report.js").read_text("utf-8")
    js = js.replace("// @FIGURES@", draw.script())
    return js.replace("@DEEPEST@", f"{style.DEEPEST:g}").replace("@PENALTY@", f"{statistics.PENALTY:g}")


# ------------------------------------------------------------------ sections; '' where there is nothing to show


def _summary(report: Report, environment: Mapping, drawn: Mapping[str, Figure]) -> Safe:
    lines = [line for line in report.header if line != report.status_counts()]  # that stands under the title
    if any(cell.generated for cell in report.cells):
        lines.append("Graphs named -like are generated look-alikes; none of them stands in a published row.")
    earlier = environment.get("earlier") or []
    if earlier:
        lines.append(f"Rows were taken in {len(earlier) + 1} sittings that differ in machine or code; see Environment.")
    if report.left_out:
        lines.append(f"No graph of the run is in table {', '.join(report.left_out)}.")
    parts = [tag("ul", [tag("li", line) for line in lines], class_="summary")]
    troubled = figures.absent(drawn["edges"].frame, incomplete=True)
    if troubled:
        headers = [("Graph", False), ("Configuration", False), ("Status", False)]
        rows = [[html_tables.text(each.graph), _configs(each), _status(each)] for each in troubled]
        parts.append(html_tables.table("Cells without times, with fewer than planned, or sampled", headers, rows))
    return safe(parts)


def _configs(found: figures.Absent) -> html_tables.Value:
    if len(found.configs) == 1:
        return html_tables.text(found.configs[0])
    folded = tag("details", tag("summary", f"{len(found.configs)} configurations"), "; ".join(found.configs))
    return html_tables.Value(folded, str(len(found.configs)))


def _status(found: figures.Absent) -> html_tables.Value:
    return html_tables.status(found.status, found.reason)


def _figure(figure: Figure, *content: object) -> Safe:
    """A figure with its caption, what is special about it, what it cannot show, and its data. `content`: what there is
    in the place of its drawing."""
    if not figure.drawable and not content:
        return Safe("")
    shown = content or (None if figure.form.empty else Safe(draw.svg(figure)),)
    missing = tag("p", figure.missing, class_="note") if figure.missing else None
    link = tag("p", "Data: ", download(f"{figure.name}.csv", figure.csv), class_="data")
    caption = tag("figcaption", figure.caption, f" {figure.note}" if figure.note else "", class_="lead")
    return tag("figure", caption, shown, missing, link)


def _printed(report: Report, figure: Figure) -> Safe:
    shown = [table for table in report.every_table if table.name not in COUNT_TABLES]
    return safe([_figure(figure), *map(html_tables.published, shown)])


def _graphs(report: Report) -> Safe:
    return safe(html_tables.published(table) for table in report.tables if table.name in COUNT_TABLES)


def _phases(figure: Figure, table: Figure) -> Safe:
    if not figure.drawable:
        return Safe("")
    return safe([_figure(figure), tag("h3", table.title), _figure(table, html_tables.phase_table(table.frame))])


def _speedup(figure: Figure, medians: Figure) -> Safe:
    if figure.frame.speedup.notna().sum() == 0:
        return Safe("")
    remark = (
        "Means are geometric, over the graphs that a configuration ran on and the reference has a time on; a lost cell "
        f"counts as {times(1 / statistics.PENALTY)}, or as the configuration's worst where that is worse. Means "
        "over other graphs than those of another column are not to be compared with it."
    )
    if medians.frame.config.str.startswith(THESIS_GPU).any():
        whole = (
            "ready is the way from edges" if "ready" in set(medians.frame.phase) else f"from edges: {NOT_FROM_EDGES}"
        )
        remark += f" Phase label on a GPU is of a graph that is there already; {whole}."
    return _figure(figure, html_tables.heat_map(medians.frame, figure.frame), tag("p", remark, class_="note"))


def _claims(report: Report, drawn: Mapping[str, Figure]) -> Safe:
    """The claims, and the paper's figures."""
    if not report.claims:
        return Safe("")
    claims = computation.claims_table(report.claims)
    rows = [[html_tables.text(cell) for cell in line] for line in claims.lines]
    return safe(
        [
            html_tables.table(computation.TITLE, [(header, False) for header in claims.headers], rows),
            tag("ul", [tag("li", note) for note in claims.notes], class_="notes"),
            tag("p", "Data: ", download("claims.csv", csv([claims])), class_="data"),
            [(tag("h3", figure.title), _figure(figure)) for name, figure in drawn.items() if name.startswith("comput")],
        ]
    )


def _peers(report: Report) -> Safe:
    parts = [html_tables.peers(comparison) for comparison in report.peers]
    if parts:
        parts.append(tag("p", peers.NOTE, class_="note"))
        parts.append(tag("p", "Data: ", download("peers.csv", csv(map(peers.table, report.peers))), class_="data"))
    parts += [tag("p", line, class_="note") for line in report.unpaired]
    return safe(parts)


def _counters(figure: Figure) -> Safe:
    frame = figure.frame
    if frame.empty:
        return tag("p", "The run has none: its implementations did not count their work.", class_="note")
    drawing = None if figure.form.empty else Safe(draw.svg(figure))
    return _figure(figure, drawing, html_tables.counter_table(frame))


def _cells(report: Report) -> Safe:
    frame = detail(figures.ordered(report.cells))
    return tag(
        "details",
        tag("summary", f"{len(frame)} lines: every cell and phase with its statistics"),
        html_tables.cell_table(frame),
        html_tables.linked("cells", frame),
        open=len(frame) <= html_tables.TALL,
    )


def _environment(environment: Mapping) -> Safe:
    earlier = environment.get("earlier") or []
    parts = [_facts({key: value for key, value in environment.items() if key != "earlier"})]
    for sitting in earlier:
        parts += [tag("h3", f"An earlier sitting, {sitting.get('at', 'at an unknown time')}"), _facts(sitting)]
    return safe(parts)


def _facts(record: Mapping) -> Safe:
    """What is known, a line a fact; what is empty is left out."""
    names = {"dirty": "uncommitted changes", "at": "began at"}
    pairs = [(names.get(key, key.removesuffix("_bytes").replace("_", " ")), _fact(key, record[key])) for key in record]
    return tag("dl", [(tag("dt", name), tag("dd", value)) for name, value in pairs if value])


def _fact(key: str, value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_fact(name, item)}" for name, item in value.items() if item is not None)
    if isinstance(value, list):
        return (" " if key == "command" else ", ").join(_fact("", item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if value is None:
        return ""
    return f"{value / 2**30:.1f} GiB" if key.endswith("_bytes") else str(value)
