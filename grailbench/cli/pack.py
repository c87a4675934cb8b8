"""`grailbench pack`: a run as one file for others, and a look at such a file."""

from __future__ import annotations

import click

from grailbench.cli import complete, options


@click.command("pack")
@click.argument("run", type=complete.RUN)
@click.option(
    "--out", metavar="FILE", type=options.Output(dir_okay=False), help="The pack. [default: RUN.pack.zip here]"
)
@click.option("--redact", is_flag=True, help="Leave out folders, hosts and the user's name, but no measurement.")
@click.option("--check", is_flag=True, help="RUN is a pack: verify it whole, judge it, and say what is in it.")
@options.as_json
def command(run, out, redact, check, as_json):
    """Pack the run RUN into one file: its rows, its plan, its environment, and a manifest with their checksums.

    The same run gives the same bytes. 'report', 'compare', 'plot' and 'cite' take the file in place of a run,
    and verify it whole before they believe any of it. Packed is what 'grailbench record' takes, and also what was not
    measured from a clean commit, which is then said wherever it is shown.

    With --redact, of folders the last part stays, of hosts and the user's name nothing: in the command and the config,
    and in the reasons of cells without times, whose checksums are made anew. Rows with times stay byte for byte.

    With --check: known graphs must have the registry's checksums, and implementations that were asked the same pairs
    of the same graph must have given the same answers.

    \b
    Exit codes: 1 a pack is whole, but cannot be what it says; 2 a run that is not packed (damaged, failed or wrong
    cells), or a pack that is damaged or no pack.

    \b
    Examples:
      grailbench pack results/runs/2025-01-31-quickstart --redact
      grailbench pack --check mine.pack.zip
    """
    from grailbench.cli.views import pack as view
    from grailbench.harness import submission

    if check:
        if out or redact:
            raise click.UsageError("--check goes without --out and --redact")
        found = submission.judge(run)
        view.put_judged(found, as_json)
        found.check()
    else:
        view.put_packed(submission.submit(run, out, redact), as_json)
