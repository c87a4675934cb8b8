"""The report's tables as HTML: sortable, each in a box of its own that scrolls sideways, each with its data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grailbench.report import figures
from grailbench.report.draw import style
from grailbench.report.footnotes import Footnotes
from grailbench.report.html_markup import Safe, download, safe, tag
from grailbench.report.papers import beside
from grailbench.report.papers import peers as against
from grailbench.report.render.csv import csv
from grailbench.runs import axes
from grailbench.words import BLANK, short, times

if TYPE_CHECKING:
    import pandas

    from grailbench.report.papers.beside import Entry, Filled
    from grailbench.report.papers.peers import Comparison

TALL = 40  #: lines from which a table scrolls in a box of its own
BAD = ("wrong", "failed", "timeout", "out of memory")


@dataclass(frozen=True)
class Value:
    """What stands in a cell, and what it is sorted by: a number, or its text. None sorts last."""

    content: object
    by: float | str | None = None
    kind: str | None = None
    hint: str | None = None


def number(value: float | None, text: str | None = None) -> Value:
    """A number shown with three digits, or as `text`."""
    if value is None or value != value:
        return Value("", None)
    return Value(short(value) if text is None else text, float(value))


def status(word: str, reason: str = "") -> Value:
    """A status and its reason; what has no time is marked with more than a colour."""
    kind = "bad" if word in BAD else "weak" if word != "ok" else "good"
    sign = {"bad": "✗ ", "weak": "! ", "good": "✓ "}[kind]
    label = tag("span", sign, word, class_=f"status {kind}")
    return Value(safe([label, f" {reason}" if reason else None]), word)


def _noted(foot: Footnotes, word: str, reason: str) -> Value:
    """A status, and the number of its reason among the notes below the table."""
    shown = status(word)
    return Value(safe([shown.content, foot.mark([reason] if reason else [])]), word)


def _with_notes(shown: Safe, foot: Footnotes) -> Safe:
    lines = [tag("li", line) for line in foot.lines()]
    return safe([shown, tag("ul", lines, class_="notes") if lines else None])


def table(
    caption: str,
    headers: list[tuple[str, bool]],
    lines: Iterable[list[Value]],
    foot: Iterable[list[Value]] = (),
    fold: int | None = TALL,
    kind: str = "",
) -> Safe:
    """A table that a click on a header sorts. `headers`: name, and whether the column holds numbers; one without a
    name does not sort. `foot`: lines that stay last. With more than `fold` lines it scrolls in a box of its own."""
    lines = list(lines)
    head = [
        tag("th", tag("button", name, type="button", class_="sort"), scope="col", class_="num" if numeric else None)
        if name
        else tag("td", scope="col")
        for name, numeric in headers
    ]
    body, last = [
        [tag("tr", [_cell(value, headers[i][1], i == 0) for i, value in enumerate(line)]) for line in group]
        for group in (lines, foot)
    ]
    parts = [tag("caption", caption), tag("thead", tag("tr", head)), tag("tbody", body)]
    parts += [tag("tfoot", last)] if last else []
    tall = fold is not None and len(lines) > fold
    return boxed(caption, tag("table", *parts, class_=f"sortable {kind}".strip()), "tall" if tall else "")


def boxed(name: str, content: Safe, kind: str = "") -> Safe:
    """A box that scrolls sideways, also by keyboard; a 'tall' one down too, a 'fit' one is no wider than needed."""
    return tag("div", content, class_=f"scroll {kind}".strip(), tabindex=0, role="region", aria_label=name)


def _cell(value: Value, numeric: bool, first: bool) -> Safe:
    kinds = " ".join(kind for kind in ("num" if numeric else None, value.kind) if kind) or None
    by = "" if value.by is None else value.by
    if first:
        return tag("th", value.content, scope="row", class_=kinds, data_by=by, title=value.hint)
    return tag("td", value.content, class_=kinds, data_by=by, title=value.hint)


def text(value: object) -> Value:
    """Plain text; None is nothing."""
    return Value("", None) if value is None or value == "" else Value(str(value), str(value).lower())


def linked(name: str, frame: pandas.DataFrame) -> Safe:
    """The data of a table or figure as a link."""
    return tag("p", "Data: ", download(f"{name}.csv", frame.to_csv(index=False, lineterminator="\n")), class_="data")


# ------------------------------------------------------------------ published tables


def published(found: Filled) -> Safe:
    """A published table: measured above printed above their ratio in one cell; footnotes below."""
    whole = beside.table(found)
    stacks: list[list[list[str]]] = []
    for name, *line in whole.lines:
        if name:
            stacks.append([[cell] for cell in (name, *line)])
        else:
            for stack, cell in zip(stacks[-1][1:], line, strict=True):
                stack.append(cell)
    lines = []
    for row, (name, *stack) in zip(found.rows, stacks, strict=True):
        side = [Value(_stack(stack.pop(0), quiet=True))] if found.third else []
        entries = [row.entries[column] for column in found.columns[1:]]
        values = [_entry(entry, shown) for entry, shown in zip(entries, stack, strict=True)]
        lines.append([text(name[0]), *side, *values])
    headers = [(found.columns[0], False), *([("", False)] if found.third else [])]
    headers += [(column, True) for column in found.columns[1:]]
    parts = [table(whole.title, headers, lines, fold=None, kind="published")]
    if whole.notes:
        parts.append(tag("ul", [tag("li", line) for line in whole.notes], class_="notes"))
    link = download(f"{whole.file}.csv", csv([whole]))
    return safe([*parts, tag("p", "Data: ", link, class_="data")])


def _entry(entry: Entry, shown: list[str]) -> Value:
    return Value(_stack(shown), entry.measured, "bad" if entry.status in BAD else None)


def _stack(lines: list[str], quiet: bool = False) -> Safe:
    names = ("measured", "printed", "ratio")
    kinds = [f"line {name}{' quiet' if quiet else ''}" for name in names]
    return safe([tag("span", line, class_=kind) for line, kind in zip(lines, kinds, strict=False)])


# ------------------------------------------------------------------ frames


def phase_table(frame: pandas.DataFrame) -> Safe:
    """One line a graph and configuration: ms of each part and its share, the total, `ready`, the status."""
    parts = [column for column in frame.columns if column not in figures.HEAD]
    headers = [("Graph", False), ("Configuration", False), *((part, True) for part in parts), ("status", False)]
    lines, foot = [], Footnotes()
    for (_, row), shown in zip(frame.iterrows(), frame.itertuples(), strict=True):
        line = [text(figures.graph_label(shown)), text(shown.config)]
        for part in parts:
            value = row[part]
            share = part not in ("total", "ready") and row["total"] > 0 and value == value
            label = f"{short(value)} ({value / row['total']:.0%})" if share else None
            line.append(number(value, label))
        lines.append([*line, _noted(foot, shown.status, shown.reason)])
    return _with_notes(table("Mean ms by phase (share of the trial)", headers, lines), foot)


def counter_table(frame: pandas.DataFrame) -> Safe:
    """One line a counted cell, one column a counter."""
    names = list(dict.fromkeys(frame.counter))
    headers = [("Graph", False), ("Configuration", False), *((name.replace("_", " "), True) for name in names)]
    lines = []
    for _, part in frame.groupby(["dataset", "query_set", "config"], sort=False):
        counts = dict(zip(part.counter, part["count"], strict=True))
        shown = next(part.itertuples())
        values = [number(counts.get(name), f"{counts[name]:,}" if name in counts else None) for name in names]
        lines.append([text(figures.graph_label(shown)), text(shown.config), *values])
    return table("Exact work by counter", headers, lines)


_COUNTS = (*(axis.name for axis in axes.AXES if axis.number), "seed", "trials", "outliers", "positives")
_TIMES = ("mean", "median", "median_low", "median_high", "min", "iqr")


def cell_table(frame: pandas.DataFrame) -> Safe:
    """One line a cell and phase with its statistics; `frame` as `summary.detail` gives it."""
    names = ["dataset", "impl", "dim", "search", "filters", "order", "threads", "seed", "query_set", "phase", "trials"]
    names += [name for name in (*_TIMES, "outliers", "drift", "positives") if name in frame]
    late = [a.name for a in axes.AXES if a.late and a.name in frame and not frame[a.name].dropna().isin(a.hidden).all()]
    names[names.index("threads") + 1 : names.index("seed")] = late
    numeric = {*_COUNTS, *_TIMES, "drift"}
    headers = [(name.replace("_", " "), name in numeric) for name in [*names, "status"]]
    lines, foot = [], Footnotes()
    for row in frame.itertuples():
        values = {name: getattr(row, name) for name in names}
        values["phase"] = f"{row.under}/{row.phase}" if row.under else row.phase
        line = [_statistic(name, None if value != value else value) for name, value in values.items()]
        lines.append([*line, _noted(foot, row.status, row.reason)])
    return _with_notes(table("Every cell and phase (ms)", headers, lines), foot)


def _statistic(name: str, value: object) -> Value:
    if name in _COUNTS:
        shown = value is not None and (value or name in ("seed", "positives"))
        return number(value, f"{int(value):,}" if shown else "")
    if name == "drift":
        return number(value, None if value is None else f"{value:+.0%}")
    return number(value) if name in _TIMES else text(value)


def peers(comparison: Comparison) -> Safe:
    """One line a graph: our times, theirs and their ratio; the geometric means and the largest ratios stay last."""
    whole = against.table(comparison)
    shown = [[text(name), *(_numeric(cell) for cell in cells)] for name, *cells in whole.lines]
    graphs = len(comparison.pairs)
    names = [(name, i > 0) for i, name in enumerate(whole.headers)]
    return table(whole.title, names, shown[:graphs], shown[graphs:])


def _numeric(cell: str) -> Value:
    try:
        return Value(cell, float(cell))
    except ValueError:
        return Value(cell, None)


# ------------------------------------------------------------------ the heat map


def heat_map(cells: pandas.DataFrame, chosen: pandas.DataFrame) -> Safe:
    """A line a graph, a column a configuration: speed-up against the reference, as a number on a tint.

    `cells`: the frame of `figures.edges`, whose medians let the page take another reference or phase; `chosen`: that
    of `figures.speedup`, which is what the page shows first.
    """
    configs = list(dict.fromkeys(chosen.config))
    phases = [phase for phase in figures.TOP_PHASES if phase in set(cells.phase)]
    medians = {(row.dataset, row.queries, row.config, row.phase): row.median for row in cells.itertuples() if row.phase}
    reference, phase = chosen.reference.iloc[0], chosen.phase.iloc[0]
    body = []
    for (generated, queries), part in chosen.groupby(["generated", "queries"], sort=False):
        lines = []
        for (dataset,), own in part.groupby(["dataset"], sort=False):
            by_config = {row.config: row for row in own.itertuples()}
            times = [{p: medians.get((dataset, queries, config, p)) for p in phases} for config in configs]
            tds = [_heat(by_config.get(config), mine) for config, mine in zip(configs, times, strict=True)]
            lines.append(tag("tr", tag("th", figures.graph_label(next(own.itertuples())), scope="row"), tds))
        means = {mean.config: mean for mean in figures.mean_speedups(part)}
        name = ", ".join(word for word in ("geometric mean", queries, "generated graphs" if generated else "") if word)
        tds = [_mean(means.get(config)) for config in configs]
        lines.append(tag("tr", tag("th", name, scope="row"), tds, class_="means"))
        body.append(tag("tbody", lines))
    head = [tag("th", "Graph", scope="col")]
    head += [tag("th", config, scope="col", class_="config", data_config=config) for config in configs]
    picks = tag(
        "p",
        tag("label", "Reference ", _select("reference", configs, reference)),
        " ",
        tag("label", "Phase ", _select("phase", phases, phase)),
        class_="controls",
    )
    caption = tag("caption", "Speed-up against the reference (median reference / median)")
    grid = tag("table", caption, tag("thead", tag("tr", head)), body, class_="heat", id="heat")
    return safe([picks, boxed("Speed-up", grid, "fit")])


def _select(name: str, choices: list[str], chosen: str) -> Safe:
    options = [tag("option", choice, value=choice, selected=choice == chosen) for choice in choices]
    return tag("select", options, data_heat=name)


def _heat(row, times: dict[str, float | None]) -> Safe:
    known = {f"data_{phase}": repr(float(ms)) for phase, ms in times.items() if ms is not None}
    if row is None:
        return tag("td", "", class_="none", title="not in the run", data_absent=True)
    if row.status not in figures.SOUND:
        return tag("td", row.status.upper(), class_="fault", title=row.reason or row.status)
    text, kind, shade = tint(row.speedup)
    return tag("td", text, class_=kind, style=shade, title=f"{short(row.ms)} ms", **known)


def tint(ratio: float | None) -> tuple[str, str | None, str | None]:
    """Text, class and style of a speed-up; the page's script says the same of another reference."""
    if ratio is None or ratio != ratio:
        return BLANK, "none", None
    kind = "faster" if ratio > 1 else "slower" if ratio < 1 else "same"
    return times(ratio), kind, f"--depth:{style.depth(ratio) * 0.55:.3f}"


def _mean(mean: figures.MeanSpeedup | None) -> Safe:
    if mean is None:
        return tag("td", BLANK, class_="none")
    text, kind, shade = tint(mean.speedup)
    return tag("td", text, tag("small", figures.over(mean)), class_=kind, style=shade)
