"""Running the cells of a plan on workers of dask: one task a cell, one cell at a time on a worker.

The client gives each worker its next cell (`DaskRunner`), with all that the worker declares as resources of the task,
so that no two timed cells share a core or a GPU, also with other clients of the scheduler. Cells of one graph go to
workers of one machine type where they can, since only their times may be compared. Rows are appended by this process as
they come (`remote` says what comes), each once, whichever way it came.
"""

from __future__ import annotations

import json
import math
import pickle
import queue
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from grailbench.distributed import liveness, remote
from grailbench.distributed.workers import HOW, Facts, allocate, differs, here, of_workers, provide, require_same
from grailbench.errors import ClusterLost, MachineLacks
from grailbench.harness.plan import Cell, Plan
from grailbench.harness.processes import told
from grailbench.harness.rows import cell_of, sampled
from grailbench.harness.tasks import Progress, Task, cell_key, crowded, implementation_of, on_gpu, steps
from grailbench.problems.contract import Checks
from grailbench.util.words import count, listing

if TYPE_CHECKING:
    from distributed import Client, Future

ATTEMPTS = 2  #: how often a cell is tried whose worker is lost
POLL_SECONDS = 0.5  #: how long it is waited for what comes from workers
LOOK_SECONDS = 1.0  #: how often it is looked whether workers came or went
COMING_SECONDS = 3.0  #: how long it is waited for the first worker of a scheduler
ENDING_SECONDS = 10.0  #: how long it is waited for workers to end what they do for a run
REJOIN_SECONDS = 30.0  #: how long it is waited for a worker that fits, once one was lost
_GRAPH = ("kind", "vertices", "edges", "roots", "graph_sha256")  # fields of rows that tell of their graph


@dataclass
class Job:
    """A cell that is to be run, or cells of one group that are to be compared with one another.

    lost  why it was not finished, once for each worker that was lost
    """

    cells: tuple[Cell, ...]
    timing: bool = True
    lost: list[str] = field(default_factory=list)

    @property
    def cell(self) -> Cell:
        return self.cells[0]

    @property
    def group(self) -> tuple[str, str]:
        """The problem and the graph; cells of one group may be compared."""
        return self.cell.problem, self.cell.dataset


@dataclass(eq=False)
class _Worker:
    """A worker: its environment, with `fingerprint` and `key`, None until it is known; the task that it runs; and the
    group of the cells that it ran last, whose graph is open there."""

    slot: Facts
    env: dict | None = None
    task: _WorkerTask | None = None
    group: tuple[str, str] | None = None


@dataclass(eq=False)
class _WorkerTask:
    """A task of dask: a job, or None if only the environment is wanted, and the process id of the worker that runs
    it."""

    name: str
    worker: _Worker
    job: Job | None
    future: Future | None = None
    pid: int | None = None

    @property
    def awaited(self) -> bool:
        """Whether it is waited for: its worker was not lost, and it is not over."""
        return self.worker.task is self


def lacks(cell: Cell, slot: Facts) -> str | None:
    """Why a cell cannot be run in a slot, or None."""
    devices = (cell.devices or 1) if on_gpu(cell) else 0
    if devices > len(slot.gpus):
        return f"it needs {count(devices, 'GPU')}, and no free worker declares so many"
    if cell.memory_limit is not None and cell.memory_limit * 2**30 > slot.resources.get("memory", math.inf):
        return f"no worker declares the {cell.memory_limit:g} GiB of memory that it may take"
    return None


