"""`grailbench plot`: a run's figures as files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from grailbench.cli import complete

#: those of grailbench.report.figures and plots, whose import would slow down every --help
FIGURES = ("printed", "phases", "phase-table", "weights", "edges", "speedup", "counters",
           *(f"computation-{number}" for number in range(4, 9)))  # fmt: skip
#: those of runs of other problems (grailbench.report.suites)
SUITES = (*(f"closure-{number}" for number in range(5, 9)), "closure-kernels",
          *(f"traversal-{name}" for name in ("bfs", "sssp", "coarsening", "apsp", "teps")))  # fmt: skip
FORMATS = ("svg", "png", "both")
PHASES = ("label", "query", "ready")


@click.command("plot")
@click.argument("run", required=False, type=complete.RUN)
@click.option(
    "--figure", "names", multiple=True, type=click.Choice(FIGURES + SUITES), help="Only this one; may repeat."
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the files. [default: figures in the run's folder; a recorded run needs one]",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="both", show_default=True, help="Kind of files.")
@click.option("--reference", metavar="CONFIG", help="Of the speed-up: a configuration, or words only it has.")
@click.option("--phase", type=click.Choice(PHASES), default="query", show_default=True, help="Of the speed-up.")
@click.option("--profile", metavar="FILE", type=click.Path(path_type=Path), help="CSV of Nsight Compute, for "
              "computation-8. [default: ncu.csv in the run's folder]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file.")
def command(run, names, out, form, reference, phase, profile, as_json):
    """Draw a run's figures as SVG and PNG, each with its data as CSV (needs the extra 'plots').

    RUN is a folder or the name of a run ('grailbench list runs'); without it, the latest. The figures are those of
    'grailbench report --html'. The same run gives the same SVG files. computation-4 to -8 are the figures of
    Computation 2020, drawn for runs of its pipeline or home-made graphs; closure-5 to -8 are those of the closure
    report, drawn for runs of --problem closure.

    \b
    Exit codes: 3 when there is nothing to draw, 4 without matplotlib.

    \b
    Examples:
      grailbench plot
      grailbench plot --figure speedup --reference dfs --phase query --format svg
      grailbench plot results/runs/2025-01-31-quickstart --figure phases --figure edges --out figures
    """
    from grailbench.report import plots

    for path in plots.write(run, names, out, form, reference, phase, profile):
        click.echo(json.dumps({"path": str(path)}) if as_json else str(path))
