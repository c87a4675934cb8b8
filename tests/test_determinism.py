"""Nothing depends on the number of threads or on their timing: the program of `tests/faults` in small."""

from itertools import count

import pages
import pytest
import simulated as _simulated  # noqa: F401
import threads

from grailbench.problems.reachability.cpu.grail import GrailIndex
from grailbench.problems.traversal import cpu

THINGS = (
    "reachability/parallel", "reachability/core", "reachability/sweep", "reachability/streamed", "bfs/many",
    "closure/warshall-bits", "closure/condense-bits", "closure/condense-pairs", "counts/counts", "counts/search",
    "condense", "oracle", "library",
)  # fmt: skip


@pytest.fixture
def one_graph(monkeypatch):
    """Programs try one graph, of 200 vertices, with cycles."""
    edges = threads.graphs(200)["cycles"][:300]
    monkeypatch.setattr(threads, "graphs", lambda vertices: {"cycles": edges})


@pytest.mark.slow
def test_whatever_has_threads_gives_the_same_on_any_number_of_them(one_graph):
    found = threads.sweep((2, 5, 64), 1, 200, THINGS, float("inf"))
    assert {name: tally.faults for name, tally in found.items()} == {name: [] for name in THINGS}
    assert all(tally.compared >= 3 for tally in found.values())


def test_what_depends_on_which_thread_comes_first_is_found(one_graph, monkeypatch):
    right, turn = GrailIndex._answer, count()

    def racy(self, worker, share, batch):
        right(self, worker, share, batch)
        if worker and self.counts[worker] is not None:
            self.counts[worker][-1] += next(turn) * worker  # whoever comes first adds least

    monkeypatch.setattr(GrailIndex, "_answer", racy)
    (tally,) = threads.sweep((16,), 2, 200, ("reachability/parallel",), float("inf")).values()
    assert tally.faults
    assert tally.faults[0] == "cycles on 16 threads: other counters"


@pytest.mark.slow
def test_whatever_runs_on_a_gpu_is_asked_again_and_what_differs_is_found(one_graph, monkeypatch):
    def swept():
        found = threads.sweep(threads.ONE, 1, 200, ("bfs/fused", "reachability/core-gpu"), float("inf"), gpu=True)
        return {name: (tally.compared, tally.faults) for name, tally in found.items()}

    assert swept() == {"reachability/core-gpu": (5, []), "bfs/fused": (2, [])}
    from grailbench.problems.traversal.gpu.resident import OneLaunch

    right, turn = OneLaunch.search, count()

    def counting(self, source):
        right(self, source)
        self.count(launches=next(turn))

    monkeypatch.setattr(OneLaunch, "search", counting)
    assert swept()["bfs/fused"] == (2, ["cycles asked again: other counters"])


def test_what_an_implementation_calls_varying_is_left_alone_and_nothing_else(one_graph, monkeypatch):
    right, turn, only = cpu.Buckets.solve, count(), ("sssp/buckets",)

    def counting(self, *given):
        self.counters = {"rounds": next(turn), "bands": 7}
        return right(self, *given)

    monkeypatch.setattr(cpu.Buckets, "solve", counting)
    (tally,) = threads.sweep((2,), 1, 200, only, float("inf")).values()
    assert tally.faults == ["cycles on 2 threads: other counters"]
    monkeypatch.setattr(cpu.Buckets, "varying", ("rounds",))
    (tally,) = threads.sweep((2,), 1, 200, only, float("inf")).values()
    assert (tally.faults, tally.compared) == ([], 2)


SHORT = """
name = runs[1].rpartition("/")[2]
call("files.txt", "report", runs[1], "--format", "csv", "--out", out / "files")
call("figure.txt", "plot", runs[1], "--figure", "speedup", "--format", "svg", "--out", out / "figures")
call("list.txt", "list", "datasets")
"""


@pytest.mark.processes
@pytest.mark.slow
def test_tables_and_figures_are_the_same_bytes_in_unlike_surroundings():
    compared, faults = pages.sweep(2, SHORT)
    assert faults == []
    assert compared > 8


@pytest.mark.processes
def test_a_file_that_follows_the_hash_seed_or_the_order_of_a_folder_is_found():
    calls = """
(out / "hash.txt").write_text(str(hash("kegg")))
(out / "same.txt").write_text("1")
(out / "folder.txt").write_text(" ".join(os.listdir(os.path.dirname(os.__file__))))
"""
    compared, faults = pages.sweep(2, calls)
    assert compared == 4
    assert [fault.rpartition(": ")[2] for fault in faults] == ["folder.txt", "hash.txt"]
