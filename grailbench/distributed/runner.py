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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from grailbench.distributed import facts, graphs, liveness, remote
from grailbench.distributed.connection import HOW
from grailbench.distributed.seats import Seat, share_out
from grailbench.errors import ClusterLost, MachineLacks
from grailbench.harness.plan import Cell, Plan
from grailbench.harness.processes import Named
from grailbench.harness.rows import cell_of, sampled
from grailbench.harness.sitting import Sitting
from grailbench.harness.tasks import Task, cell_key, implementation_of, new_row, on_gpu, steps
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
    """A cell that is to be run, or cells that are to be compared with one another.

    lost  why it was not finished, once for each worker that was lost
    """

    problem: str
    graph: str
    cells: tuple[Cell, ...]
    timing: bool = True
    lost: list[str] = field(default_factory=list)

    @property
    def cell(self) -> Cell:
        return self.cells[0]

    @property
    def group(self) -> tuple[str, str]:
        """The problem and the graph; cells of one group may be compared."""
        return self.problem, self.graph


@dataclass(eq=False)
class Chair:
    """A seat that can be used, and what it is at.

    env    the environment there, with `fingerprint` and `key`; None until it is known
    at     its task
    group  of the cells that it ran last: their graph is open there
    """

    seat: Seat
    env: dict | None = None
    at: Errand | None = None
    group: tuple[str, str] | None = None


@dataclass(eq=False)
class Errand:
    """A task of dask.

    job     None if only the environment is asked for
    pid     of the worker that is at it, as it says
    """

    name: str
    chair: Chair
    job: Job | None
    future: Future | None = None
    pid: int | None = None

    @property
    def stands(self) -> bool:
        """Whether it is waited for: its worker was not lost, and it is not over."""
        return self.chair.at is self


def lacks(cell: Cell, seat: Seat) -> str | None:
    """Why a cell cannot be run on a seat, or None."""
    devices = (cell.devices or 1) if on_gpu(cell) else 0
    if devices > len(seat.gpus):
        return f"it needs {count(devices, 'GPU')}, and no free worker declares so many"
    if cell.memory_limit is not None and seat.memory is not None and cell.memory_limit * 2**30 > seat.memory:
        return f"no worker declares the {cell.memory_limit:g} GiB of memory that it may take"
    return None


class Workers:
    """The workers of a client that can be used: of this version, with cores of their own."""

    def __init__(self, client: Client):
        """Raises MachineLacks if there are none, or one has another version of grailbench."""
        self.client, self.mine = client, facts.here()
        with suppress(OSError):  # time is up
            client.wait_for_workers(1, timeout=COMING_SECONDS)
        found = facts.of_workers(client)
        if not found:
            raise MachineLacks(f"the scheduler at {client.scheduler.address} has no workers (start some: {HOW})")
        facts.require_same(found, self.mine)
        self.seats, self.faults = share_out(found)
        if not self.seats:
            raise MachineLacks("; ".join(self.faults[:2]))
        self.unused = {each.worker for each in found} - {seat.worker for seat in self.seats}
        self.faults += [f"the worker {address}: {why}" for address, why in self.look().items() if why is not None]

    def look(self) -> dict[str, str | None]:
        """The addresses of all workers that the scheduler has now, and why each is lost; None for those that are not.
        Raises ClusterLost when it does not answer."""
        try:
            return liveness.heartbeats(self.client).look()
        except OSError as error:
            why = "does not answer" if isinstance(error, TimeoutError) else "went away"
            raise ClusterLost(f"the scheduler at {self.client.scheduler.address} {why}") from None

    def came(self, workers: set[str], taken: list[Seat]) -> tuple[list[Seat], list[str]]:
        """Seats for workers that came during a run, and why some got none."""
        try:
            found = facts.of_workers(self.client, workers)
        except (MachineLacks, OSError) as error:
            return [], [str(error)]
        same = [each for each in found if not facts.differs(each, self.mine)]
        seats, faults = share_out(same, taken)
        faults += [f"the worker {each.worker} has another grailbench: {facts.differs(each, self.mine)}"
                   for each in found if each not in same]  # fmt: skip
        return seats, faults


