"""Executing a plan: the folder of the run is made or continued, graphs are fetched, and the cells of each graph are run
(`session`). The rows of a trial are on disk when it ends.
"""

import gc
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from grailbench import cuda as device
from grailbench.errors import CheckFailed, ClusterLost, GrailbenchError, InputError, MachineLacks, NothingMeasured
from grailbench.harness import cells as measured
from grailbench.harness import environment as machine
from grailbench.harness import folder as results
from grailbench.harness import plugins, provenance
from grailbench.harness.folder import AGAIN, Writer, new_run, only_writer, repair
from grailbench.harness.machines import by_machine
from grailbench.harness.plan import Plan
from grailbench.harness.prepare import provide, require_same
from grailbench.harness.rows import FORMAT, TIMED
from grailbench.harness.session import Answered, Session
from grailbench.harness.tasks import Progress, Watcher, crowded, implementation_of, on_gpu, steps
from grailbench.problems.contract import Checks, problem
from grailbench.util.guard import prompt_interrupts
from grailbench.util.visible import quoted, visible

Elsewhere = Callable[[Progress, Plan, Checks], None]  #: runs the cells of a plan that need passes, and adds their rows
SIMULATED = 2_000  #: queries that the simulator answers in about half a minute, on a graph of some thousand vertices


class Interrupted(GrailbenchError):
    """The run was interrupted by Ctrl-C or SIGTERM. The message says where the finished trials are."""

    exit_code = 130


@dataclass(frozen=True)
class Finished:
    """A finished run: its plan, with look-alikes in place, and all current rows.

    lacking      what the machine lacks for a skipped cell, if anything
    environment  as in its file, if it has one
    """

    folder: Path | None
    plan: Plan
    rows: list[dict]
    lacking: str | None = None
    environment: dict = field(default_factory=dict)

    @cached_property
    def cells(self) -> list[measured.Cell]:
        """The cells of all rows."""
        return measured.cells(self.rows, environment=self.environment)

    @cached_property
    def by_machine(self) -> list[tuple[Mapping, list[measured.Cell]]]:
        """The cells that may be compared: those of each machine with its environment, that with most rows first."""
        found = list(by_machine(self.environment, self.rows).values())
        if len(found) == 1:
            return [(found[0][0], self.cells)]
        return [(environment, measured.cells(rows, environment=environment)) for environment, rows in found]

    @property
    def statuses(self) -> Counter:
        """Number of cells by status."""
        return Counter(cell.status for cell in self.cells)

    def check(self) -> None:
        """Raise CheckFailed for wrong or failed cells, and MachineLacks or NothingMeasured if no cell has times."""
        counts = self.statuses
        bad = [f"{counts[status]} {status}" for status in ("wrong", "failed") if counts[status]]
        if bad:
            raise CheckFailed(f"cells without times: {', '.join(bad)}; see the reasons above")
        if not any(counts[status] for status in TIMED):
            if self.lacking:
                raise MachineLacks(self.lacking)
            raise NothingMeasured("no cell could be measured; see the reasons above")


def run(
    plan: Plan,
    watcher: Watcher,
    *,
    out: str | os.PathLike | None = None,
    resume: Path | None = None,
    fetch: bool = True,
    checks: Checks = Checks(),  # noqa: B008 - frozen
    answered: Answered | None = None,
    elsewhere: Elsewhere | None = None,
) -> Finished:
    """Execute a plan in a new folder (`out`, or one in results/runs), or continue the run in the folder `resume`.

    A continued run must have the same plan, which may have more trials now. Its files change only when there is a row
    to add.

    answered    called once, with the workload and the answers of the first cell that is verified as right
    elsewhere   runs the cells on other machines; `answered` is not called then

    Raises Interrupted after Ctrl-C, and ClusterLost when the scheduler of the workers is lost, with all finished trials
    on disk; InputError for a folder that cannot be used, a run that another process is writing, or a bad query file;
    MachineLacks, before anything starts, when the machine can run no implementation of the plan, or simulates GPUs.
    """
    if elsewhere is None:
        _require(plan)
    if device.simulating() and any(map(on_gpu, plan.cells)):
        raise MachineLacks("NUMBA_ENABLE_CUDASIM is set: the simulator has no times (unset it, or give --simulate)")
    if (target := resume or out) is not None and provenance.is_recorded(Path(target)):
        remedy = "--out elsewhere, then 'grailbench record'"
        raise InputError("a run is not measured among the recorded ones", path=target, remedy=remedy)
    folder = resume if resume is not None else new_run(plan.name, plan.digest, out)
    with only_writer(folder):
        if resume is None:  # again, as another process may have written one since
            results.require_no_run(folder, remedy=AGAIN)
        return _run(plan, watcher, folder, fetch, checks, answered, elsewhere)


