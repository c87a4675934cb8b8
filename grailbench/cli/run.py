"""`grailbench run`: verify and time every cell, and store the rows."""

from __future__ import annotations

import click

from grailbench.cli import complete, options
from grailbench.util import paths


@click.command("run")
@options.matrix
@options.timing
@options.checks
@options.workers
@click.option("--out", type=options.Output(), metavar="DIR",
              help="Folder of the run. [default: a new one in results/runs]")  # fmt: skip
@click.option("--resume", type=complete.RUN, is_flag=False, flag_value="", metavar="[=RUN]",
              help="Go on with a run: the newest of this plan, or RUN. Alone, the newest of all.")  # fmt: skip
@click.option("--answers", type=options.Output(dir_okay=False, allow_dash=True), metavar="FILE",
              help="Write the answers there, as lines `u v 0|1` that --queries reads; .gz is packed, - is the standard "
                   "output. For one graph and one query set.")  # fmt: skip
@options.as_json
def command(as_json, out, resume, answers, sample, oracle_seconds, jobs, no_fetch, simulate, workers, scheduler,
            **flags):  # fmt: skip
    """Measure graphs x implementations x parameters; every cell is verified before it is timed.

    Each trial builds the index (phase `label`) and answers all queries once (phase `query`); those of other problems
    prepare and solve (phases `prepare`, `solve`). Rows are on disk
    as soon as a trial ends: after Ctrl-C or a crash, --resume goes on. With --simulate cells are only verified.
    --answers writes those of the first cell that is verified as right; all cells that are right have the same.

    With --workers or --scheduler (extra `dask`) each cell is run by a worker that has its cores and GPUs for itself:
    'grailbench cluster --check' shows what workers have. A cell whose worker is lost is tried once more. --resume goes
    on here with what workers began, and the other way round.

    \b
    Exit codes: 1 when a cell was wrong or failed, 2 usage or bad input, 3 when nothing could be measured,
    4 when the machine lacks what was asked for, 130 after Ctrl-C.

    \b
    Examples:
      grailbench run --config quickstart
      grailbench run --dataset kegg --dataset human --impl dfs --impl sequential --dim 2 --dim 5
      grailbench run --set small-dense --filters none --filters level,tree --queries balanced --trials 5
      grailbench run --dataset kegg --impl gpu --simulate --count 100
      grailbench run --dataset kegg --impl sequential --queries balanced --answers answers.txt.gz
      grailbench run --config quickstart --workers 2
      grailbench run --config speed --scheduler tcp://node1:8786
      grailbench run --resume
    """
    from grailbench.cli import cluster
    from grailbench.cli.views import note, say
    from grailbench.cli.views import run as console
    from grailbench.cli.views.answers import Answers
    from grailbench.compare.answer import next_steps
    from grailbench.distributed import on_workers
    from grailbench.harness import runner
    from grailbench.harness.folder import spoken
    from grailbench.harness.prepare import plan_of
    from grailbench.problems.contract import Checks
    from grailbench.util.screen import apart as stderr
    from grailbench.util.screen import put
    from grailbench.util.visible import quoted

    if simulate and (out or resume is not None):
        raise click.UsageError("--simulate records nothing: leave out --out and --resume")
    afar = workers is not None or scheduler is not None
    if afar and (simulate or answers):
        raise click.UsageError("--workers and --scheduler go without --simulate and --answers")
    if answers == "-" and as_json:
        raise click.UsageError("--answers - and --json both write to the standard output: leave one out")
    plan, folder = plan_of(options.fields(flags), resume, out)
    writing = None if answers is None else Answers(answers, plan)
    with console.RunView(as_json) as screen:
        checking = {"fetch": not no_fetch, "checks": Checks(sample, oracle_seconds, jobs=jobs)}
        checking["answered"] = writing
        if simulate:
            done = runner.verify(plan, screen, simulate=True, **checking)
        else:
            with cluster.client(workers, scheduler) as client:
                elsewhere = None if client is None else on_workers(client)
                done = runner.run(plan, screen, out=out, resume=folder, elsewhere=elsewhere, **checking)
    apart = answers == "-"  # the standard output has the answers alone
    to = stderr() if apart else None
    if not as_json and simulate:
        put(console.summary_tables(done.plan, done.cells, timing=False), to)
        say("simulated: answers were checked, no time was taken and nothing was stored", apart=apart)
    elif not as_json:
        put(console.summary_tables(done.plan, done.cells), to)
        for _, found in done.by_machine:
            put(console.answered(found), to)
        put(console.unstable(done), to)
        say(f"rows: {paths.shown(done.folder)}", apart=apart)
        say(f"tables beside print: grailbench report {quoted(spoken(done.folder))}", apart=apart)
        put(next_steps(spoken(done.folder)), to)
    elif not simulate:
        for line in console.unstable(done):
            note(line)
    done.check()
    if writing is not None:
        writing.check(note)
