"""The command `grailbench plot`."""

from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import show
from grailbench.report.captions import CAPTIONS

PHASES = ("label", "query", "ready")


@click.command
@click.argument("run", required=False, type=options.RUN)
@options.many("--figure", click.Choice(list(CAPTIONS)), "Only this one; may repeat.", "names")
@click.option("--out", type=options.OUT_FOLDER,
              help="Folder of the files. [default: figures in the run's folder; a recorded run needs one]")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="All figures that the run has, in place of four.")
@options.drawn
@click.option("--reference", metavar="CONFIG", help="Of the speed-up: a configuration, or words only it has.")
@click.option("--phase", type=click.Choice(PHASES), default="query", show_default=True, help="Of the speed-up.")
@click.option("--profile", metavar="FILE", type=click.Path(path_type=Path),
              help="CSV of Nsight Compute, for computation-8. [default: ncu.csv in the run's folder]")  # fmt: skip
@options.machine
@options.as_json
def plot(run, names, out, everything, form, reference, phase, profile, machine, as_json):
    """Draw a run's figures as SVG and PNG, or PDF, each with its data as CSV: four, or those that are named.

    RUN is a folder or the name of a run ('grailbench list runs'); without it, the latest. The figures are those of
    'grailbench report --html', 16 cm wide with text of 7 points and more. The same run gives the same SVG files.
    computation-4 to -8 are the figures of Computation 2020, drawn for runs of its pipeline or home-made graphs;
    closure-*, traversal-* and reading are those of cells of these problems. tradeoff-* have the time of the answers
    against build, memory and energy, with the Pareto front; strips has every trial.

    \b
    Exit codes: 3 when there is nothing to draw.

    \b
    Examples:
      grailbench plot
      grailbench plot --figure speedup --reference dfs --phase query --format svg
      grailbench plot --figure tradeoff-build --figure strips --format pdf
      grailbench plot results/runs/2025-01-31-quickstart --figure phases --figure edges --out figures
    """
    from grailbench.report import figures

    for path in figures.write(run, names, out, form, reference, phase, profile, machine, everything):
        show(as_json, [{"path": str(path)}], [str(path)])
