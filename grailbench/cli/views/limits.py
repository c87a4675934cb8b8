"""The measured limits of the machine as tables."""

from __future__ import annotations

from itertools import groupby

from grailbench.harness.limits.ceilings import PARTS
from grailbench.report.table import Table, numbers
from grailbench.util.words import brief, size

_NOISY = 1.5  # values whose most is more than this times their least are marked
_NAMES = {"cpu": "processor", "gpu": "GPU"}


def tables(document: dict) -> list[Table]:
    """A table for each part of the document of `ceilings.measure`."""
    return [_table(document, part) for part in PARTS if part in document]


def _table(document: dict, part: str) -> Table:
    headers = ["operation", "of", "threads", "median", "", "least", "most"]
    measured = document[part]["measurements"]
    lines, ends = [], set()
    for (what, variant), group in groupby(measured, key=lambda each: (each["what"], each["variant"])):
        for i, each in enumerate(group):
            name = (f"{what}, {variant}" if variant else what) if i == 0 else ""
            median = "right" if each["median"] is None else brief(each["median"]) + "*" * (_spread(each) > _NOISY)
            unit = "" if each["median"] is None else each["unit"]
            table = "" if each["bytes"] is None else size(each["bytes"])
            lines.append([name, table, _shape(each), median, unit, brief(each["least"]), brief(each["most"])])
        ends.add(len(lines) - 1)
    noisy = any(_spread(each) > _NOISY for each in measured)
    notes = [f"*: the most is over {_NOISY} times the least; measure again on an idle machine"] if noisy else []
    return Table(
        part, _title(document, part), headers, lines, numbers(headers), ends=frozenset(ends) - {len(lines) - 1},
        notes=notes,
    )  # fmt: skip


def _title(document: dict, part: str) -> str:
    measured = document[part]
    if part == "cpu":
        machine = document["machine"]
        what = f"{machine['cpu']}, {machine['cores']} cores"
    else:
        device = measured["device"]
        what = device["name"] + ("" if device["simulated"] else f", {device['multiprocessors']} multiprocessors")
        what += ": every operation checked, nothing timed" if device["simulated"] else ""
    quick = ", quick" if document["quick"] and part == "cpu" else ""
    return f"{_NAMES[part]}: {what} ({measured['at']}{quick})"


def _shape(each: dict) -> str:
    if each["threads"] is None:
        return ""
    return f"{each['threads']}" if each["blocks"] is None else f"{each['blocks']} x {each['threads']}"


def _spread(each: dict) -> float:
    return each["most"] / each["least"] if each["least"] else 0.0
