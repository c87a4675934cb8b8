"""Every trial of a cell as a strip: a tick a trial, a bar over the interval of the median, a line at the median."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from grailbench.words import count, short

WIDTH, HEIGHT, EDGE = 120, 14, 2


def inline(times: Iterable[float], low: float, median: float, high: float) -> Markup:
    """A strip as an SVG element, from the least to the greatest time; '' for a single trial.

    times         ms by trial
    low, high     bounds of the interval of the median, in ms
    """
    times = list(times)
    least, most = min(times), max(times)
    if len(times) < 2:
        return Markup("")

    def at(value: float) -> str:
        share = (value - least) / (most - least) if most > least else 0.5
        return f"{EDGE + share * (WIDTH - 2 * EDGE):.1f}".removesuffix(".0")

    ticks = "".join(f"M{place} 3v8" for place in dict.fromkeys(map(at, times)))
    said = f"{count(len(times), 'trial')} from {short(least)} to {short(most)} ms, median {short(median)} ms"
    return Markup(
        '<svg class="strip" viewBox="0 0 {width} {height}" role="img" aria-label="{said}">'
        '<path class="between" d="M{low} 7H{high}"/><path d="{ticks}"/><path class="middle" d="M{middle} 0v14"/></svg>'
    ).format(width=WIDTH, height=HEIGHT, said=said, low=at(low), high=at(high), ticks=ticks, middle=at(median))
