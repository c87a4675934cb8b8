"""`grailbench limits`: the measured limits of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import note, show
from grailbench.report.table import Table, numbers
from grailbench.util.words import brief, size


@click.command("limits")
@click.option("--quick", is_flag=True, help="Smaller tables and fewer repeats: seconds instead of a minute.")
@click.option("--only", type=click.Choice(["cpu", "gpu"]), help="Measure only this; 'gpu' fails where there is none.")
@click.option("--again", is_flag=True, help="Measure again what is in the cache.")
@click.option(
    "--simulate", is_flag=True, help="Run the GPU's operations in numba's simulator: checks them, records no time."
)
@click.option("--out", type=options.Output(), metavar="DIR",
              help="Write limits.json and environment.json to this folder too.")  # fmt: skip
@options.as_json
def command(quick, only, again, simulate, out, as_json):
    """Measure what this machine can do at most: copy, gather, atomics, launches, barriers, transfers.

    Streams and random 4-byte gathers on the processor, with one thread and with all; the same and more on the first
    NVIDIA GPU where there is one. Each figure is the median of several repeats, with the least and the most.
    Kept in the cache for this machine, software and thread settings. Measure on an idle machine.

    \b
    Exit codes: 1 when an operation computed something wrong, 2 usage or bad input, 4 when the GPU was asked for
    and there is none.

    \b
    Examples:
      grailbench limits
      grailbench limits --quick --json
      grailbench limits --only gpu --again --out results/baselines/my-machine/limits
      grailbench limits --simulate
    """
    from grailbench.harness import limits
    from grailbench.harness.limits import ceilings
    from grailbench.report.render import terminal

    document = ceilings.measure(
        parts=(only,) if only else None,
        scale=limits.QUICK if quick else limits.FULL,
        again=again,
        simulate=simulate,
        note=note,
    )
    show(as_json, ceilings.rows(document), (part for table in tables(document) for part in terminal(table)))
    if out and not simulate:
        for path in ceilings.export(document, Path(out)):
            note(f"written: {path}")


_NOISY = 1.5  # values whose most is more than this times their least are marked
_NAMES = {"cpu": "processor", "gpu": "GPU"}


def tables(document: dict) -> Iterator[Table]:
    """A table for each part of the document of `ceilings.measure`."""
    from grailbench.harness.limits.ceilings import PARTS

    yield from (_table(document, part) for part in PARTS if part in document)


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
