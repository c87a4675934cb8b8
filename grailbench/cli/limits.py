"""`grailbench limits`: the measured limits of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import options
from grailbench.cli.printing import note, show, table
from grailbench.util.words import brief, size

if TYPE_CHECKING:
    from grailbench.report.table import Table


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

    document = ceilings.measure(
        parts=(only,) if only else None,
        scale=limits.QUICK if quick else limits.FULL,
        again=again,
        simulate=simulate,
        note=note,
    )
    show(as_json, ceilings.rows(document), tables(document))
    if out and not simulate:
        for path in ceilings.export(document, Path(out)):
            note(f"written: {path}")


_NOISY = 1.5  # values whose most is more than this times their least are marked


def tables(document: dict) -> Iterator[Table]:
    """A table for each part of the document of `ceilings.measure`."""
    from grailbench.harness.limits.ceilings import PARTS

    yield from (_table(document, part) for part in PARTS if part in document)


def _table(document: dict, part: str) -> Table:
    measured = document[part]["measurements"]
    names = [f"{each['what']}, {each['variant']}" if each["variant"] else each["what"] for each in measured]
    first = {at for at, name in enumerate(names) if at == 0 or names[at - 1] != name}  # lines that begin an operation

    def shape(each: dict) -> str:
        threads, blocks = each["threads"], each["blocks"]
        return "" if threads is None else f"{threads}" if blocks is None else f"{blocks} x {threads}"

    def median(each: dict) -> str:
        return "right" if each["median"] is None else brief(each["median"]) + "*" * _noisy(each)

    columns = {
        "operation": lambda line: names[line[0]] if line[0] in first else "",
        "of": lambda line: "" if line[1]["bytes"] is None else size(line[1]["bytes"]),
        "threads": lambda line: shape(line[1]), "median": lambda line: median(line[1]),
        "": lambda line: "" if line[1]["median"] is None else line[1]["unit"],
        "least": lambda line: brief(line[1]["least"]), "most": lambda line: brief(line[1]["most"]),
    }  # fmt: skip
    noisy = any(map(_noisy, measured))
    notes = [f"*: the most is over {_NOISY} times the least; measure again on an idle machine"] if noisy else []
    return table(
        _title(document, part), columns, enumerate(measured), ["of", "threads", "median", "least", "most"],
        ends=frozenset(at - 1 for at in first), notes=notes,
    )  # fmt: skip


def _title(document: dict, part: str) -> str:
    measured = document[part]
    if part == "cpu":
        machine, quick = document["machine"], ", quick" if document["quick"] else ""
        return f"processor: {machine['cpu']}, {machine['cores']} cores ({measured['at']}{quick})"
    device = measured["device"]
    if device["simulated"]:
        return f"GPU: {device['name']}: every operation checked, nothing timed ({measured['at']})"
    return f"GPU: {device['name']}, {device['multiprocessors']} multiprocessors ({measured['at']})"


def _noisy(each: dict) -> bool:
    return bool(each["least"]) and each["most"] / each["least"] > _NOISY
