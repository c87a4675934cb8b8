"""`grailbench compare`: a run compared with a baseline, with limits from a gate."""

from __future__ import annotations

import click

from grailbench.cli import complete, options


@click.command("compare")
@click.argument("base", type=complete.RUN)
@click.argument("new", type=complete.RUN)
@options.comparison
@click.option("--reference", type=complete.IMPLEMENTATION, metavar="IMPL",
              help="Whose times of the same run are the unit across machines.")  # fmt: skip
@click.option("--times", type=click.Choice(("auto", "reference", "none")), help="ms on one machine and by reference "
              "across, always by reference, or counters alone. [default: auto]")  # fmt: skip
@click.option("--accept", is_flag=True, help="Take NEW as the baseline, in the place of BASE, also with regressions; "
              "a NEW with lost, wrong or incomplete cells is refused.")  # fmt: skip
@options.as_json
def command(base, new, gate_file, form, reference, metric, times, everything, require_all, accept, as_json):
    """Compare the run NEW with the run BASE and fail on a regression.

    Runs are folders or names. Cells are matched by configuration, queries and graph. Work counters are exact: any
    more is a regression. A time is one when new / base is beyond the gate (1.10), 1 is not in the bootstrap interval of
    the ratio, no side is unstable, and the least times show it too; a cell that was ok in BASE and is wrong, failed or
    out of time in NEW is one as well. Verdict and means are of the cells that both runs have. Those that only one has
    are listed apart; with --require-all, which is for CI, they and counters of one run only are regressions too.

    With --accept, NEW takes the place of BASE after it was compared: among the recorded runs (results/baselines) as
    'grailbench record' does it, elsewhere with the old one kept beside it as BASE.before, or BASE.before-2
    and so on. It is done whole or not at all.

    \b
    A gate file, every key optional:
      ratio = 1.10              # new / base allowed on one machine
      across = 2.0              # the same in units of the reference, on two machines
      least_ms = 0.05           # smaller differences do not count
      reference = "dfs"
      metrics = ["label", "query"]
      times = "auto"            # auto, reference or none, as --times
      require_all = true        # as --require-all
      [sets]
      large = 1.05              # or { ratio = 1.05, across = 3.0, least_ms = 1.0 }

    \b
    Exit codes: 0 no regression, or accepted; 1 a regression, or not accepted for lost, wrong or incomplete cells;
    2 bad input; 3 nothing comparable.

    \b
    Examples:
      grailbench compare 20250131-120000-quickstart 20250201-120000-quickstart
      grailbench compare results/baselines/ci NEW --gate results/baselines/ci/gate.toml
      grailbench compare LAST NEW --require-all --times none
      grailbench compare BASE NEW --reference dfs --metric query --format markdown
      grailbench compare benchmarks/baseline NEW --accept
    """
    from grailbench.cli.views import compare as compare_view
    from grailbench.cli.views import note
    from grailbench.compare import accept as taking
    from grailbench.compare import runs as compare
    from grailbench.harness import baseline

    gate = compare.gate_of(gate_file, reference=reference, metrics=list(metric), times=times,
                           require_all=require_all)  # fmt: skip
    if settled := baseline.settle(base):
        note(f"{settled}: its new baseline, accepted before, is in its place now")
    found = compare.of_runs(base, new, gate)
    compare_view.put(found, "json" if as_json else form, everything)
    if not accept:
        found.check()
        return
    for line in taking.accept(found):
        note(line)
