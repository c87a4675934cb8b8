"""Colours, marks and ticks of all figures. Series of marks differ not only in colour but also in their shapes."""

import math

#: eight colours of series with a contrast of at least 3 to the white page and to the dark page
LIGHT = ("#1f6fb4", "#b8560b", "#1a7f4b", "#7a4bb8", "#c0362c", "#0f7884", "#86592c", "#5b6675")
DARK = ("#6db3f2", "#f0a35e", "#5fc992", "#b99bf0", "#f2857b", "#56c7d6", "#d1a06f", "#a9b4c2")
#: marks of series in matplotlib's notation
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: colours of text, lines and page
INK, SOFT, LINE, EDGE, GUIDE, BAD, PAPER = "#1a1f24", "#56606b", "#dfe3e8", "#8a949f", "#a9b1ba", "#b3261e", "#ffffff"
#: the background of text on top of a drawing
PATCH = {"boxstyle": "square,pad=0.1", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.85}


def colour(index: int) -> int:
    """The position in `LIGHT` and `DARK` of a series' colour."""
    return index % len(LIGHT)


def mark(index: int) -> int:
    """The position in `MARKS` of a series; mark and colour together are unique for 64 series."""
    return (index + index // len(LIGHT)) % len(MARKS)


def alpha(index: int) -> float:
    """The opacity of the bars of a series: those after the eighth are lighter."""
    return 1.0 if index < len(LIGHT) else 0.5


def log_range(values: list[float]) -> tuple[float, float]:
    """Bounds of a log axis with some room around positive values, at least a factor of two apart."""
    low, high = min(values), max(values)
    room = max((high / low) ** 0.06, 1.15)
    low, high = low / room, high * room
    if high / low < 2:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(2), middle * math.sqrt(2)
    return low, high


def log_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Three to `most` round numbers within bounds: powers of ten, or multiples of them by 1, 2, 5, by 1 to 9, or by
    tenths if there are too few."""
    span = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5), tuple(range(1, 10)), tuple(n / 10 for n in range(10, 100))):
        ticks = [step * 10.0**power for power in span for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 3:
            return ticks[:: math.ceil(len(ticks) / most)]
    return ticks


def tick_label(value: float) -> str:
    """The label of a tick: '0.01', '5', '200', '20 k', '1 M', '1 G'."""
    for unit, size in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if value >= size * 0.9999:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