class DaskRunner:
    """The execution of a plan on the workers of a client that can be used: of this version, with cores of their own."""

    def __init__(self, client: Client):
        """Raises MachineLacks if there are no such workers, or one has another version of grailbench."""
        self.client, self.mine = client, here()
        with suppress(OSError):  # time is up
            client.wait_for_workers(1, timeout=COMING_SECONDS)
        found = of_workers(client)
        if not found:
            raise MachineLacks(f"the scheduler at {client.scheduler.address} has no workers (start some: {HOW})")
        require_same(found)
        slots, self.faults = allocate(found)
        if not slots:
            raise MachineLacks("; ".join(self.faults[:2]))
        self.used: dict[str, _Worker] = {slot.worker: _Worker(slot) for slot in slots}
        self.refused = {each.worker for each in found} - self.used.keys()  # addresses of workers that are not used
        self.faults += [f"the worker {address}: {why}" for address, why in self._known().items() if why is not None]
        self.token = uuid4().hex
        self.topic = f"grailbench-{self.token}"
        self.events: queue.Queue = queue.Queue()
        self.tasks: dict[str, _WorkerTask] = {}
        self.pending: list[Job] = []
        self.left: Counter[tuple] = Counter()  # number of jobs of a group that are not over
        self.began: dict[tuple, float] = {}
        self.kinds: dict[tuple, str] = {}  # the fingerprint of the machines that a group is run on
        self.lost_at = self.looked = -math.inf  # when the last worker was lost; when it was last looked

    def _known(self) -> dict[str, str | None]:
        """The addresses of all workers that the scheduler has now, and why each is lost; None for those that are not.
        Raises ClusterLost when it does not answer."""
        try:
            return liveness.heartbeats(self.client).look()
        except OSError as error:
            why = "does not answer" if isinstance(error, TimeoutError) else "went away"
            raise ClusterLost(f"the scheduler at {self.client.scheduler.address} {why}") from None

    def run(self, progress: Progress, plan: Plan, checks: Checks) -> None:
        """Run all cells that need passes, in the order of the plan; `progress` keeps the rows of the run. Raises
        ClusterLost when scheduler or workers went away for good."""
        self.progress, self.watcher, self.checks = progress, progress.watcher, replace(checks, jobs=1)
        self.seen = {_single(row) for row in progress.rows if row["phase"] is None}
        self._refuse(set(), self.faults)
        self.hashes = provide(self.client, plan.by_dataset(), list(self.used), self.watcher.note)  # sha256
        for cell in (cell for *_, cells in plan.groups() for cell in cells):
            if cell.dataset in self.hashes and progress.is_over(cell, self.hashes[cell.dataset]):
                self.watcher.step(cell, "done before", steps(cell))
            else:
                self.pending.append(Job((cell,)))
                self.left[cell.problem, cell.dataset] += 1
        if not self.pending:
            return
        try:
            with self._listening():
                self._prepare(plan)
                while self.pending or any(worker.task for worker in self.used.values()):
                    self._assign()
                    self._hear()
                    self._look()
        finally:
            self._leave()

    # -------------------------------------------------------------- before the first cell

    def _prepare(self, plan: Plan) -> None:
        """Learn the environments of workers."""
        for worker in self.used.values():
            self._submit(worker, None)
        ends = monotonic() + REJOIN_SECONDS
        while any(worker.env is None for worker in self.used.values()) and monotonic() < ends:
            self._hear()
            self._look()
        hosts = dict.fromkeys(worker.slot.host for worker in self.used.values())
        self.watcher.note(f"{count(len(self.used), 'worker')} on {listing(hosts, 4)}")
        most = max((len(worker.slot.cores) for worker in self.used.values()), default=0)
        if most and (warning := crowded(plan.cells, most, "workers of ")):
            self.watcher.note(warning)

    # -------------------------------------------------------------- giving cells to workers

    def _assign(self) -> None:
        """Give each free worker its next cell. A cell that no worker can run, and none will come, is skipped."""
        for worker in self.used.values():
            if worker.task is None and worker.env is not None and (job := self._next(worker)) is not None:
                self.pending.remove(job)
                self._submit(worker, job)
        if not self.pending or self._may_rejoin or any(worker.task for worker in self.used.values()):
            return
        if not self.used:
            raise ClusterLost("every worker went away")
        for job in list(self.pending):
            reasons = [reason for worker in self.used.values() if (reason := lacks(job.cell, worker.slot))]
            if len(reasons) == len(self.used):
                self.pending.remove(job)
                self.progress.lacking = self.progress.lacking or reasons[0]
                self._end(job, "skipped", reasons[0], next(iter(self.used.values())))

    @property
    def _may_rejoin(self) -> bool:
        """Whether a worker was lost so shortly that another may come for it."""
        return monotonic() - self.lost_at < REJOIN_SECONDS

    def _next(self, worker: _Worker) -> Job | None:
        """The next cell for a worker: of the graph that is open there, else of the first that its machine may run."""
        for wanted in (worker.group, None):
            for job in self.pending:
                if wanted in (None, job.group) and lacks(job.cell, worker.slot) is None and self._may(job, worker):
                    return job
        return None

    def _may(self, job: Job, worker: _Worker) -> bool:
        """Whether a cell may go to this type of machine: that on which its graph was begun, else one that can run most
        cells of the graph. Another takes it where no such worker can run it."""
        mine, chosen = worker.env["fingerprint"], self.kinds.get(job.group)
        if chosen is not None:
            able = any(each.env is not None and each.env["fingerprint"] == chosen and not lacks(job.cell, each.slot)
                       for each in self.used.values())  # fmt: skip
            return mine == chosen or not (able or self._may_rejoin)
        cells = [other.cell for other in self.pending if other.group == job.group]
        most = {
            each.env["fingerprint"]: sum(lacks(cell, each.slot) is None for cell in cells)
            for each in self.used.values() if each.env is not None
        }  # fmt: skip
        if most[mine] == max(most.values()):
            self.kinds[job.group] = mine
            return True
        return False

    def _submit(self, worker: _Worker, job: Job | None) -> None:
        """Hand a job to a worker, or ask for its environment."""
        name = f"{self.token}-{len(self.tasks)}"
        worker.task = self.tasks[name] = task = _WorkerTask(name, worker, job)
        if job is not None:
            worker.group = job.group
            self.began.setdefault(job.group, monotonic())
            self.watcher.step(job.cell, f"on {worker.slot.worker}", 0)
        task.future = self.client.submit(
            remote.measure, self.token, worker.slot, self.topic, name,
            None if job is None else pickle.dumps(self._order(job, worker)), key=f"grailbench-{name}",
            workers=[worker.slot.worker], allow_other_workers=False, resources=worker.slot.resources, pure=False,
        )  # fmt: skip
        task.future.add_done_callback(lambda future: self.events.put((name, None, "done", None)))

    def _order(self, job: Job, worker: _Worker) -> tuple:
        """The arguments of `remote._work` after those of its process."""
        known = {cell_of(cell.columns()) for cell in job.cells}
        prior = [row for row in self.progress.rows if cell_of(row) in known] if job.timing else []
        key = cell_key(job.cell, self.hashes.get(job.cell.dataset), worker.env)
        self.progress.outdated += bool(prior) and key not in {row["key"] for row in prior}
        others = [{name: env.get(name) for name in ("code", "fingerprint")} for env in self.progress.others]
        classes = [*map(told, dict.fromkeys(map(implementation_of, job.cells)))]
        digest = self.hashes.get(job.cell.dataset)
        return self.progress.name, digest, job.cells, classes, prior, others, self.checks, job.timing

    # -------------------------------------------------------------- what comes back

    @contextmanager
    def _listening(self) -> Iterator[None]:
        def hear(event: tuple[float, str]) -> None:
            self.events.put(tuple(json.loads(event[1])))

        self.client.subscribe_topic(self.topic, hear)
        try:
            yield
        finally:
            with suppress(Exception):  # the scheduler may be gone
                self.client.unsubscribe_topic(self.topic)

    def _hear(self) -> None:
        """Take what came, and wait for it a little."""
        with suppress(queue.Empty):
            self.take(*self.events.get(timeout=POLL_SECONDS))
            while True:
                self.take(*self.events.get_nowait())

    def take(self, name: str, pid: int | None, kind: str, what: Any) -> None:
        """Take a message of a task, or its end."""
        task = self.tasks[name]
        job = task.job
        if kind == "rows":
            self.keep(what)
        elif kind == "environment":
            self._know(task.worker, what)
            if task.awaited and task.pid not in (None, pid):
                self._lost(task, f"the worker {task.worker.slot.worker} ended and came again", here=True)
            task.pid = pid
        elif kind == "explained":
            self.progress.sink.explain(what)
        elif kind == "note":
            self.watcher.note(what)
        elif kind == "trouble":
            self.watcher.trouble(job.cell, *what)
        elif kind == "lacking":
            self.progress.lacking = self.progress.lacking or what
        elif not task.awaited:
            return
        elif kind == "step" and job.timing:
            self.watcher.step(job.cell, *what)
        elif kind == "failed":
            task.worker.task = None
            self._end(job, "failed", what, task.worker)
        elif kind == "done":
            self._done(task)

    def keep(self, rows: list[dict]) -> None:
        """Append the rows of a trial, or the one row of a cell without times, unless the run has them."""
        last = rows[-1]
        if last["phase"] is None:
            if _single(last) in self.seen:
                return
            self.seen.add(_single(last))
        elif last["trial"] in self.progress.finished.setdefault(last["key"], set()):
            return
        else:
            self.progress.finished[last["key"]].add(last["trial"])
        if last["graph_sha256"] is not None:
            self.hashes.setdefault(last["dataset"], last["graph_sha256"])
        self.progress.append(rows)

    def _know(self, worker: _Worker, env: dict) -> None:
        """Remember the environment of a worker; it is on disk before the rows that name it."""
        worker.env = env
        known = self.progress.env["workers"]
        facts = {name: value for name, value in env.items() if name != "key"}
        if known.get(env["key"]) != facts:
            if env["key"] not in known:
                self.progress.others.append(env)
            known[env["key"]] = facts
            self.progress.environment_changed()

    def _done(self, task: _WorkerTask) -> None:
        """A task ended: it has its result, or its worker or its process was lost."""
        future, who = task.future, f"the worker {task.worker.slot.worker}"
        if future.status == "finished":
            try:
                messages = future.result(timeout=REJOIN_SECONDS)
            except Exception as error:  # the worker was lost with its result
                return self._lost(task, f"{who} was lost: {error}")
            for kind, what in messages:  # events may have been lost on their way
                if kind in ("rows", "environment", "lacking", "failed"):
                    self.take(task.name, task.pid, kind, what)
            if task.awaited:
                task.worker.task = None
                if task.job is not None:
                    self._over(task.job)
        elif future.status == "error":
            self._lost(task, f"{who}: {future.exception(timeout=REJOIN_SECONDS)}", here=True)
        else:  # cancelled: by a scheduler that went away, or one that gave the worker up
            self._known()  # or raise ClusterLost
            self._lost(task, f"{who} was lost")
        return None

    def _look(self) -> None:
        """See which workers came and went."""
        if monotonic() - self.looked < LOOK_SECONDS:
            return
        self.looked, known = monotonic(), self._known()
        now = {address for address, why in known.items() if why is None}
        for address in self.used.keys() - now:
            worker, why = self.used.pop(address), known.get(address)
            self.lost_at = monotonic()
            reason = f"the worker {address} on {worker.slot.host} was lost{f': {why}' if why else ''}"
            if worker.task is not None:
                self._lost(worker.task, reason)
            elif why:
                self.watcher.note(reason)
            if why:  # if it is one that this process started, another takes its place
                liveness.kill_child(address)
        if fresh := now - self.used.keys() - self.refused:
            for slot in self._slots(fresh):
                self.watcher.note(f"a worker came: {slot.worker} on {slot.host}")
                self.used[slot.worker] = _Worker(slot)
                provide(self.client, self.hashes, [slot.worker], self.watcher.note)
                self._submit(self.used[slot.worker], None)

    def _slots(self, fresh: set[str]) -> list[Facts]:
        """Slots for workers that came during the run; those that get none are refused."""
        try:
            found = of_workers(self.client, fresh)
        except (MachineLacks, OSError) as error:
            self._refuse(fresh, [str(error)])
            return []
        unlike = {each.worker: other for each in found if (other := differs(each, self.mine))}
        slots, faults = allocate([each for each in found if each.worker not in unlike],
                                 [worker.slot for worker in self.used.values()])  # fmt: skip
        faults += [f"the worker {address} has another grailbench: {other}" for address, other in unlike.items()]
        self._refuse(fresh - {slot.worker for slot in slots}, faults)
        return slots

    def _refuse(self, workers: set[str], faults: list[str]) -> None:
        """Use some workers no more, and say why."""
        self.refused |= workers
        for fault in faults:
            self.watcher.note(f"not used: {fault}")

    def _lost(self, task: _WorkerTask, reason: str, here: bool = False) -> None:
        """A worker ended while it was at a cell, which is tried once more; or, if it is still `here`, its process."""
        worker, job, worker.task = task.worker, task.job, None
        if task.future is not None:
            task.future.cancel()
        if not here:
            self.lost_at = monotonic()
        if worker.env is None and here:  # it could not even begin
            self.used.pop(worker.slot.worker, None)
            self._refuse({worker.slot.worker}, [reason])
        if job is None:
            return
        job.lost.append(reason)
        if len(job.lost) < ATTEMPTS:
            self.watcher.note(f"  TRIED AGAIN: {job.cell.dataset} {job.cell.label()}: {reason}")
            self.pending.insert(0, job)
        else:
            self._end(job, "failed", f"tried {ATTEMPTS} times: {'; then '.join(job.lost)}", worker)

    def _end(self, job: Job, status: str, reason: str, worker: _Worker) -> None:
        """Give up a cell, with one row that says why."""
        if job.timing:
            env, graph = worker.env or self.progress.env, job.cell.dataset
            task = Task(job.cell, cell_key(job.cell, self.hashes.get(graph), env))
            like = next((row for row in self.progress.rows if row["dataset"] == graph and row["graph_sha256"]), {})
            row = task.new_row(self.progress.name, None) | {name: like.get(name) for name in _GRAPH}
            row |= {"graph_sha256": self.hashes.get(graph), "status": status, "reason": reason}
            self.keep([row | ({"worker": env["key"]} if "key" in env else {})])
            self.watcher.trouble(job.cell, status, reason)
        self._over(job)

    def _over(self, job: Job) -> None:
        """A job is over. After the last one of a graph, cells whose answers differ are compared, if they were checked
        in part only."""
        self.left[job.group] -= 1
        if self.left[job.group]:
            return
        self.watcher.note(f"{job.cell.dataset}: done in {monotonic() - self.began.get(job.group, monotonic()):.1f} s")
        if job.timing:
            for cells in self._differing(job.group):
                self.left[job.group] += 1
                self.pending.append(Job(cells, timing=False))

    def _differing(self, group: tuple[str, str]) -> Iterator[tuple[Cell, ...]]:
        """The cells of a query set, of which a sample was checked, whose answers are not all the same."""
        jobs = [task.job for task in self.tasks.values() if task.job is not None and task.job.timing]
        cells = {cell_of(job.cell.columns()): job.cell for job in jobs if job.group == group}
        found: dict[str, dict[tuple, str]] = {}
        for row in self.progress.new:
            if cell_of(row) in cells and row["checksum"] and row["status"] == "ok" and sampled(row["verified"]):
                found.setdefault(row["query_set"], {})[cell_of(row)] = row["checksum"]
        for sums in found.values():
            if len(set(sums.values())) > 1:
                yield tuple(cells[key] for key in sums)

    def _leave(self) -> None:
        """Have workers end what they do for this run. They see to it themselves if this cannot reach them."""
        liveness.resume_children()
        for worker in self.used.values():
            with suppress(Exception):  # it may be at nothing
                worker.task.future.cancel()
        with suppress(Exception):
            here = [address for address, why in self._known().items() if why is None and address in self.used]
            liveness.run(self.client, remote.end, self.token, workers=here, on_error="return", seconds=ENDING_SECONDS)


def _single(row: dict) -> tuple:
    """What tells a row without a phase from others."""
    return row["key"], row["status"], row["reason"], row["at"]


def on_workers(client: Client) -> Callable[[Progress, Plan, Checks], None]:
    """Returns what runs the cells of a plan on the workers of a client (`harness.runner.run`).

    Raises MachineLacks if no worker can be used, or one has another version of grailbench.
    """
    return DaskRunner(client).run
