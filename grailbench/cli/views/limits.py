"""The machine's ceilings as tables for people."""

from __future__ import annotations

from itertools import groupby

import click

from grailbench.limits.ceilings import PARTS
from grailbench.screen import Grid
from grailbench.words import brief, size

_NOISY = 1.5  # most over least, from which a figure is marked
_NAMES = {"cpu": "processor", "gpu": "GPU"}


def note(text: str) -> None:
    """A line on stderr about what is being measured."""
    click.echo(text, err=True)


def tables(document: dict) -> list[Grid | str]:
    """A table a part of `ceilings.measure`'s document, and a line that reads them."""
    found: list[Grid | str] = [_table(document, part) for part in PARTS if part in document]
    if any(_spread(each) > _NOISY for part in PARTS for each in document.get(part, {}).get("measurements", [])):
        found.append(f"*: the most is over {_NOISY} times the least; measure again on an idle machine")
    return found


def _table(document: dict, part: str) -> Grid:
    heads = ["operation", "of", "threads", "median", "", "least", "most"]
    lines, ends = [], set()
    for (what, variant), group in groupby(
        document[part]["measurements"], key=lambda each: (each["what"], each["variant"])
    ):
        for i, each in enumerate(group):
            name = (f"{what}, {variant}" if variant else what) if i == 0 else ""
            median = "right" if each["median"] is None else brief(each["median"]) + "*" * (_spread(each) > _NOISY)
            unit = "" if each["median"] is None else each["unit"]
            table = "" if each["bytes"] is None else size(each["bytes"])
            lines.append([name, table, _shape(each), median, unit, brief(each["least"]), brief(each["most"])])
        ends.add(len(lines) - 1)
    right = frozenset(heads) - {"operation", ""}
    return Grid(_title(document, part), heads, lines, right, ends=frozenset(ends) - {len(lines) - 1})


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
