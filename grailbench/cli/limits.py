"""`grailbench limits`: the measured limits of the machine."""

from __future__ import annotations

from pathlib import Path

import click

from grailbench.cli import options


@click.command("limits")
@click.option("--quick", is_flag=True, help="Smaller tables and fewer repeats: seconds instead of a minute.")
@click.option("--only", type=click.Choice(["cpu", "gpu"]), help="Measure only this; 'gpu' fails where there is none.")
@click.option("--again", is_flag=True, help="Measure anew, also what the cache holds.")
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
    from grailbench.cli.views import limits as view
    from grailbench.cli.views import note, put_json
    from grailbench.harness.limits import ceilings, scale
    from grailbench.report.render import terminal
    from grailbench.util.screen import put

    document = ceilings.measure(
        parts=(only,) if only else None,
        scale=scale.QUICK if quick else scale.FULL,
        again=again,
        simulate=simulate,
        note=note,
    )
    if as_json:
        put_json(ceilings.rows(document))
    else:
        for table in view.tables(document):
            put(terminal(table))
    if out and not simulate:
        for path in ceilings.export(document, Path(out)):
            note(f"written: {path}")
    if not simulate:
        for doubt in ceilings.doubts(document):
            note(f"warning: {doubt}; measure again on an idle machine")