def _run(
    plan: Plan, watcher: Watcher, folder: Path, fetch: bool, checks: Checks, answered: Answered | None,
    elsewhere: Elsewhere | None,
) -> Finished:  # fmt: skip
    known = (folder / results.PLAN).exists()
    same = require_same(folder, plan) if known else False
    prior, damage = repair(folder)
    if damage.torn or damage.rows:
        watcher.note(f"{folder / results.ROWS}: the last trial was cut short and is taken again")
    env, record = _prepare_record(folder, plan, same, elsewhere is not None)
    if not known:
        record()
    writer = Writer(folder)
    others = [*env.get("workers", {}).values(), *(env.get("earlier", []) if elsewhere is not None else [])]
    progress = Progress(writer, env, prior, watcher, record, others)
    try:
        with prompt_interrupts(partial(_save_and_print, writer, folder)):
            provided = provide(plan, fetch, watcher.note)
            watcher.began(folder, provided, sum(steps(cell) for cell in provided.cells))
            if elsewhere is not None:
                elsewhere(progress, provided, checks)
            else:
                if load := machine.busy(env):
                    watcher.note(f"{load}: other work disturbs the times")
                _run_graphs(Session(progress, checks, answered), provided)
    except KeyboardInterrupt:
        raise Interrupted(interrupted(folder)) from None
    except ClusterLost as error:
        raise ClusterLost(f"{error}; finished trials are kept in {folder} ({_go_on(folder)})") from None
    finally:
        gc.unfreeze()
        writer.close()
    if known and not progress.new:
        watcher.note("already complete: this run has every trial of its plan")
    if progress.outdated:
        watcher.note(f"{progress.outdated} cells had rows of other code or another machine and were measured again")
    return Finished(folder, provided, results.current(progress.rows), progress.lacking, env)


def verify(
    plan: Plan,
    watcher: Watcher,
    *,
    fetch: bool = True,
    checks: Checks = Checks(),  # noqa: B008 - frozen
    simulate: bool = False,
    answered: Answered | None = None,
) -> Finished:
    """Verify every cell of a plan without timing. Makes one row for each cell and writes nothing.

    `simulate` runs GPU kernels in numba's simulator; `answered` is as in `run`. Raises the errors that `run` raises.
    """
    if simulate:
        device.simulate()
    _require(plan)
    env = machine.environment()
    env["fingerprint"] = machine.fingerprint(env)
    if simulate and (warning := _slow_simulation(plan)):
        watcher.note(warning)
    provided = provide(plan, fetch, watcher.note)
    progress = Progress(None, env, [], watcher)
    watcher.began(None, provided, len(provided.cells))
    _run_graphs(Session(progress, checks, answered), provided)
    return Finished(None, provided, progress.new, progress.lacking, env)


def _require(plan: Plan) -> None:
    """Raise MachineLacks when the machine can run no implementation of the plan."""
    lacking: MachineLacks | None = None
    for found in dict.fromkeys(implementation_of(cell) for cell in plan.cells):
        try:
            found.require()
        except MachineLacks as error:
            lacking = lacking or error
        else:
            return
    if lacking is not None:
        found = results.recorded_with({cell.impl for cell in plan.cells}, {cell.dataset for cell in plan.cells})
        raise MachineLacks(f"{lacking}; a recorded run has it: grailbench report {found}") if found else lacking


def _run_graphs(session: Session, plan: Plan) -> None:
    """Run the cells of each graph in turn, after a note on cells that have more threads than there are cores."""
    if warning := crowded(plan.cells, session.progress.env["cores"], ""):
        session.watcher.note(warning)
    for solved, name, cells in plan.groups():
        session.run(problem(solved), name, cells)


def _slow_simulation(plan: Plan) -> str | None:
    """A warning about a plan for which the simulator needs long, else None."""
    counts = [cell.queries.count for cell in plan.cells if cell.queries.kind != "all" and on_gpu(cell)]
    if max(counts, default=0) <= SIMULATED:
        return None
    return f"the simulator may need an hour for {max(counts):,} queries: --count 1000 is over in a minute"


def interrupted(folder: Path) -> str:
    """The message for the user after an interrupt."""
    return f"interrupted: finished trials are kept in {visible(str(folder))}\n{_go_on(folder)}"


def _go_on(folder: Path) -> str:
    return f"go on with: grailbench run --resume={quoted(results.spoken(folder))}"


def _save_and_print(writer: Writer, folder: Path) -> None:
    writer.sync()
    os.write(2, f"\n{interrupted(folder)}\n".encode())


def _prepare_record(folder: Path, plan: Plan, same: bool, client: bool) -> tuple[dict, Callable[[], None]]:
    """The environment, with those of all earlier sessions, and a function that writes it and the plan.

    The plan is not written if the run has the `same` one. A `client` measures nothing itself: its environment says so
    (`harness.machines`), and gets those of its workers.
    """
    env = machine.environment()
    env |= {"fingerprint": machine.fingerprint(env), "at": results.now()}
    if client:
        env |= {"client": True, "workers": {}}
    elif found := plugins.facts(map(implementation_of, plan.cells)):
        env["implementations"] = found
    path = folder / results.ENVIRONMENT
    if path.exists():
        before = results.read_environment(folder)
        env["earlier"] = before.pop("earlier", [])
        if (known := before.pop("workers", None)) is not None:
            env["workers"] = known
        if not before.get("client"):
            env["earlier"].append(before)
    stored = {
        "format": FORMAT if results.has_sums(folder) else 1,
        "run": folder.name,
        "name": plan.name,
        "digest": plan.digest,
        "config": plan.config.model_dump(),
        "cells": [cell.stored() for cell in plan.cells],
    }

    def write() -> None:
        results.write_json(path, env)
        if not same:
            results.write_json(folder / results.PLAN, stored, indent=None)

    return env, write
