"""The report's figures as SVG, drawn from the frames of `figures`; colours are the page's, so that they follow its
theme."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grailbench.report import figures_style as style
from grailbench.report.figures import graph_label, series_label, short
from grailbench.report.html_markup import Safe, safe, tag
from grailbench.report.papers.computation import batch_label, by_batch
from grailbench.runs.rows import SOUND

if TYPE_CHECKING:
    import pandas

WIDTH = 400  #: of a panel, in its own units; 12 units of text are about 10 CSS pixels on a phone
_LETTER, _BOLD = 6.7, 7.6  #: width of a letter of 12 units, about
_MANY = 6  #: series from which a legend has buttons for all of them


@dataclass(frozen=True)
class Point:
    """A mark of a scatter panel: position, series, whether filled, and what a pointer shows."""

    x: float
    y: float
    series: int
    filled: bool
    hint: str


# ------------------------------------------------------------------ marks and legends


def mark(x: float, y: float, series: int, filled: bool = True, hint: str | None = None) -> Safe:
    """The mark of a series, centred."""
    attributes = {"class_": f"mark s{style.colour(series)}{'' if filled else ' open'}", "data_series": series}
    title = tag("title", hint) if hint else None
    name, r = style.MARKS[style.mark(series)], 4.5
    if name == "o":
        return tag("circle", title, cx=float(x), cy=float(y), r=r - 0.3, **attributes)
    return tag("path", title, d=_path(name, x, y, r), **attributes)


def _path(name: str, x: float, y: float, r: float) -> str:
    """Outline of a mark other than the circle."""
    corners = {
        "s": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        "^": [(0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
        "v": [(0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
        "D": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
        "P": [(-0.4, -1.15), (0.4, -1.15), (0.4, -0.4), (1.15, -0.4), (1.15, 0.4), (0.4, 0.4), (0.4, 1.15),
              (-0.4, 1.15), (-0.4, 0.4), (-1.15, 0.4), (-1.15, -0.4), (-0.4, -0.4)],
    }  # fmt: skip
    if name == "X":
        turn = math.sqrt(0.5)
        points = [((a - b) * turn, (a + b) * turn) for a, b in corners["P"]]
    elif name == "*":
        points = [
            (math.sin(i * math.pi / 5) * k, -math.cos(i * math.pi / 5) * k)
            for i in range(10)
            for k in [1.3 if i % 2 == 0 else 0.55]
        ]
    else:
        points = corners[name]
    return "M" + "L".join(f"{x + a * r:.1f} {y + b * r:.1f}" for a, b in points) + "Z"


def legend(names: Iterable[str]) -> Safe:
    """The series of a scatter figure, each with its mark; a box each hides and shows it."""
    items = []
    for series, name in enumerate(names):
        sign = tag("svg", mark(8, 8, series), viewBox="0 0 16 16", class_="key", aria_hidden="true")
        box = tag("input", type="checkbox", checked=True, data_toggle=series)
        items.append(tag("li", tag("label", box, sign, tag("span", name))))
    if len(items) > _MANY:
        items += [tag("li", tag("button", word, type="button", data_all=word)) for word in ("all", "none")]
    return tag("ul", items, class_="legend")


def bar_legend(names: Iterable[str]) -> Safe:
    """The parts of stacked bars, each with its pattern."""
    items = [
        tag(
            "li",
            tag("svg", _part(0, 0, 22, 12, i), viewBox="0 0 22 12", class_="key wide", aria_hidden="true"),
            tag("span", name),
        )
        for i, name in enumerate(names)
    ]
    return tag("ul", items, class_="legend")


# ------------------------------------------------------------------ scatter panels


def scatter(
    title: str,
    points: list[Point],
    across: str,
    up: str,
    *,
    diagonal: bool = False,
    slopes: bool = False,
) -> Safe:
    """A panel on log axes. `diagonal`: both axes alike, with lines of equality and of a factor of ten; `slopes`:
    lines along which the time an edge is the same."""
    height, left, right, top, bottom = 310, 50, 12, 10, 40
    xs, ys = [p.x for p in points], [p.y for p in points]
    x_range, y_range = style.log_range(xs), style.log_range(ys)
    if diagonal:
        x_range = y_range = style.log_range(xs + ys)
    px = _log_scale(x_range, left, WIDTH - right)
    py = _log_scale(y_range, height - bottom, top)
    parts = [_grid(px, py, x_range, y_range, (left, WIDTH - right, height - bottom, top))]
    if diagonal:
        parts += [_slanted(px, py, x_range, y_range, 10.0**k, _equal(k)) for k in range(-9, 10)]
    if slopes:  # ms = edges * nanoseconds / 10^6
        parts += [_slanted(px, py, x_range, y_range, 10.0 ** (k - 6), _an_edge(k)) for k in range(7)]
    parts += [mark(px(p.x), py(p.y), p.series, p.filled, p.hint) for p in points]
    middle = (top + height - bottom) / 2
    parts.append(tag("text", across, x=(left + WIDTH - right) / 2, y=height - 6, class_="axis mid"))
    parts.append(tag("text", up, x=0, y=0, class_="axis mid", transform=f"translate(12 {middle:.0f}) rotate(-90)"))
    return _panel(title, height, parts, f"{title}: {up} against {across}, {len(points)} marks on log axes.")


def _equal(power: int) -> str:
    return "equal" if power == 0 else f"{10.0**power:g}×"


def _an_edge(power: int) -> str:
    return f"{10.0**power:g} ns an edge" if power < 3 else f"{10.0 ** (power - 3):g} µs an edge"


def _log_scale(bounds: tuple[float, float], first: float, last: float):
    low, high = (math.log10(bound) for bound in bounds)
    return lambda value: first + (math.log10(value) - low) / (high - low) * (last - first)


def _grid(px, py, x_range, y_range, box: tuple[float, float, float, float]) -> Safe:
    """Grid lines and their labels within (left, right, bottom, top)."""
    left, right, bottom, top = box
    parts = []
    parts += _verticals(px, x_range, bottom, top)
    for value in style.log_ticks(*y_range):
        parts.append(tag("path", d=f"M{left} {py(value):.1f}H{right}", class_="grid"))
        parts.append(tag("text", style.tick_label(value), x=left - 5, y=py(value) + 4, class_="tick end"))
    parts.append(tag("path", d=f"M{left} {top}V{bottom}H{right}", class_="frame"))
    return safe(parts)


def _verticals(px, x_range, bottom: float, top: float) -> list[Safe]:
    parts = []
    for value in style.log_ticks(*x_range, most=6):
        parts.append(tag("path", d=f"M{px(value):.1f} {bottom}V{top}", class_="grid"))
        parts.append(tag("text", style.tick_label(value), x=px(value), y=bottom + 15, class_="tick mid"))
    return parts


def _slanted(px, py, x_range, y_range, factor: float, label: str) -> Safe | None:
    """The line y = factor * x inside the panel, labelled at its upper end; None when it only cuts a corner."""
    low = max(x_range[0], y_range[0] / factor)
    high = min(x_range[1], y_range[1] / factor)
    if low >= high:
        return None
    x0, y0, x1, y1 = px(low), py(low * factor), px(high), py(high * factor)
    if x1 - x0 < 60:
        return None
    name = "guide strong" if label == "equal" else "guide"
    line = tag("path", d=f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}", class_=name)
    return safe([line, tag("text", label, x=x1 - 4, y=min(y1 + 18, y0), class_="tick end halo")])


# ------------------------------------------------------------------ the figures


def printed_panels(frame: pandas.DataFrame) -> tuple[Safe, list[str]]:
    """One panel a printed column, and the names of the series: the tables."""
    frame = frame[frame.measured.notna() & (frame.printed > 0) & frame.ratio.notna()]
    tables = list(dict.fromkeys(frame.table))
    panels = []
    for column, part in frame.groupby("column", sort=False):
        points = [
            Point(
                row.printed, row.measured, tables.index(row.table), not row.erratum,
                f"{row.title}: printed {short(row.printed)} ms, measured {short(row.measured)} ms, "
                f"{style.times(row.ratio)}" + (f" ({row.erratum})" if row.erratum else ""),
            )
            for row in part.itertuples()
        ]  # fmt: skip
        panels.append(scatter(str(column), points, "printed ms", "measured ms", diagonal=True))
    return tag("div", panels, class_="panels"), [f"table {name}" for name in tables]


def edge_panels(frame: pandas.DataFrame) -> tuple[Safe, list[str]]:
    """One panel a phase, and the names of the series: the configurations."""
    frame = frame[(frame["median"] > 0) & (frame.edges > 0)]
    names = list(dict.fromkeys(series_label(row) for row in frame.itertuples()))
    panels = []
    for phase, part in frame.groupby("phase", sort=False):
        points = [
            Point(
                row.edges, row.median, names.index(series_label(row)), not row.generated,
                f"{row.dataset}, {series_label(row)}: {short(row.median)} ms "
                f"(95 %: {short(row.median_low)} to {short(row.median_high)}), {row.edges:,} edges",
            )
            for row in part.itertuples()
        ]  # fmt: skip
        panels.append(scatter(str(phase), points, "edges", "median ms", slopes=phase in ("label", "ready")))
    return tag("div", panels, class_="panels"), names


def counter_panels(frame: pandas.DataFrame) -> tuple[Safe, list[str]]:
    """One panel a counter that tells cells apart: a line a graph, a mark a configuration, a log axis."""
    names = list(dict.fromkeys(series_label(row) for row in frame.itertuples()))
    panels = []
    for counter, part in frame[frame["count"] > 0].groupby("counter", sort=False):
        if part["count"].nunique() > 1:
            panels.append(_counter_panel(str(counter).replace("_", " "), part, names))
    return tag("div", panels, class_="panels"), names


def _counter_panel(title: str, part: pandas.DataFrame, names: list[str]) -> Safe:
    graphs = list(dict.fromkeys(part.dataset))
    left, right, top, line = _gutter(graphs), 20, 8, 20
    bottom = top + line * len(graphs)
    bounds = style.log_range(list(part["count"].astype(float)))
    px = _log_scale(bounds, left, WIDTH - right)
    parts = _verticals(px, bounds, bottom, top)
    for i, graph in enumerate(graphs):
        y = top + line * (i + 0.5)
        parts.append(tag("path", d=f"M{left} {y:.1f}H{WIDTH - right}", class_="grid"))
        parts.append(tag("text", _clip(graph, left - 8), x=left - 6, y=y + 4, class_="tick end"))
    for row in part.itertuples():
        y = top + line * (graphs.index(row.dataset) + 0.5)
        hint = f"{row.dataset}, {series_label(row)}: {row.count:,}"
        parts.append(mark(px(row.count), y, names.index(series_label(row)), not row.generated, hint))
    return _panel(title, bottom + 22, parts, f"{title}: counts of {len(graphs)} graphs on a log axis.")


def _gutter(names: list[str]) -> float:
    """Room for names left of a panel, within bounds."""
    return min(130.0, max(40.0, 12 + max(map(len, names)) * _LETTER))


def phase_panels(frame: pandas.DataFrame) -> tuple[Safe, list[str]]:
    """One panel a graph and query set with any time: a bar a configuration, stacked of its parts; and the names of
    the parts."""
    names = list(dict.fromkeys(frame.segment[frame.segment != ""]))
    panels = []
    for (_, _), part in frame.groupby(["dataset", "queries"], sort=False):
        if not part.ms.notna().any():
            continue
        panels.append(_bars(graph_label(next(part.itertuples())), part, names))
    return tag("div", panels, class_="panels bars"), names


def _bars(title: str, part: pandas.DataFrame, names: list[str]) -> Safe:
    """The bars of one graph, on a linear scale that ends at its longest."""
    totals = part.groupby("config", sort=False).ms.sum(min_count=1)
    longest = max(totals.max(), 1e-9)
    room, line, bar = WIDTH - 70, 34, 14
    parts = []
    for i, (config, total) in enumerate(totals.items()):
        y, own = line * i, part[part.config == config]
        parts.append(tag("text", _clip(config, WIDTH), x=0, y=y + 12, class_="tick"))
        if math.isnan(total):
            why = next(own.itertuples())
            text = why.status.upper() + (f": {why.reason}" if why.reason else "")
            shown = _clip(text, WIDTH - 8, _BOLD)
            parts.append(tag("text", tag("title", text), shown, x=4, y=y + 28, class_="tick bad"))
            continue
        x = 0.0
        for row in own.itertuples():
            wide = row.ms / longest * room
            hint = f"{title}, {config}, {row.segment}: {short(row.ms)} ms, {row.share:.0%}"
            parts.append(_part(x, y + 17, wide, bar, names.index(row.segment), hint))
            x += wide
        status = next(own.itertuples()).status
        mark = "" if status == "ok" else f" ({status})"
        parts.append(tag("text", f"{short(total)} ms{mark}", x=x + 5, y=y + 28, class_="tick value"))
    times = ", ".join(f"{config} {short(total) or 'no time'}" for config, total in totals.items())
    return _panel(title, line * len(totals) + 4, parts, f"Stacked bars of {title}, ms a trial: {times}.")


def weight_panels(frame: pandas.DataFrame) -> tuple[Safe, list[str]]:
    """One panel a data set of the thesis's weights: a bar measured and one printed, each whole; and the phases' names.
    The graphs one by one are in the data."""
    names = list(dict.fromkeys(frame.phase))
    panels = []
    for title, group in frame[frame.level == "data set"].groupby("name", sort=False):
        bars = [
            (str(source), list(zip(own.phase, own.share, strict=True)))
            for source, own in group.groupby("source", sort=False)
        ]
        panels.append(_whole_bars(str(title), bars, names))
    return tag("div", panels, class_="panels bars"), names


def share_panels(frame: pandas.DataFrame) -> tuple[Safe, list[str]]:
    """One panel a series of Computation 2020's figure 7: bars of the steps and of everything; and the parts' names."""
    names = list(dict.fromkeys(frame.part))
    panels = []
    for series, group in frame.groupby("series", sort=False):
        bars = [
            (f"{name}{', generated' if generated else ''}: {of}", list(zip(own.part, own.share, strict=True)))
            for (name, generated, of), own in group.groupby(["set", "generated", "of"], sort=False)
        ]
        panels.append(_whole_bars(str(series), bars, names))
    return tag("div", panels, class_="panels bars"), names


def _whole_bars(title: str, bars: list[tuple[str, list[tuple[str, float]]]], names: list[str]) -> Safe:
    """Bars as long as the panel, cut by shares: name, then part and share of each."""
    parts, said = [], []
    for i, (label, shares) in enumerate(bars):
        parts.append(tag("text", _clip(label, WIDTH), x=0, y=34 * i + 12, class_="tick"))
        x = 0.0
        for name, share in shares:
            hint = f"{title}, {label}, {name}: {share:.0%}"
            parts.append(_part(x, 34 * i + 17, share * WIDTH, 14, names.index(name), hint))
            x += share * WIDTH
        said.append(f"{label} " + ", ".join(f"{name} {share:.0%}" for name, share in shares))
    return _panel(title, 34 * len(bars) + 4, parts, f"Stacked bars of {title}: {'; '.join(said)}.")


def pair_panels(frame: pandas.DataFrame, unit: str) -> tuple[Safe, list[str]]:
    """Figures 4 to 6 of Computation 2020: a panel a set and series, a line a graph, a mark a number of label pairs on a
    log axis that the panels of a set share, other batches than the paper's after it; and the names of the marks. Lost
    cells are named at the line's end."""
    pairs, panels = sorted(set(frame.d)), []
    kinds = ["set", "series", *(["memory"] if "memory" in frame else [])]
    for part in by_batch(frame):
        bounds = {name: style.log_range(list(own)) for name, own in part[part.value > 0].groupby("set").value}
        panels += [
            _pair_panel(f"{' '.join(key[1:])}: {key[0]}", own, pairs, bounds[key[0]], unit)
            for key, own in part.groupby(kinds, sort=False)
            if key[0] in bounds
        ]
    return tag("div", panels, class_="panels"), [f"d = {d}" for d in pairs]


