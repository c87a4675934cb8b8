"""The command `grailbench limits`."""

from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import note, show, table
from grailbench.report.table import Table
from grailbench.util.words import brief, size

NOISY = 1.5  #: limits whose most is more than this times their least are marked


@click.command
@click.option("--quick", is_flag=True, help="Smaller tables and fewer repeats: seconds instead of a minute.")
@click.option("--only", type=click.Choice(["cpu", "gpu"]), help="Measure only this; 'gpu' fails where there is none.")
@click.option("--again", is_flag=True, help="Measure again what is in the cache.")
@click.option("--simulate", is_flag=True,
              help="Run the GPU's operations in numba's simulator: checks them, records no time.")  # fmt: skip
@click.option("--out", type=options.Output(),
              help="Write limits.json and environment.json to this folder too.")  # fmt: skip
@options.as_json
def limits(quick, only, again, simulate, out, as_json):
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

    scale = limits.QUICK if quick else limits.FULL
    found = ceilings.measure((only,) if only else None, scale, again=again, simulate=simulate, note=note)
    show(as_json, ceilings.rows(found), [_limits(found)])
    if out and not simulate:
        for path in ceilings.export(found, Path(out)):
            note(f"written: {path}")


def _limits(document: dict) -> Table:
    """The measurements of a document of `ceilings.measure`, a line each."""
    from grailbench.harness.limits.ceilings import PARTS, rows

    def median(row: dict) -> str:
        noisy = row["least"] and row["most"] / row["least"] > NOISY
        return "right" if row["median"] is None else brief(row["median"]) + "*" * bool(noisy)

    columns = {
        "on": "where", "operation": lambda row: ", ".join(filter(None, (row["what"], row["variant"]))),
        "of": lambda row: "" if row["bytes"] is None else size(row["bytes"]), "blocks": "blocks", "threads": "threads",
        "median": median, "": lambda row: "" if row["median"] is None else row["unit"],
        "least": lambda row: brief(row["least"]), "most": lambda row: brief(row["most"]),
    }  # fmt: skip
    device = document.get("gpu", {}).get("device", {})
    names = {"cpu": f"{document['machine']['cpu']}, {document['machine']['cores']} cores", "gpu": device.get("name")}
    notes = [f"{part}: {names[part]} ({document[part]['at']})" for part in PARTS if part in document]
    notes += ["Measured quickly."] if document["quick"] else []
    notes += ["Simulated: every operation was checked, nothing timed."] if device.get("simulated") else []
    notes.append(f"*: the most is over {NOISY} times the least; measure again on an idle machine")
    return table("Limits", columns, rows(document), {*columns} - {"on", "operation", ""}, notes=notes)
