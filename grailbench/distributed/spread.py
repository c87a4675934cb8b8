"""An index file on the workers of a cluster, and shards of pairs that they answer, in order and in bounded memory.

Pairs go straight from this process to a worker as the bytes of their arrays, and come back as bits: neither passes the
scheduler, which only places what holds the index (`IndexHolder`) on each worker and knows which workers live.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import secrets
import shutil
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grailbench.distributed import liveness
from grailbench.distributed.shards import Shard, columns_of, shard_error
from grailbench.distributed.workers import Facts, of_workers, require_same
from grailbench.errors import ClusterLost, GrailbenchError, InputError, MachineLacks, of_system
from grailbench.graph import mapped
from grailbench.graph.arguments import shown
from grailbench.util.faults import freeing
from grailbench.util.words import count

if TYPE_CHECKING:
    from distributed import Client

AHEAD = 2  #: shards that a worker has at once: one that it answers, the others arrive meanwhile
PIECE = 16 << 20  #: bytes of an index that are sent at once
SENDING = 4  #: workers that an index is sent to at once
PATIENCE_SECONDS = 300.0  #: the longest time that a worker with other work may take to take the index
JOIN_SECONDS = 60.0  #: how long a stream waits for a worker that came later and has other work
GRACE_SECONDS = 10.0  #: how long a stream without any worker waits for one
LOOK_SECONDS = liveness.LOOK_SECONDS  #: how often it is seen which workers live
#: facts of workers that were found to have this grailbench, by client and address
_known: weakref.WeakKeyDictionary[Client, dict[str, Facts]] = weakref.WeakKeyDictionary()
_log = logging.getLogger(__name__)


# ------------------------------------------------------------------ on a worker

_open: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # what is mapped here, by identity, opener, GPU


#: opens a file, for queries on so many threads, on the GPU of that number if the index needs one. What it returns has
#: `answers(sources, targets, ids)`: whether each source reaches its target, bool[k], for ids of the user or for
#: vertices of the condensed graph; raises InputError if one is no vertex
Opener = Callable[[Path, int, int | None], Any]


class IndexHolder:
    """An actor: the index file of one identity in one worker process.

    A worker that sees the file under the path of the client maps it there. Any other is sent the file in pieces, once,
    and keeps it in its local folder.
    """

    def __init__(self, identity: str):
        from distributed import get_worker

        worker = get_worker()
        self._identity, self._threads = identity, worker.state.nthreads
        self._copy = Path(worker.local_directory) / f"grailbench-{identity}.index"
        self._partial = self._copy.with_name(f".{self._copy.name}.{secrets.token_hex(4)}.tmp")
        self._path: Path | None = None
        self._index: Any = None

    def do(self, method: str, *arguments: Any) -> tuple[bool, Any]:
        """Calls one of the methods below: whether it went well, and the result or the error. So an error that is not
        given like this is one of dask, and means that the worker is lost."""
        try:
            return True, getattr(self, method)(*arguments)
        except Exception as error:
            return False, error

    def find(self, path: str) -> bool:
        """Whether the file is here: under that path, or as a copy that was sent before."""
        for each in (Path(path), self._copy):
            try:
                if mapped.identity(each) == self._identity:
                    self._path = each
                    return True
            except InputError:
                continue
        return False

    def put(self, at: int, piece: np.ndarray, size: int) -> None:
        """Writes uint8[k] at a place of the copy; it is whole with its last piece. Raises InputError if it then is
        another file, and MachineLacks if the disk is full."""
        try:
            with open(self._partial, "r+b" if at else "w+b") as stream:
                if at == 0 and shutil.disk_usage(self._copy.parent).free < size:
                    raise MachineLacks(f"{self._copy.parent}: the disk has no room for an index of {size:,} bytes")
                stream.seek(at)
                stream.write(memoryview(piece))
            if at + piece.nbytes < size:
                return
            if mapped.identity(self._partial) != self._identity:
                raise InputError("what arrived is another index than was sent", path=self._copy)
            os.replace(self._partial, self._copy)
            self._path = self._copy
        except BaseException as error:
            self._partial.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise of_system(error) from None
            raise

    def open(self, opener: Opener, device: int | None) -> None:
        """Maps the file and checks its content, unless this process has it open already."""
        key = (self._identity, opener, device)
        self._index = _open.get(key)
        if self._index is None:
            try:
                self._index = _open[key] = freeing(opener, self._path, self._threads, device)
            except InputError:
                self._copy.unlink(missing_ok=True)  # to be sent again
                raise

    def attribute(self, what: str) -> Any:
        """An attribute of the index, 'fault', or of what is in it, 'index.counters'."""
        return attrgetter(what)(self._index)

    def answer(self, identity: str, columns: tuple | None, make: Callable | None, ids: bool) -> tuple[int, np.ndarray]:
        """The number of pairs and their answers as bits (`numpy.packbits`), of two columns or of what `make()` returns:
        two columns, or an array of shape [k, 2]. Raises InputError."""
        if identity != self._identity or self._index is None:
            what = f"this worker holds index {self._identity[:12]}, and was asked of {identity[:12]}"
            raise InputError(what, remedy="load the index again for this cluster")
        try:
            sources, targets = columns_of(make() if columns is None else columns)
        except OSError as error:
            raise of_system(error) from None
        found = self._index.answers(sources, targets, ids)
        return int(found.size), np.packbits(found)


# ------------------------------------------------------------------ here


class WorkerLost(Exception):
    """A worker did not answer; its shards go to others."""


@dataclass(eq=False)
class _Worker:
    """One worker that holds the index.

    held   the future of its actor
    gpu    the GPU that is its own, as in `Facts.gpus`; None for an index that needs none
    """

    facts: Facts
    actor: Any
    gpu: str | None = None


class Spread:
    """An index file that the workers of a client hold.

    path    the file, which stays as it is
    opener  opens it on a worker; a function of a module
    needs_gpu
            whether workers with a GPU of their own hold it, in place of all
    most    workers that hold it at most; None for all

    Raises InputError for a faulty file, MachineLacks if a worker has another grailbench, lacks what the index needs, or
    if there is none, and ClusterLost.
    """

    def __init__(self, client: Client, path: Path, opener: Opener, needs_gpu: bool = False, most: int | None = None):
        if not hasattr(client, "scheduler_info"):
            raise InputError(
                f"client {shown(client)}: a client of dask is expected", remedy="distributed.Client('tcp://HOST:8786')"
            )
        if client.asynchronous:
            raise InputError("the client of dask is asynchronous", remedy="make it by Client(...) outside of a loop")
        self._client, self._path, self._opener = client, Path(path).resolve(), opener
        self._needs_gpu, self._most = needs_gpu, most
        self.identity = mapped.identity(path)
        self._workers: dict[str, _Worker] = {}
        self._left_out: dict[str, float] = {}  # address -> when it may be tried again
        self._take(self._same(None), PATIENCE_SECONDS)
        if not self._workers:
            what = "with a GPU, which the index needs" if needs_gpu else "to hold the index"
            raise ClusterLost(f"the cluster has no worker {what}")

    @property
    def workers(self) -> list[Facts]:
        """The workers that hold the index."""
        return [each.facts for each in self._workers.values()]

    def close(self) -> None:
        """Lets the workers forget the index."""
        self._workers.clear()

    # ------------------------------------------------------------------ the index on workers

    def _same(self, addresses: list[str] | None) -> list[Facts]:
        """The facts of workers, of all by default. Raises MachineLacks if one has another grailbench; each is asked
        once."""
        known = _known.setdefault(self._client, {})
        live = self._scheduler(self._addresses)
        wanted = [each for each in live if addresses is None or each in addresses]
        if unknown := [each for each in wanted if each not in known]:
            found = self._scheduler(lambda: of_workers(self._client, unknown))
            require_same(found)
            known.update({each.worker: each for each in found})
        found = (known[each] for each in wanted if each in known)  # one that was lost since is not
        return sorted(found, key=lambda each: (each.host, each.machine, each.worker))

    def _take(self, found: Iterable[Facts], patience: float) -> None:
        """Has workers hold the index: each, or those that find a GPU of their machine which no other has. Waits for so
        many seconds for one that has other work."""
        taken = {(each.facts.machine, each.gpu) for each in self._workers.values()}
        chosen: list[tuple[Facts, str | None]] = []
        for facts in found:
            free = [gpu for gpu in facts.gpus if (facts.machine, gpu) not in taken]
            if self._needs_gpu and not free:
                self._left_out[facts.worker] = math.inf
            elif self._most is None or len(self._workers) + len(chosen) < self._most:
                chosen.append((facts, free[0] if self._needs_gpu else None))
                taken.add((facts.machine, chosen[-1][1]))
        actors = {
            facts.worker: self._client.submit(
                IndexHolder, self.identity, actor=True, workers=[facts.worker], allow_other_workers=False, pure=False,
                retries=0,
            )
            for facts, _ in chosen
        }  # fmt: skip
        self._wait(actors, patience)
        few = asyncio.Semaphore(SENDING)
        workers = [_Worker(facts, actors[facts.worker], gpu) for facts, gpu in chosen]
        opening = [(each, liveness.start(self._client, self._open(each, few))) for each in workers]
        try:
            for worker, opened in opening:
                self._result(worker, opened)
        except WorkerLost as error:
            raise _taking_lost(error) from None
        finally:
            for _, opened in opening:
                opened.cancel()

    def _wait(self, actors: Mapping[str, Any], patience: float) -> None:
        """Waits until each worker, by its address, has its actor. Raises ClusterLost if one is lost before, or late."""
        late = time.monotonic() + patience

        def come(address: str, actor) -> bool:
            try:
                actor.result(timeout=LOOK_SECONDS)
            except TimeoutError:
                return False
            except RuntimeError as error:  # that the worker of an actor was lost
                if self._client.status != "running":
                    raise
                raise _taking_lost(f"{address}: {error}") from None
            return True

        for address, actor in actors.items():
            while not self._scheduler(partial(come, address, actor)):
                if address not in self._scheduler(self._addresses):
                    raise _taking_lost(address)
                if time.monotonic() > late:
                    waited = f"it did not take the index in {patience:g} s"
                    raise ClusterLost(f"worker {address} has other work: {waited}")

    async def _open(self, worker: _Worker, few: asyncio.Semaphore) -> None:
        """Has a worker find the file or takes it there, and map it."""
        if not await self._call(worker, "find", str(self._path)):
            async with few:
                await self._send(worker)
        device = None if worker.gpu is None else worker.facts.gpus.index(worker.gpu)
        await self._call(worker, "open", self._opener, device)
        self._workers[worker.facts.worker] = worker

    async def _send(self, worker: _Worker) -> None:
        content = np.frombuffer(mapped.content_of(self._path).buffer, np.uint8)
        for at in range(0, content.size, PIECE):
            piece = content[at : at + PIECE]
            await self._call(worker, "put", at, piece, int(content.size))

    # ------------------------------------------------------------------ shards

    def stream(self, shards: Iterable[Shard]) -> Iterator[tuple[int, np.ndarray]]:
        """Gives the number of pairs and the answers (uint8, as of `numpy.packbits`) of each shard, in order.

        At most `AHEAD` shards are at a worker, and twice as many of each worker are in memory here. The shards of a
        worker that is lost go to others. Raises InputError for pairs that are wrong, ClusterLost if the
        scheduler or all workers are gone.
        """
        return _Stream(self, iter(shards)).run()

    def attribute(self, what: str) -> list[Any]:
        """An attribute of the opened index of each worker."""
        started = [(each, self.started(each, "attribute", what)) for each in self._workers.values()]
        return [self._result(*each) for each in started]

    def started(self, worker: _Worker, method: str, *arguments) -> Future:
        """Starts a call of a method of what a worker holds."""
        return liveness.start(self._client, self._call(worker, method, *arguments))

    def _result(self, worker: _Worker, future: Future) -> Any:
        """What a worker answers. Raises WorkerLost also if it is stopped."""
        while not wait([future], LOOK_SECONDS).done:
            if worker.facts.worker not in self._scheduler(self._addresses):
                future.cancel()
                raise WorkerLost(f"worker {worker.facts.worker} was lost")
        return future.result()

    async def _call(self, worker: _Worker, method: str, *arguments) -> Any:
        """Calls a method of what a worker holds, not by the scheduler. Raises `WorkerLost`, and what the method
        raises."""
        from distributed.protocol import to_serialize

        try:
            reply = await self._client.rpc(worker.facts.worker).actor_execute(
                function="do", actor=worker.actor.key, args=[to_serialize(each) for each in (method, *arguments)],
                kwargs={},
            )  # fmt: skip
            if reply["status"] != "OK":
                raise reply["exception"]
        except Exception as error:  # also KeyError of one that was started since, RuntimeError of one that ends
            raise WorkerLost(f"worker {worker.facts.worker}: {type(error).__name__}: {error}") from None
        done, result = reply["result"]
        if done:
            return result
        raise result

    # ------------------------------------------------------------------ who lives

    def _scheduler(self, work: Callable[[], Any]) -> Any:
        """What the scheduler answers. Raises ClusterLost if it is gone, or does not answer."""
        what = f"the scheduler at {getattr(self._client.scheduler, 'address', None) or 'its address'}"
        gone = f"{what} is gone, and with it the answers that were not given yet"
        if self._client.status == "closed":
            raise ClusterLost("the client of dask is closed")
        if self._client.status != "running":
            raise ClusterLost(gone)
        try:
            return work()
        except GrailbenchError:
            raise
        except (OSError, asyncio.CancelledError, RuntimeError) as error:
            if isinstance(error, TimeoutError) and self._client.status == "running":
                raise ClusterLost(f"{what} does not answer, and the answers that were not given yet are lost") from None
            if self._client.status != "running" or isinstance(error, OSError):
                raise ClusterLost(gone) from None
            raise

    def _addresses(self) -> list[str]:
        """The workers that the scheduler knows and that are not lost. Raises OSError if it is gone."""
        return [address for address, why in liveness.heartbeats(self._client).look().items() if why is None]

    def living(self) -> list[_Worker]:
        """The workers that hold the index and live. Those that came since hold it from now on."""
        known = self._scheduler(self._addresses)
        for address in [each for each in self._workers if each not in known]:
            del self._workers[address]
        if self._most is None or len(self._workers) < self._most:
            now = time.monotonic()
            self._join([each for each in known if each not in self._workers and now >= self._left_out.get(each, 0.0)])
        return list(self._workers.values())

    def _join(self, addresses: list[str]) -> None:
        """Has workers that came later hold the index; one that cannot is left out, with a warning."""
        for address in addresses:
            try:
                self._take(self._same([address]), JOIN_SECONDS)
            except (GrailbenchError, OSError) as error:
                if self._client.status != "running":
                    raise
                self._left_out[address] = math.inf
                _log.warning("a worker that came later is left out: %s", error)

    def lose(self, worker: _Worker) -> None:
        """Takes a worker out that did not answer; if the scheduler still knows it after a while, it is tried again."""
        if self._workers.pop(worker.facts.worker, None) is not None:
            self._left_out[worker.facts.worker] = time.monotonic() + GRACE_SECONDS


def _taking_lost(why: object) -> ClusterLost:
    return ClusterLost(f"a worker was lost while it took the index ({why})")


class _Stream:
    """One run through the shards."""

    def __init__(self, spread: Spread, source: Iterator[Shard]):
        self._spread, self._source = spread, source
        self._workers = spread.living()
        self._shards: dict[int, Shard] = {}  # sent and not answered
        self._pending: dict[Future, tuple[int, _Worker]] = {}
        self._again: deque[int] = deque()
        self._done: dict[int, tuple[int, np.ndarray]] = {}  # answered, and not given out
        self._taken = self._given = 0
        self._ended = False
        self._flying: Counter[_Worker] = Counter()  # shards that are at each worker
        self._looked = self._manned = time.monotonic()

    def run(self) -> Iterator[tuple[int, np.ndarray]]:
        try:
            while True:
                self._fill()
                while self._given in self._done:
                    found = self._done.pop(self._given)
                    self._given += 1
                    yield found
                    self._fill()
                if self._ended and self._given == self._taken:
                    return
                self._await()
        finally:
            for future in self._pending:
                future.cancel()

    def _fill(self) -> None:
        """Gives shards to the workers that have the fewest, as long as there is room and there are some."""
        while self._workers:
            worker = min(self._workers, key=self._flying.__getitem__)
            if self._flying[worker] >= AHEAD or (number := self._next()) is None:
                return
            shard = self._shards[number]
            arguments = self._spread.identity, shard.columns, shard.make, shard.ids
            self._pending[self._spread.started(worker, "answer", *arguments)] = number, worker
            self._flying[worker] += 1

    def _next(self) -> int | None:
        """The next shard to be asked: one that was lost, or else one of the source."""
        if self._again:
            return self._again.popleft()
        if self._ended or self._taken - self._given >= 2 * AHEAD * len(self._workers):
            return None
        shard = next(self._source, None)
        if shard is None:
            self._ended = True
            return None
        self._shards[self._taken] = shard
        self._taken += 1
        return self._taken - 1

    def _await(self) -> None:
        """Waits until a shard is answered or lost."""
        if self._pending:
            finished, _ = wait(self._pending, LOOK_SECONDS, FIRST_COMPLETED)
            for each in finished:
                self._answered(each)
        else:
            time.sleep(LOOK_SECONDS / 10)
        if time.monotonic() - self._looked > LOOK_SECONDS or not self._workers:
            self._look()

    def _answered(self, future: Future) -> None:
        number, worker = self._pending.pop(future)
        self._flying[worker] -= 1
        error = WorkerLost("its connection was closed") if future.cancelled() else future.exception()
        if isinstance(error, WorkerLost):
            self._spread.lose(worker)
            self._workers = [each for each in self._workers if each is not worker]
            self._again.append(number)
        elif isinstance(error, InputError):
            raise shard_error(number, error)
        elif error is not None:
            raise error
        else:
            del self._shards[number]
            self._done[number] = future.result()

    def _look(self) -> None:
        """Looks which workers live; shards of those that do not go to others."""
        self._workers = self._spread.living()
        now = self._looked = time.monotonic()
        if self._workers:
            self._manned = now
        elif now - self._manned > GRACE_SECONDS:
            raise ClusterLost(
                f"all workers are gone; {count(self._given, 'shard')} were answered before (start some, and ask again)"
            )
        for future, (number, worker) in list(self._pending.items()):
            if worker not in self._workers:
                del self._pending[future]
                future.cancel()
                self._again.append(number)