class DaskRunner:
    """The execution of a plan on workers. `sitting` keeps the rows of the run."""

    def __init__(self, workers: Workers, sitting: Sitting):
        self.workers, self.client, self.sitting, self.watcher = workers, workers.client, sitting, sitting.watcher
        self.token = uuid4().hex
        self.topic = f"grailbench-{self.token}"
        self.events: queue.Queue = queue.Queue()
        self.chairs: dict[str, Chair] = {seat.worker: Chair(seat) for seat in workers.seats}
        self.refused: set[str] = set()  # addresses of workers that are not used
        self.errands: dict[str, Errand] = {}
        self.pending: list[Job] = []
        self.left: dict[tuple, int] = {}  # number of jobs of a group that are not over
        self.began: dict[tuple, float] = {}
        self.kinds: dict[tuple, str] = {}  # the fingerprint of the machines that a group is run on
        self.hashes: dict[str, str] = {}  # sha256 of graphs
        self.seen = {_single(row) for row in self.rows if row["phase"] is None}
        self.lost_at = self.looked = -math.inf  # when the last worker was lost; when it was last looked

    @property
    def rows(self) -> list[dict]:
        return self.sitting.prior + self.sitting.new

    def run(self, plan: Plan) -> None:
        """Run all cells that need passes. Raises ClusterLost when scheduler or workers went away for good."""
        self._refuse(self.workers.unused, self.workers.faults)
        self.hashes = graphs.provide(self.client, plan.by_dataset(), list(self.chairs), self.watcher.note)
        for job in self._jobs(plan):
            self.pending.append(job)
            self.left[job.group] = self.left.get(job.group, 0) + 1
        if not self.pending:
            return
        try:
            with self._listening():
                self._prepare(plan)
                while self.pending or any(chair.at for chair in self.chairs.values()):
                    self._assign()
                    self._hear()
                    self._look()
        finally:
            self._leave()

    # -------------------------------------------------------------- before the first cell

    def _prepare(self, plan: Plan) -> None:
        """Learn the environments of workers."""
        for chair in self.chairs.values():
            self._submit(chair, None)
        ends = monotonic() + REJOIN_SECONDS
        while any(chair.env is None for chair in self.chairs.values()) and monotonic() < ends:
            self._hear()
            self._look()
        hosts = dict.fromkeys(chair.seat.host for chair in self.chairs.values())
        self.watcher.note(f"{count(len(self.chairs), 'worker')} on {listing(hosts, 4)}")
        most = max((len(chair.seat.cores) for chair in self.chairs.values()), default=0)
        many = sorted({cell.threads for cell in plan.cells if (cell.threads or 0) > most})
        if many and most:
            threads = " and ".join(f"{number:,}" for number in many)
            self.watcher.note(f"{threads} threads on workers of {count(most, 'core')}: they wait for one another")

    def _jobs(self, plan: Plan) -> Iterator[Job]:
        """The cells that are not complete, in the order of the plan."""
        for problem, graph, cells in plan.groups():
            digest = self.hashes.get(graph)
            for cell in cells:
                if digest is not None and self.sitting.is_over(cell, digest):
                    self.watcher.step(cell, "done before", steps(cell))
                else:
                    yield Job(problem, graph, (cell,))

    # -------------------------------------------------------------- giving cells to workers

    def _assign(self) -> None:
        """Give each free worker its next cell. A cell that no worker can run, and none will come, is skipped."""
        for chair in self.chairs.values():
            if chair.at is None and chair.env is not None and (job := self._next(chair)) is not None:
                self.pending.remove(job)
                self._submit(chair, job)
        if not self.pending or self._hoping or any(chair.at for chair in self.chairs.values()):
            return
        if not self.chairs:
            raise ClusterLost("every worker went away")
        for job in list(self.pending):
            reasons = [reason for chair in self.chairs.values() if (reason := lacks(job.cell, chair.seat))]
            if len(reasons) == len(self.chairs):
                self.pending.remove(job)
                self.sitting.lacking = self.sitting.lacking or reasons[0]
                self._end(job, "skipped", reasons[0], next(iter(self.chairs.values())))

    @property
    def _hoping(self) -> bool:
        """Whether a worker was lost so shortly that another may come for it."""
        return monotonic() - self.lost_at < REJOIN_SECONDS

    def _next(self, chair: Chair) -> Job | None:
        """The next cell for a worker: of the graph that is open there, else of the first that its machine may run."""
        for wanted in (chair.group, None):
            for job in self.pending:
                if wanted in (None, job.group) and lacks(job.cell, chair.seat) is None and self._may(job, chair):
                    return job
        return None

    def _may(self, job: Job, chair: Chair) -> bool:
        """Whether a cell may go to this type of machine: that on which its graph was begun, else one that can run most
        cells of the graph. Another takes it where no such worker can run it."""
        mine, chosen = chair.env["fingerprint"], self.kinds.get(job.group)
        if chosen is not None:
            able = any(each.env is not None and each.env["fingerprint"] == chosen and not lacks(job.cell, each.seat)
                       for each in self.chairs.values())  # fmt: skip
            return mine == chosen or not (able or self._hoping)
        cells = [other.cell for other in self.pending if other.group == job.group]
        most = {
            each.env["fingerprint"]: sum(lacks(cell, each.seat) is None for cell in cells)
            for each in self.chairs.values() if each.env is not None
        }  # fmt: skip
        if most[mine] == max(most.values()):
            self.kinds[job.group] = mine
            return True
        return False

    def _submit(self, chair: Chair, job: Job | None) -> None:
        """Hand a job to a worker, or ask for its environment."""
        name = f"{self.token}-{len(self.errands)}"
        chair.at = self.errands[name] = errand = Errand(name, chair, job)
        if job is not None:
            chair.group = job.group
            self.began.setdefault(job.group, monotonic())
            self.watcher.step(job.cell, f"on {chair.seat.worker}", 0)
        errand.future = self.client.submit(
            remote.measure, self.token, chair.seat, self.topic, name,
            None if job is None else pickle.dumps(self._order(job, chair)), key=f"grailbench-{name}",
            workers=[chair.seat.worker], allow_other_workers=False, resources=dict(chair.seat.claims), pure=False,
        )  # fmt: skip
        errand.future.add_done_callback(lambda future: self.events.put((name, None, "done", None)))

    def _order(self, job: Job, chair: Chair) -> remote.Order:
        known = {cell_of(cell.columns()) for cell in job.cells}
        prior = [row for row in self.rows if cell_of(row) in known] if job.timing else []
        key = cell_key(job.cell, self.hashes.get(job.graph), chair.env)
        self.sitting.outdated += bool(prior) and key not in {row["key"] for row in prior}
        stood = [{name: env.get(name) for name in ("code", "fingerprint")} for env in self.sitting.others]
        classes = dict.fromkeys(Named.of(implementation_of(cell)) for cell in job.cells)
        checks = replace(self.sitting.checks, jobs=1)
        return remote.Order(self.sitting.name, job.problem, job.graph, self.hashes.get(job.graph), job.cells,
                            tuple(classes), tuple(prior), tuple(stood), checks, job.timing)  # fmt: skip

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
        errand = self.errands[name]
        job = errand.job
        if kind == "rows":
            self.keep(what)
        elif kind == "environment":
            self._know(errand.chair, what)
            if errand.stands and errand.pid not in (None, pid):
                self._lost(errand, f"the worker {errand.chair.seat.worker} ended and came again", here=True)
            errand.pid = pid
        elif kind == "explained":
            self.sitting.sink.explain(what)
        elif kind == "note":
            self.watcher.note(what)
        elif kind == "trouble":
            self.watcher.trouble(job.cell, *what)
        elif kind == "lacking":
            self.sitting.lacking = self.sitting.lacking or what
        elif not errand.stands:
            return
        elif kind == "step" and job.timing:
            self.watcher.step(job.cell, *what)
        elif kind == "failed":
            errand.chair.at = None
            self._end(job, "failed", what, errand.chair)
        elif kind == "done":
            self._done(errand)

    def keep(self, rows: list[dict]) -> None:
        """Append the rows of a trial, or the one row of a cell without times, unless the run has them."""
        last = rows[-1]
        if last["phase"] is None:
            if _single(last) in self.seen:
                return
            self.seen.add(_single(last))
        elif last["trial"] in self.sitting.finished.setdefault(last["key"], set()):
            return
        else:
            self.sitting.finished[last["key"]].add(last["trial"])
        if last["graph_sha256"] is not None:
            self.hashes.setdefault(last["dataset"], last["graph_sha256"])
        self.sitting.append(rows)

    def _know(self, chair: Chair, env: dict) -> None:
        """Remember the environment of a worker; it is on disk before the rows that name it."""
        chair.env = env
        known = self.sitting.env["workers"]
        said = {name: value for name, value in env.items() if name != "key"}
        if known.get(env["key"]) != said:
            if env["key"] not in known:
                self.sitting.others.append(env)
            known[env["key"]] = said
            if self.sitting.new:
                self.sitting.record()

    def _done(self, errand: Errand) -> None:
        """A task ended: it has its result, or its worker or its process was lost."""
        future, who = errand.future, f"the worker {errand.chair.seat.worker}"
        if future.status == "finished":
            try:
                messages = future.result(timeout=REJOIN_SECONDS)
            except Exception as error:  # the worker was lost with its result
                return self._lost(errand, f"{who} was lost: {error}")
            for kind, what in messages:  # events may have been lost on their way
                if kind in ("rows", "environment", "lacking", "failed"):
                    self.take(errand.name, errand.pid, kind, what)
            if errand.stands:
                errand.chair.at = None
                if errand.job is not None:
                    self._over(errand.job)
        elif future.status == "error":
            self._lost(errand, f"{who}: {future.exception(timeout=REJOIN_SECONDS)}", here=True)
        else:  # cancelled: by a scheduler that went away, or one that gave the worker up
            self.workers.look()
            self._lost(errand, f"{who} was lost")
        return None

    def _look(self) -> None:
        """See which workers came and went."""
        if monotonic() - self.looked < LOOK_SECONDS:
            return
        self.looked, known = monotonic(), self.workers.look()
        now = {address for address, why in known.items() if why is None}
        for address in self.chairs.keys() - now:
            chair, why = self.chairs.pop(address), known.get(address)
            self.lost_at = monotonic()
            reason = f"the worker {address} on {chair.seat.host} was lost{f': {why}' if why else ''}"
            if chair.at is not None:
                self._lost(chair.at, reason)
            elif why:
                self.watcher.note(reason)
            if why:  # if it is one that this process started, another takes its place
                liveness.kill_child(address)
        if fresh := now - self.chairs.keys() - self.refused:
            seats, faults = self.workers.came(fresh, [chair.seat for chair in self.chairs.values()])
            self._refuse(fresh - {seat.worker for seat in seats}, faults)
            for seat in seats:
                self.watcher.note(f"a worker came: {seat.worker} on {seat.host}")
                self.chairs[seat.worker] = Chair(seat)
                graphs.provide(self.client, self.hashes, [seat.worker], self.watcher.note)
                self._submit(self.chairs[seat.worker], None)

    def _refuse(self, workers: set[str], faults: list[str]) -> None:
        """Use some workers no more, and say why."""
        self.refused |= workers
        for fault in faults:
            self.watcher.note(f"not used: {fault}")

    def _lost(self, errand: Errand, reason: str, here: bool = False) -> None:
        """A worker ended while it was at a cell, which is tried once more; or, if it is still `here`, its process."""
        chair, job, chair.at = errand.chair, errand.job, None
        if errand.future is not None:
            errand.future.cancel()
        if not here:
            self.lost_at = monotonic()
        if chair.env is None and here:  # it could not even begin
            self.chairs.pop(chair.seat.worker, None)
            self._refuse({chair.seat.worker}, [reason])
        if job is None:
            return
        job.lost.append(reason)
        if len(job.lost) < ATTEMPTS:
            self.watcher.note(f"  TRIED AGAIN: {job.graph} {job.cell.label()}: {reason}")
            self.pending.insert(0, job)
        else:
            self._end(job, "failed", f"tried {ATTEMPTS} times: {'; then '.join(job.lost)}", chair)

    def _end(self, job: Job, status: str, reason: str, chair: Chair) -> None:
        """Give up a cell, with one row that says why."""
        if job.timing:
            env = chair.env or self.sitting.env
            task = Task(job.cell, cell_key(job.cell, self.hashes.get(job.graph), env))
            like = next((row for row in self.rows if row["dataset"] == job.graph and row["graph_sha256"]), {})
            row = new_row(task, self.sitting.name, None) | {name: like.get(name) for name in _GRAPH}
            row |= {"graph_sha256": self.hashes.get(job.graph), "status": status, "reason": reason}
            self.keep([row | ({"worker": env["key"]} if "key" in env else {})])
            self.watcher.trouble(job.cell, status, reason)
        self._over(job)

    def _over(self, job: Job) -> None:
        """A job is over. After the last one of a graph, cells whose answers differ are compared, if they were checked
        in part only."""
        self.left[job.group] -= 1
        if self.left[job.group]:
            return
        self.watcher.note(f"{job.graph}: done in {monotonic() - self.began.get(job.group, monotonic()):.1f} s")
        if job.timing:
            for cells in self._differing(job.group):
                self.left[job.group] += 1
                self.pending.append(Job(*job.group, cells, timing=False))

    def _differing(self, group: tuple[str, str]) -> Iterator[tuple[Cell, ...]]:
        """The cells of a query set, of which a sample was checked, whose answers are not all the same."""
        jobs = [errand.job for errand in self.errands.values() if errand.job is not None and errand.job.timing]
        cells = {cell_of(job.cell.columns()): job.cell for job in jobs if job.group == group}
        found: dict[str, dict[tuple, str]] = {}
        for row in self.sitting.new:
            if cell_of(row) in cells and row["checksum"] and row["status"] == "ok" and sampled(row["verified"]):
                found.setdefault(row["query_set"], {})[cell_of(row)] = row["checksum"]
        for sums in found.values():
            if len(set(sums.values())) > 1:
                yield tuple(cells[key] for key in sums)

    def _leave(self) -> None:
        """Have workers end what they do for this run. They see to it themselves if this cannot reach them."""
        liveness.resume_children()
        for chair in self.chairs.values():
            with suppress(Exception):  # it may be at nothing
                chair.at.future.cancel()
        with suppress(Exception):
            here = [address for address, why in self.workers.look().items() if why is None and address in self.chairs]
            liveness.run(self.client, remote.end, self.token, workers=here, on_error="return", seconds=ENDING_SECONDS)


def _single(row: dict) -> tuple:
    """What tells a row without a phase from others."""
    return row["key"], row["status"], row["reason"], row["at"]
