"""The programs of `tests/faults` that face every implementation with many digraphs, and every kernel with some."""

import digraphs
import kernels
import pytest
from commands import python_program

from grailbench.errors import GpuFailed
from grailbench.problems.reachability.cpu.grail import GrailIndex

FEW = ("reachability/sequential", "bfs/sequential", "closure/condense-bits", "counts/counts")


def test_the_same_number_gives_the_same_digraph_and_others_give_others():
    once, again = ([digraphs.drawn(number) for number in range(40)] for _ in range(2))
    assert all(a == b and (x == y).all() for (a, x), (b, y) in zip(once, again, strict=True))
    assert len({(vertices, ends.tobytes()) for vertices, ends in once}) > 35


def test_right_implementations_have_no_fault():
    tallies = digraphs.sweep(range(12), False, FEW)
    assert {name: tally.faults for name, tally in tallies.items()} == {name: [] for name in FEW}
    assert all(tally.digraphs == 12 and tally.answers > 100 for tally in tallies.values())


def test_one_wrong_answer_is_a_fault_that_names_its_digraph(monkeypatch):
    right = GrailIndex.query_batch

    def wrong(self, sources, targets, timer):
        answers = right(self, sources, targets, timer)
        answers[-1:] ^= True
        return answers

    monkeypatch.setattr(GrailIndex, "query_batch", wrong)
    (tally,) = digraphs.sweep(range(7, 8), False, FEW[:1]).values()
    assert len(tally.faults) == 1
    assert tally.faults[0].startswith("digraph 7, Params(")


def test_nothing_is_asked_of_a_process_that_lost_its_gpu(monkeypatch):
    def loses(*_):
        raise digraphs.lost.failed(719, "could not wait")

    monkeypatch.setattr(digraphs.oracle_checks, "check", loses)
    monkeypatch.setattr(digraphs.lost, "lost", None)
    with pytest.raises(GpuFailed):
        digraphs.sweep(range(3), False, FEW)


@pytest.mark.simulator
@pytest.mark.processes
def test_a_kernel_that_no_graph_reaches_is_named():
    words = ("--most", "20", "--only", "bfs/level")
    code, out, _ = python_program(kernels.__file__, *words, NUMBA_ENABLE_CUDASIM="1")
    assert code == 1
    assert "NOT LAUNCHED: problems/closure/gpu/dense.py:" in out
    assert "NOT LAUNCHED: problems/traversal/gpu/levels.py:_level" not in out
    assert "0 faults" in out
