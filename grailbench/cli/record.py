"""The command `grailbench record`."""

import click

from grailbench.cli import options
from grailbench.cli.printing import put


@click.command
@click.argument("run", type=options.RUN)
@click.argument("name")
@click.option("--unstable", is_flag=True, help="Record unstable times too; every number of them will carry a †.")
@click.option("--replace", is_flag=True, help="Take the place of a run that is recorded under this name.")
def record(run, name, unstable, replace):
    """Copy the run RUN to results/baselines/NAME and enter it in the manifest there.

    Only what others can repeat is recorded: every session of the run must name a commit, and its files must have been
    those of the commit; so must the code of a plug-in that is not an installed release. A copy without git data
    knows its commit from COMMIT.json, which 'python -m grailbench.harness.provenance' writes in a clean checkout.

    Cells whose times are unstable ('grailbench report' names them) are refused unless --unstable says so.

    \b
    Exit codes: 2 when the run is damaged, has a failed or wrong cell, unstable times, or comes from changed files.
    harish-racy, which is right by luck, may be wrong.

    \b
    Examples:
      grailbench record 20250131-120000-fused my-machine/fused
      grailbench record /tmp/fused my-machine/fused --replace
    """
    from grailbench.compare import stability
    from grailbench.harness import provenance
    from grailbench.harness.cells import load

    if not unstable:
        stability.require_stable(load(run))
    folder = provenance.record(run, name, replace)
    put([f"recorded: {folder}"])