def _pair_panel(title: str, part: pandas.DataFrame, pairs: list[int], bounds: tuple[float, float], unit: str) -> Safe:
    graphs = list(dict.fromkeys(batch_label(row) for row in part.itertuples()))
    left, right, top, line = _gutter(graphs), 20, 8, 22
    bottom = top + line * len(graphs)
    px = _log_scale(bounds, left, WIDTH - right)
    parts = _verticals(px, bounds, bottom, top)
    for i, graph in enumerate(graphs):
        y = top + line * (i + 0.5)
        parts.append(tag("path", d=f"M{left} {y:.1f}H{WIDTH - right}", class_="grid"))
        parts.append(tag("text", _clip(graph, left - 8), x=left - 6, y=y + 4, class_="tick end"))
        own = [row for row in part.itertuples() if batch_label(row) == graph]
        for row in own:
            if row.value is not None and row.value > 0:
                hint = f"{graph}, d = {row.d}: {short(row.value)} {unit}"
                parts.append(mark(px(row.value), y, pairs.index(row.d), not row.generated, hint))
        words: dict[str, list[str]] = {}
        for row in own:
            if row.status not in SOUND:
                words.setdefault(row.status.upper(), []).append(str(row.d))
        text = "; ".join(f"{word} d={','.join(d)}" for word, d in words.items())
        if text:
            shown = safe([tag("title", text), _clip(text, WIDTH - left)])
            parts.append(tag("text", shown, x=WIDTH - right, y=y - 3, class_="tick end bad"))
    return _panel(title, bottom + 22, parts, f"{title}: {unit} by label pairs of {len(graphs)} graphs on a log axis.")


