"""The figure of a tournament: query against build, and against the size of the index."""

from __future__ import annotations

from grailbench.api.advise.costs import Option, front
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel
from grailbench.util.words import short, size

OTHERS = "first round alone"  #: the series of the configurations that did not come to the last round
_COLUMNS = ("configuration", "round", "front", "build_ms", "query_ns", "query_ns_low", "query_ns_high", "index_bytes",
            "peak_bytes", "status", "reason")  # fmt: skip
NS = 1e6  #: ns in a ms


def figure(last: list[Option], dropped: list[Option]) -> Figure:
    """The figure of the last round's configurations, in their order, and of those that were dropped before."""
    import pandas

    best = front(last)
    lines, times, sizes = [], [], []
    for option in (*last, *dropped):
        final = option in last
        head = (option.name, "last" if final else "first", option in best)
        tail = (option.index_bytes, option.peak_bytes, option.worst.status, option.worst.reason)
        if not option.sound:
            lines.append((*head, *[None] * 4, *tail))
            continue
        bounds = option.query_interval if final else None
        low, high = (None, None) if bounds is None else (NS * bounds.low, NS * bounds.high)
        lines.append((*head, option.build, NS * option.query, low, high, *tail))
        series = option.name if final else OTHERS
        hint = f"{option.name}: {short(option.build)} ms to build, {short(NS * option.query)} ns a query"
        hint += "" if option.index_bytes is None else f", index of {size(option.index_bytes)}"
        place = (NS * option.query, hint, low, high, not final)
        times.append(Mark(series, option.build, *place))
        sizes += [Mark(series, option.index_bytes / 1024, *place)] if option.index_bytes else []
    panels = [Panel("ns a query against ms to build", tuple(times))] if times else []
    panels += [Panel("ns a query against KiB of index", tuple(sizes))] if sizes else []
    names = tuple(dict.fromkeys(mark.series for mark in times))
    none = [option.name for option in (*last, *dropped) if option.sound and not option.index_bytes]
    note = f"Without an index, and so not on the right: {', '.join(none)}." if none and sizes else ""
    form = Marks(tuple(panels), names, Axis(), Axis("ns a query"))
    return Figure("advise", pandas.DataFrame(lines, columns=list(_COLUMNS)), form, note)
