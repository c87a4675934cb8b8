"""Streams of pairs to a real scheduler with two worker processes: in order, bounded, and whole whatever is lost."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import call_apart

import grailbench as gb
from grailbench.api.spread import opened
from grailbench.distributed import connection, liveness, workers
from grailbench.distributed import spread as client_side
from grailbench.graph import mapped

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.processes, pytest.mark.slow]
SHARD = 1_000
PAIRS = 12_345  #: no multiple of 8, nor of a shard


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def graph():
    """A graph with cycles, whose ids begin at 7."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 3_000, (2, 4_000)) + 7
    return gb.Graph.from_edges(*ends, renumber=True)


@pytest.fixture(scope="module")
def pairs(graph):
    """int64[k, 2]: ids, of which some reach others."""
    ids = graph.ids_of(np.arange(graph.vertices))
    return ids[np.random.default_rng(2).integers(0, ids.size, (PAIRS, 2))]


@pytest.fixture(scope="module")
def right(graph, pairs):
    """The bits of an index in this process."""
    answers = gb.build(graph, "sequential").reaches_many(*pairs.T)
    assert 0.01 < answers.mean() < 0.99
    return np.packbits(answers)


@pytest.fixture(scope="module")
def index(client, graph):
    return gb.build(graph, "parallel", client=client)


@pytest.fixture(scope="module")
def files(tmp_path_factory, pairs):
    """Pairs as files: whole arrays of numpy in both layouts, and parquet in odd row groups, among them a large one."""
    folder = tmp_path_factory.mktemp("pairs")
    np.save(folder / "rows.npy", pairs)
    np.save(folder / "columns.npy", np.ascontiguousarray(pairs.T))
    table = pa.table({"weight": np.zeros(PAIRS), "from": pairs[:, 0], "to": pairs[:, 1]})
    with pq.ParquetWriter(folder / "pairs.parquet", table.schema) as file:
        for first, size in ((0, 333), (333, 501), (834, 8_000), (8_834, PAIRS)):
            file.write_table(table.slice(first, size), row_group_size=size)
    return folder


def joined(stream):
    return np.concatenate([*stream, np.empty(0, np.uint8)])


def part(path, first, last):
    """Pairs that are made on a worker."""
    return np.load(path)[first:last]


def slowly(path, first, last):
    time.sleep(0.2)
    return part(path, first, last)


def sources(pairs, files):
    cuts = [0, 5, 5, 700, 5_000, 5_001, PAIRS]
    return {
        "an array": pairs,
        "two columns": (pairs[:, 0], pairs[:, 1].tolist()),
        "a generator": (pairs[first:last] for first, last in zip(cuts[:-1], cuts[1:], strict=True)),
        "functions": [
            partial(part, files / "rows.npy", first, last) for first, last in zip(cuts[:-1], cuts[1:], strict=True)
        ],
        "numpy rows": files / "rows.npy",
        "numpy columns": str(files / "columns.npy"),
        "parquet": files / "pairs.parquet",
    }


@pytest.mark.parametrize("source", sources(np.empty((0, 2), int), Path()))
@pytest.mark.parametrize("where", ["workers", "here"])
def test_a_stream_gives_every_answer_in_order(source, where, index, graph, pairs, right, files):
    asked = index if where == "workers" else gb.build(graph, "sequential")
    columns = ("from", "to") if source == "parquet" else None
    assert (joined(asked.stream(sources(pairs, files)[source], shard=SHARD, columns=columns)) == right).all()


def test_workers_answer_the_other_questions(index, graph, pairs):
    here = gb.build(graph, "sequential")
    assert (index.reaches_many(*pairs.T) == here.reaches_many(*pairs.T)).all()
    u, v = pairs[int(np.argmax(here.reaches_many(*pairs.T)))].tolist()
    assert index.reaches(u, v)
    assert index.path(u, v) == here.path(u, v)
    assert (index.descendants(u) == here.descendants(u)).all()
    assert len(index.workers) == 2
    assert (index.implementation, here.workers) == ("parallel", [])


# ------------------------------------------------------------------ bounded


def test_no_more_is_pulled_while_the_first_shard_is_late(index, right, files):
    cuts = [(first, min(first + 200, PAIRS)) for first in range(0, PAIRS, 200)]
    pulled = 0

    def generated():
        nonlocal pulled
        for number, cut in enumerate(cuts):
            pulled += 1
            yield partial(part if number else slowly, files / "rows.npy", *cut)

    stream = index.stream(generated())
    first = next(stream)
    assert pulled <= 2 * client_side.AHEAD * 2
    assert (np.concatenate([first, *stream]) == right).all()


