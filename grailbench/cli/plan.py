"""`grailbench plan`: the exact cells that `run` would execute."""

from __future__ import annotations

import click

from grailbench.cli import options


@click.command("plan")
@options.matrix
@options.timing
@options.as_json
def command(as_json, **flags):
    """Print the matrix that `grailbench run` with the same flags would execute, and run nothing.

    \b
    Examples:
      grailbench plan --config quickstart
      grailbench plan --dataset kegg --impl sequential --impl parallel --dim 2 --dim 5
    """
    from grailbench.cli.views import put_json
    from grailbench.cli.views.run import plan_table
    from grailbench.harness.prepare import missing, plan_of
    from grailbench.util.screen import put

    plan, _ = plan_of(options.fields(flags))
    if as_json:
        put_json(cell.record() for cell in plan.cells)
    else:
        put([plan_table(plan, missing(plan))])
