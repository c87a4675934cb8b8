"""`dask` and `dask-gpu`: the index of `parallel` or `gpu-fused` in worker processes, which answer shards of the batch.

The index is built once, written to a file, and mapped by each worker (`spread`). Pairs go to the workers in
shards, and answers come back as bits.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from grailbench.distributed import connection
from grailbench.distributed.shards import SHARD, Shard
from grailbench.distributed.spread import AHEAD, Spread
from grailbench.errors import MachineLacks, of_system
from grailbench.graph import mapped
from grailbench.graph.csr import Dag
from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.counters import NAMES, with_traffic
from grailbench.problems.reachability.cpu.grail import Parallel
from grailbench.problems.reachability.gpu.fused.index import Fused
from grailbench.problems.reachability.index import Decision, Implementation, Index, OnePair, Params, Timer, register
from grailbench.problems.reachability.stored import caller_for, from_arrays, to_arrays
from grailbench.util.cores import usable_cores
from grailbench.util.temporary import Folder
from grailbench.util.words import count

LEAST = 1 << 13  #: pairs for which a worker is worth asking
#: clients by process and by the number of their workers: starting these takes seconds. Those of a process that forked
#: this one are its own, and are kept: to drop one would close what another process uses
_clients: dict[tuple[int, int], Any] = {}
_ending: dict[int, ExitStack] = {}  # ends the workers that a process started
_starting = threading.Lock()
os.register_at_fork(after_in_child=_starting._at_fork_reinit)


class SpreadIndex(Index):
    """An index that workers hold.

    index   the same one in this process, mapped from the same file; it says what is known without asking pairs
    folder  of the file, if it is temporary
    built   the counts of what built the labels of GRAIL, whose workers count their work; {} if nothing is counted
    """

    def __init__(self, spread: Spread, index: Index | None, folder: Folder | None, built: dict[str, int] | None = None):
        self.spread, self.index, self._built = spread, index, built
        self._size = spread.attribute("index.index_bytes")[0] if index is None else None
        self._end = weakref.finalize(self, _forget, spread, folder)

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Asks the workers, in shards so small that each has some."""
        answers, at = np.empty(sources.shape[0], np.bool_), 0
        for size, bits in self.spread.stream(self._shards(sources, targets)):
            answers[at : at + size] = np.unpackbits(bits, count=size)
            at += size
        return answers

    def _shards(self, sources: np.ndarray, targets: np.ndarray) -> Iterator[Shard]:
        pairs = sources.shape[0]
        turns = max(1, len(self.spread.workers)) * 2 * AHEAD
        size = min(SHARD, max(LEAST, -(-pairs // turns)))
        for first in range(0, pairs, size):
            yield Shard((sources[first : first + size], targets[first : first + size]))

    def check_labels(self, dag: Dag) -> str | None:
        """Compares the labels with every edge: of the file that workers map, or those on the GPU of each."""
        if self.index is not None:
            return self.index.check_labels(dag)
        return next(filter(None, self.spread.attribute("fault")), None)

    def one_pair(self, component: np.ndarray | None) -> OnePair | None:
        """Answers in this process, which has the file mapped: asking a worker takes a thousand times as long."""
        return None if self.index is None else self.index.one_pair(component)

    def decide(self, source: int, target: int) -> Decision | None:
        return None if self.index is None else self.index.decide(source, target)

    def stored(self) -> dict[str, np.ndarray] | None:
        return None if self.index is None else self.index.stored()

    @property
    def index_bytes(self) -> int | None:
        """Bytes of the index in one worker."""
        return self._size if self.index is None else self.index.index_bytes

    def close(self) -> None:
        """Lets the workers forget the index."""
        self._end()

    @property
    def counters(self) -> dict[str, int]:
        """The work of building and that of all workers."""
        if not self._built:
            return {}
        every = [self._built, *self.spread.attribute("index.counters")]
        work = {name: sum(each[name] for each in every) for name in NAMES}
        labels = self.index.labels
        pairs = len(labels.pairs)
        return with_traffic(work, pairs, 4 * (3 * pairs + 1), labels.lanes.nbytes, self.index.rows[2].itemsize)


class IndexOnGpus(SpreadIndex):
    """As `SpreadIndex`, of labels of `gpu-fused`, which each worker made on its GPU."""

    def stored(self) -> dict[str, np.ndarray]:
        """Returns no array: labels and hubs are made again on GPUs."""
        return {}


def _forget(spread: Spread, folder: Folder | None) -> None:
    spread.close()
    if folder is not None:
        folder.close()


class OpenedIndex:
    """What a worker opens: an index of vertices of the condensed graph. `run` calls functions where it lives."""

    def __init__(self, index: Index, dag: Dag, run: Callable[..., Any], check: Callable[[], None]):
        self.index, self._dag, self._run, self._check = index, dag, run, check

    def answers(self, sources: np.ndarray, targets: np.ndarray, ids: bool) -> np.ndarray:
        """Whether each source reaches its target, bool[k]. Raises InputError if the file was changed."""
        self._check()
        return self._run(self.index.query_batch, sources, targets, NoTimer())

    @property
    def fault(self) -> str | None:
        """What is wrong with the labels, by every edge."""
        return self._run(self.index.check_labels, self._dag)


def opened(path: Path, threads: int, device: int | None = None) -> OpenedIndex:
    """Opens the file of `written` for queries on so many threads, and on the GPU of that number if the index needs
    one; its content is checked."""
    content = mapped.content_of(path)
    meta, start = mapped.header(content.buffer, path)
    arrays = mapped.arrays_of(content.buffer, meta, start)
    check = mapped.Check(arrays, meta, content)
    check()
    implementation, params, dag, own = from_arrays(meta, arrays, path)
    run = caller_for(implementation, device)
    index = run(implementation.restored, dag, replace(params, threads=threads), own)
    return OpenedIndex(index, dag, run, check)


def written(path: Path, implementation: type[Implementation], params: Params, dag: Dag, stored: dict) -> None:
    """Writes an index, `stored` as of `Index.stored`, and its condensed graph to a file. No two files are equal, so
    that each is spread by itself.
    Raises MachineLacks if the disk is full."""
    meta, arrays = to_arrays(implementation, params, dag, stored)
    try:
        with open(path, "xb") as stream:
            mapped.write(stream, meta | {"made": secrets.token_hex(8)}, arrays)
    except OSError as error:
        raise of_system(error) from None


def _client(workers: int):
    """A client of the scheduler that the environment names, or of so many workers of this machine."""
    process = os.getpid()
    with _starting:
        client = _clients.get((process, workers))
        if client is None or client.status != "running":
            if process not in _ending:
                _ending[process] = ExitStack()
                atexit.register(_end_workers, process)  # before the interpreter ends its threads
            client = _clients[process, workers] = _ending[process].enter_context(_connected(workers))
        return client


def _end_workers(process: int) -> None:
    """Ends the workers that a process started, if it is this one."""
    if process == os.getpid():
        _ending.pop(process).close()


def _connected(workers: int):
    named = connection.named()
    if named is not None:
        return connection.connected(named)
    if workers > (cores := usable_cores()):
        raise MachineLacks(f"{count(workers, 'worker')} of one core each: this machine has {cores}")
    return connection.started(workers)


@register
class Dask(Implementation):
    """The index of `parallel`, mapped by worker processes that answer shards of the batch.

    The labels are made here, as those of `parallel`, and written to a file with the condensed graph (phase build). Each
    of `threads` workers maps the file and checks it, or is sent it in pieces if it does not see it (phase spread). The
    batch is cut into shards; a worker answers one while the next arrives, and sends the answers back as bits. Workers
    of one core each are started on this machine, before the first cell, unless DASK_SCHEDULER_ADDRESS names a scheduler
    whose workers are taken. A shard of a worker that is lost goes to another.
    """

    name = "dask"
    needs = ("dask",)
    source = "labels as `parallel`; Rocklin 2015 (dask), its workers and actors"
    cost = "as `parallel`, and 8 bytes a query to a worker and 1 bit back"
    counts = Parallel.counts
    axes = Parallel.axes
    process = "shared"

    @classmethod
    def require(cls) -> None:
        connection.require_dask()

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> SpreadIndex:
        """Builds as `parallel` does, and spreads the index."""
        cls.require()

        def write(path: Path) -> dict[str, int]:
            built = Parallel.build(dag, params, timer)
            written(path, Parallel, params, dag, built.stored())
            return built.counters

        spread, path, folder, counts = _spread(params.workers, write, timer)
        return SpreadIndex(spread, opened(path, 1).index, folder, counts)


@register
class DaskGpu(Implementation):
    """The index of `gpu-fused` on GPUs of several worker processes, which answer shards of the batch.

    The condensed graph is written to a file (phase build). Each of `devices` workers maps it, or is sent it, and makes
    the labels on a GPU of its own (phase spread). The batch is cut into shards, as by `dask`. Workers are started on
    this machine, one for each GPU, unless DASK_SCHEDULER_ADDRESS names a scheduler whose workers are taken.
    """

    name = "dask-gpu"
    needs = ("dask", "gpu")
    source = "labels as `gpu-fused`; Rocklin 2015 (dask), its workers and actors"
    cost = "as `gpu-fused` on each worker, and 8 bytes a query to a worker and 1 bit back"
    axes = Fused.axes
    fixed = Fused.fixed
    process = "shared"

    @classmethod
    def require(cls) -> None:
        connection.require_dask()
        if connection.named() is None:
            Fused.require()

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> SpreadIndex:
        """Writes the condensed graph, and has each worker make the labels."""
        cls.require()
        one = replace(params, devices=1)
        spread, _, folder, _ = _spread(params.devices, lambda path: written(path, Fused, one, dag, {}), timer, True)
        return IndexOnGpus(spread, None, folder)


def _spread(workers: int, write: Callable[[Path], Any], timer: Timer, needs_gpu: bool = False) -> tuple:
    """Spreads the file that `write` writes over so many workers, no fewer: the `Spread`, the path, its temporary
    folder, and what `write` returned. Phases start, build and spread."""
    with timer.phase("start", excluded=True):
        client = _client(workers)
    folder = Folder("spread")
    path = folder.path / "spread.index"
    with timer.phase("build"):
        meta = write(path)
    with timer.phase("spread"):
        spread = Spread(client, path, opened, needs_gpu, workers)
        if len(spread.workers) < workers:
            what = " with a GPU of its own each" if needs_gpu else ""
            raise MachineLacks(f"{count(workers, 'worker')}{what} wanted, and the cluster has {len(spread.workers)}")
    return spread, path, folder, meta
