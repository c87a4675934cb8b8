"""The command `grailbench ab`."""

import click

from grailbench.cli import options
from grailbench.cli.printing import note


@click.command
@click.argument("rev_a")
@click.argument("rev_b")
@options.matrix
@click.option("--trials", type=options.Whole(1), help="Timed passes of a cell. [default: the config's]")
@click.option("--rounds", type=options.Whole(1), default=5, show_default=True, help="Turns of each revision.")
@options.comparison
@click.option(
    "--out", type=options.Output(), help="Keep the two runs in DIR/a and DIR/b. [default: two in results/runs]"
)
@options.no_fetch
@options.as_json
def ab(rev_a, rev_b, rounds, gate_file, form, metric, everything, require_all, out, no_fetch, as_json, **flags):
    """Measure the commits REV_A and REV_B of the git checkout around this folder in turns, and compare B with A.

    The checkout is that of grailbench, or of an installed plug-in that the config or --impl names; outside of any it is
    the one that grailbench runs from. Each revision's code is imported from a git worktree of its own in a temporary
    folder; the packages and the cache of graphs are those that are here. The two take turns, a block of trials each, so
    that a drifting machine moves both. The config is read once, from the working tree, and given to both. Uncommitted
    changes are in neither.

    \b
    Exit codes: 0 no regression, 1 a regression, 2 bad input or a revision that cannot run, 3 nothing comparable.

    \b
    Examples:
      grailbench ab main HEAD --config ci
      grailbench ab HEAD~3 my-branch --dataset kegg-like --impl sequential --trials 30 --rounds 10
      grailbench ab v1.0.0 HEAD --config ci --format markdown
      grailbench ab main HEAD --dataset kegg-like --impl bitclosure
    """
    from grailbench.cli.compare import put
    from grailbench.compare import runs
    from grailbench.harness import ab

    gate = runs.gate_of(gate_file, metrics=list(metric), require_all=require_all)
    sides = ab.ab((rev_a, rev_b), flags, rounds, note, out=out, fetch=not no_fetch)
    found = runs.of_runs(*sides, gate)
    put(found, "json" if as_json else form, everything)
    found.check()