def _part(x: float, y: float, wide: float, high: float, index: int, hint: str | None = None) -> Safe:
    """A part of a bar in its colour, under its pattern."""
    box = {"x": round(x, 2), "y": y, "width": f"{max(wide, 0):.2f}", "height": high}
    title = tag("title", hint) if hint else None
    thin = "" if wide >= 3 else " thin"
    plain = tag("rect", title, class_=f"part s{style.colour(index)}{thin}", **box)
    pattern = style.mark(index)
    if pattern == 0 or thin:
        return plain
    over = tag("rect", fill=f"url(#pattern{pattern})", pointer_events="none", **box)
    return safe([plain, over])


def patterns() -> Safe:
    """The patterns of bars, once a page."""
    drawn = {
        1: "M-1 1L1 -1M0 6L6 0M5 7L7 5",
        2: "M1.2 1.2h1.6v1.6h-1.6zM4.2 4.2h1.6v1.6h-1.6z",
        3: "M-1 5L1 7M0 0L6 6M5 -1L7 1",
        4: "M0 2H6M0 5H6",
        5: "M0 0L6 6M6 0L0 6",
        6: "M2 0V6M5 0V6",
        7: "M0 3H6M3 0V6",
    }
    found = [
        tag(
            "pattern", tag("path", d=path, class_="hatch"), id=f"pattern{i}", width=6, height=6,
            patternUnits="userSpaceOnUse",
        )
        for i, path in drawn.items()
    ]  # fmt: skip
    return tag("svg", tag("defs", found), width=0, height=0, aria_hidden="true", class_="defs", focusable="false")


def _clip(text: str, room: float, letter: float = _LETTER) -> str:
    """A text cut to what fits; where it does not, the panel's table and CSV have it whole."""
    return style.clip(text, max(4, int(room / letter)))


def _panel(title: str, height: float, parts: list, alt: str) -> Safe:
    drawing = tag(
        "svg", parts, viewBox=f"0 0 {WIDTH} {height:.0f}", role="img", aria_label=alt, preserveAspectRatio="xMinYMin"
    )
    return tag("div", tag("h4", title), drawing, class_="panel")
