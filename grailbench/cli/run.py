"""The command `grailbench run`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from grailbench.cli import options
from grailbench.cli.printing import note, output, put
from grailbench.errors import InputError
from grailbench.problems.contract import Workload, problem
from grailbench.util import ahead, paths
from grailbench.util.words import listing

if TYPE_CHECKING:
    from grailbench.harness.plan import Plan


@click.command
@options.matrix
@options.timing
@options.checks
@options.workers
@options.run_folder
@click.option("--resume", type=options.RUN, is_flag=False, flag_value="", metavar="[=RUN]",
              help="Go on with a run: the newest of this plan, or RUN. Alone, the newest of all.")  # fmt: skip
@click.option("--answers", type=options.Output(dir_okay=False, allow_dash=True),
              help="Write the answers there, as lines `u v 0|1` that --queries reads; .gz is packed, - is the standard "
                   "output. For one graph and one query set.")  # fmt: skip
@options.as_json
def run(as_json, out, resume, answers, sample, oracle_seconds, jobs, no_fetch, simulate, workers, scheduler, **flags):
    """Measure graphs x implementations x parameters; every cell is verified before it is timed.

    Each trial builds the index (phase `label`) and answers all queries once (phase `query`); those of other problems
    prepare and solve (phases `prepare`, `solve`). Rows are on disk as soon as a trial ends: after Ctrl-C or a crash,
    --resume goes on. With --simulate cells are only verified.
    --answers writes those of the first cell that is verified as right; all cells that are right have the same.

    With --workers or --scheduler (extra `dask`) each cell is run by a worker that has its cores and GPUs for itself:
    'grailbench cluster --check' shows what workers have. A cell whose worker is lost is tried once more. --resume goes
    on here with what workers began, and the other way round.

    \b
    Exit codes: 1 when a cell was wrong or failed, 2 usage or bad input, 3 when nothing could be measured,
    4 when the machine lacks what all cells need, 130 after Ctrl-C.

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
    from grailbench.cli import progress as console
    from grailbench.compare import answer
    from grailbench.harness import runner
    from grailbench.harness.folder import spoken
    from grailbench.harness.prepare import plan_of
    from grailbench.problems.contract import Checks
    from grailbench.util.visible import quoted

    if simulate and (out or resume is not None):
        raise click.UsageError("--simulate records nothing: leave out --out and --resume")
    afar = workers is not None or scheduler is not None
    if afar and (simulate or answers):
        raise click.UsageError("--workers and --scheduler go without --simulate and --answers")
    if answers == "-" and as_json:
        raise click.UsageError("--answers - and --json both write to the standard output: leave one out")
    found, folder = plan_of(flags, resume, out)
    writing = None if answers is None else Answers(answers, found)
    ahead.expect("grailbench.api.first:of_cells", found.cells, simulate)
    with console.RunView(as_json) as screen, client(workers, scheduler) as dask:
        checking = {"fetch": not no_fetch, "checks": Checks(sample, oracle_seconds, jobs=jobs), "answered": writing}
        if simulate:
            done = runner.verify(found, screen, simulate=True, **checking)
        else:
            elsewhere = None
            if dask is not None:
                from grailbench.distributed.runner import on_workers

                elsewhere = on_workers(dask)
            done = runner.run(found, screen, out=out, resume=folder, elsewhere=elsewhere, **checking)
    if as_json:
        put([] if simulate else console.unstable(done), on_stderr=True)
    else:
        parts = console.summary(done.cells)
        if simulate:
            parts.append("simulated: answers were checked, no time was taken and nothing was stored")
        else:
            name = spoken(done.folder)
            for _, measured in done.by_machine:
                parts += ["", f"{answer.TITLE}:", *lines, ""] if (lines := answer.sentences(measured)) else []
            parts += [*console.unstable(done), f"rows: {paths.shown(done.folder)}",
                      f"tables beside print: grailbench report {quoted(name)}", *answer.next_steps(name)]  # fmt: skip
        put(parts, on_stderr=answers == "-")  # the standard output has the answers alone
    done.check()
    if writing is not None:
        writing.check()


def client(workers: int | None, scheduler: str | None) -> AbstractContextManager:
    """A client of dask for --workers or --scheduler, as long as its block; None if neither is given."""
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers starts workers here, --scheduler uses running ones: give only one of them")
    if workers is None and scheduler is None:
        return nullcontext()
    from grailbench.distributed import connection

    return connection.started(workers) if scheduler is None else connection.connected(scheduler)


class Answers:
    """The file of `run --answers`: the answers of the first cell of a run that is verified as right.

    Raises InputError for a plan of several graphs or query sets, for a problem whose answers are no lines, and for a
    file that `--queries` would read as a table.
    """

    def __init__(self, path: str, plan: Plan):
        self.path, self.written = path, False
        if path.removesuffix(".gz").lower().endswith(".csv"):
            raise InputError("answers are lines `u v 0|1`, no table", path=path, remedy="a name without .csv")
        for solved in {cell.problem for cell in plan.cells}:
            if not problem(solved).written:
                raise InputError(f"--answers: those of problem {solved} are no lines", remedy="leave it out")
        graphs, sets = zip(*((cell.dataset, cell.queries.name) for cell in plan.cells), strict=True)
        for what, names in (("graph", graphs), ("query set", sets)):
            if len(found := dict.fromkeys(names)) > 1:
                raise InputError(f"--answers is for one {what}; this run has {listing(found)}", remedy="a run for each")

    def __call__(self, workload: Workload, answers: Any) -> None:
        """Writes the answers."""
        with output(self.path) as stream:
            workload.write_answers(stream, answers)
        self.written = True

    def check(self) -> None:
        """Prints where the answers are. Raises InputError if there are none: no cell made a pass that is right."""
        if not self.written:
            raise InputError(
                "--answers: no answers were written, as no cell was verified in this call that answers each question",
                remedy="a run that has all its trials asks nothing again: leave out --resume, or add --trials",
            )
        if self.path != "-":
            note(f"answers: {self.path}")
