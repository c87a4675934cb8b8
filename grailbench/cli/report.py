"""`grailbench report`: a run's tables beside the printed ones."""

from __future__ import annotations

import json

import click


@click.command("report")
@click.argument("run", required=False)
@click.option("--table", "tables", multiple=True, metavar="NUMBER", help="Only this table (2.1 to 2.6); may repeat.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "csv", "both"]),
    default="both",
    show_default=True,
    help="Files to write beside the run.",
)
@click.option("--details", is_flag=True, help="Show every cell with its statistics too (the files always hold them).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a table cell instead of tables.")
def command(run, tables, form, details, as_json):
    """Show a run's tables: measured beside printed, and their ratio.

    RUN is a folder or the name of a run ('grailbench list runs'); without it, the latest. The report is
    written into the run's folder 'report' too: report.md, and one CSV a table. A ratio of measured to printed
    times crosses machines.

    \b
    Examples:
      grailbench report
      grailbench report results/runs/2025-01-31-quickstart --table 2.4
      grailbench report --table 2.4 --format csv
      grailbench report --json | jq 'select(.table == "2.4" and .column == "Pure DFS")'
    """
    from grailbench.report import document

    report, folder = document.of_run(run, tables)
    files = document.write(report, folder, form)
    if as_json:
        for record in document.records(report):
            click.echo(json.dumps(record))
    else:
        from grailbench.report.screen import console

        screen = console()
        for part in document.show(report, details):
            screen.print(part)
        for path in files:
            click.echo(f"written: {path}", err=True)
    document.check_measured(report)