# ------------------------------------------------------------------ faults


def killing(path, marker, first, last):
    """Kills the first worker that is asked for these pairs, while it has them."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return part(path, first, last)
    os.kill(os.getpid(), signal.SIGKILL)


def test_shards_of_a_worker_that_is_killed_are_done_elsewhere(index, pairs, right, files, tmp_path):
    before = set(index.workers)
    asked = [partial(part, files / "rows.npy", first, min(first + 500, PAIRS)) for first in range(0, PAIRS, 500)]
    asked[5] = partial(killing, files / "rows.npy", tmp_path / "killed", 2_500, 3_000)
    assert (joined(index.stream(asked)) == right).all()
    assert (tmp_path / "killed").exists()
    assert len(before & set(index.workers)) == 1


def test_a_worker_that_comes_later_takes_part(client, index, pairs, right):
    client.wait_for_workers(2, timeout=60)  # the one that was killed is started again
    assert (joined(index.stream(pairs, shard=SHARD)) == right).all()
    assert len(index.workers) == 2


@pytest.fixture
def stop(client):
    """Stops a worker, or all of them; they go on in the end."""
    pids = client.run(os.getpid)
    stopped = []

    def stopping(address=None):
        stopped.extend(pids.values() if address is None else [pids[address]])
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)

    yield stopping
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    client.wait_for_workers(2, timeout=60)


def test_shards_of_a_worker_that_is_stopped_are_done_elsewhere(index, pairs, right, stop):
    """They were waited for five minutes, and the last ones for ever."""
    stream = index.stream((pairs[at : at + 500] for at in range(0, PAIRS, 500)), shard=500)
    first = next(stream)
    stop(index.workers[0])
    assert (np.concatenate([first, *stream]) == right).all()


def test_a_stream_whose_workers_are_all_stopped_ends(index, pairs, stop):
    stream = index.stream((pairs[at : at + 500] for at in range(0, PAIRS, 500)), shard=500)
    next(stream)
    stop()
    with pytest.raises(gb.ClusterLost, match="all workers are gone"):
        list(stream)


def test_a_worker_with_another_index_is_refused(client, graph, pairs):
    index = gb.build(graph, "sequential", client=client)
    index._engine.index.spread.identity = 64 * "0"
    with pytest.raises(gb.InputError, match="this worker holds index .*, and was asked of 000000000000"):
        next(index.stream(pairs))


def hide(hidden):
    """On a worker: files are not seen, as on a machine without the disk of the client."""
    client_side.mapped.identity, client_side.seen = (
        (_unseen, client_side.mapped.identity) if hidden else (client_side.seen, None)
    )


def _unseen(path):
    if "dask" not in str(path):  # only what is in the folder of the worker
        raise gb.InputError("there is no such index file", path=path)
    return client_side.seen(path)


@pytest.fixture
def unseen(client):
    client.wait_for_workers(2, timeout=60)
    client.run(hide, True)
    yield
    client.run(hide, False)


def test_an_index_that_a_worker_does_not_see_is_sent_once(client, graph, pairs, right, tmp_path, unseen, monkeypatch):
    send, sent = client_side.Spread._send, []
    monkeypatch.setattr(client_side, "PIECE", 50_000)
    monkeypatch.setattr(client_side.Spread, "_send", lambda self, worker: sent.append(worker) or send(self, worker))
    gb.build(graph, "sequential", seed=3).save(path := tmp_path / "x.index")
    index = gb.load(path, client=client)
    assert len(sent) == 2
    assert (joined(index.stream(pairs, shard=SHARD)) == right).all()
    again = gb.load(path, client=client)
    assert len(sent) == 2
    assert (joined(again.stream(pairs, shard=SHARD)) == right).all()


@pytest.mark.parametrize(("place", "why"), [(40, "header is not the one"), (-4_000, "differs from what was written")])
def test_an_index_that_is_damaged_on_its_way_is_refused(place, why, client, graph, tmp_path, unseen, monkeypatch):
    gb.build(graph, "sequential", seed=4).save(path := tmp_path / "x.index")
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    identity = mapped.identity(path)
    monkeypatch.setattr(mapped, "identity", lambda path: identity)
    monkeypatch.setattr(mapped, "content_of", lambda path: mapped.Content(content))
    with pytest.raises(gb.InputError, match=why):
        client_side.Spread(client, path, opened)


@pytest.fixture
def with_gpus(client):
    """Makes this process believe that the workers have these GPUs."""

    def pretend(*gpus):
        found = workers.of_workers(client)
        client_side._known[client] = {
            each.worker: replace(each, gpus=tuple(filter(None, named.split(","))))
            for each, named in zip(found, gpus, strict=True)
        }

    yield pretend
    client_side._known.clear()


@pytest.mark.parametrize(("gpus", "holders"), [(("0", "0"), 1), (("0,1", "0,1"), 2), (("", "0"), 1)])
def test_each_gpu_of_a_machine_has_one_worker_and_without_any_an_index_is_refused(
    gpus, holders, client, with_gpus, graph, tmp_path
):
    gb.build(graph, "sequential").save(path := tmp_path / "x.index")
    with_gpus(*gpus)
    spread = client_side.Spread(client, path, opened, needs_gpu=True)
    assert len({each.gpu for each in spread._workers.values()}) == len(spread.workers) == holders
    with_gpus("", "")
    with pytest.raises(gb.MachineLacks, match="no worker with a GPU"):
        client_side.Spread(client, path, opened, needs_gpu=True)


@pytest.mark.simulator
def test_workers_with_a_gpu_each_answer_as_gpu_fused(diamond):
    words = ["verify", "--dataset", diamond, "--impl", "dask-gpu", "--dim", "2", "--devices", "2", "--count", "50"]
    code, out, err = call_apart(*words, "--simulate", CUDA_VISIBLE_DEVICES="0,1")
    assert (code, err.count("FAILED")) == (0, 0), out + err


def test_a_worker_whose_disk_has_no_room_for_an_index_says_so_and_keeps_nothing(tmp_path, monkeypatch):
    worker = SimpleNamespace(local_directory=str(tmp_path), state=SimpleNamespace(nthreads=1))
    monkeypatch.setattr(distributed, "get_worker", lambda: worker)
    held = client_side.IndexHolder("an identity")
    monkeypatch.setattr(client_side.shutil, "disk_usage", lambda path: SimpleNamespace(free=999))
    assert held.do("put", 0, np.zeros(16, np.uint8), 999) == (True, None)
    done, error = held.do("put", 0, np.zeros(16, np.uint8), 1000)
    assert not done
    assert isinstance(error, gb.MachineLacks)
    assert "no room for an index of 1,000 bytes" in str(error)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_lost_while_it_takes_an_index_is_named(graph, tmp_path, monkeypatch):
    gb.build(graph, "sequential").save(path := tmp_path / "x.index")
    waited = client_side.Spread._wait
    with connection.started(1) as client:

        def losing(spread, actors, patience):
            (pid,) = client.run(os.getpid).values()
            os.kill(pid, signal.SIGKILL)
            waited(spread, actors, patience)

        monkeypatch.setattr(client_side.Spread, "_wait", losing)
        with pytest.raises(gb.ClusterLost, match="a worker was lost while it took the index"):
            client_side.Spread(client, path, opened)


def test_a_wrong_pair_is_named_with_its_shard(index, pairs):
    with pytest.raises(gb.InputError, match="shard 2 of the pairs: .*vertex 99999 is out of range"):
        list(index.stream(iter([pairs[:8], ([pairs[0, 0]], [99_999])]), shard=8))


def test_bits_are_written_whole_or_not_at_all(index, pairs, right, tmp_path):
    assert index.stream_to(tmp_path / "bits", pairs, shard=SHARD) == PAIRS
    assert (np.fromfile(tmp_path / "bits", np.uint8) == right).all()
    with pytest.raises(gb.InputError):
        index.stream_to(tmp_path / "torn", iter([pairs, ([0.5], [1])]), shard=SHARD)
    assert os.listdir(tmp_path) == ["bits"]


def test_without_the_scheduler_there_is_one_clear_error(graph, pairs, tmp_path, monkeypatch):
    """Of one that is stopped; one that is killed is tried in `test_cluster`."""
    told = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen(
        [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", told], **quiet
    )
    worker = subprocess.Popen(
        [*dask, "worker", "--scheduler-file", told, "--no-nanny", "--nthreads", "1", "--no-dashboard"], **quiet
    )
    try:
        while not told.exists():
            time.sleep(0.05)
        with distributed.Client(scheduler_file=str(told), timeout=30, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
            stream = gb.build(graph, "sequential", client=client).stream((pairs for _ in range(100_000)), shard=PAIRS)
            next(stream)
            monkeypatch.setattr(liveness, "SCHEDULER_SECONDS", 5.0)
            scheduler.send_signal(signal.SIGSTOP)
            with pytest.raises(gb.ClusterLost, match="the scheduler at tcp://127.0.0.1:.* does not answer"):
                list(stream)
            scheduler.kill()
    finally:
        for each in (worker, scheduler):
            each.kill()
            each.wait()
