"""The programs of `tests/faults` that face every implementation with many digraphs, and every kernel with some."""

from unittest import mock

import digraphs
import kernels
import pytest
from click.testing import CliRunner
from commands import python_program

from grailbench.problems.reachability.cpu.grail import GrailIndex

FEW = ("reachability/sequential", "bfs/sequential", "closure/condense-bits", "counts/counts")


def test_the_same_number_gives_the_same_digraph_and_others_give_others():
    once, again = ([digraphs.drawn(number) for number in range(40)] for _ in range(2))
    assert all(a == b and (x == y).all() for (a, x), (b, y) in zip(once, again, strict=True))
    assert len({(vertices, ends.tobytes()) for vertices, ends in once}) > 35


def test_right_implementations_have_no_fault():
    tallies = digraphs.sweep(range(12), False, FEW, float("inf"))
    assert {name: tally.faults for name, tally in tallies.items()} == {name: [] for name in FEW}
    assert all(tally.digraphs == 12 and tally.answers > 100 for tally in tallies.values())


def test_calls_with_a_folder_add_up_and_a_torn_row_is_asked_again(tmp_path):
    found = digraphs.Sweep(False, FEW[3:])
    kept = digraphs.Kept(found, tmp_path / "first")
    for row in found.rows(range(3), float("inf")):
        kept.add(row)
    (path,) = (tmp_path / "first").iterdir()
    path.write_bytes(path.read_bytes()[:-5])
    assert sorted(kept.rows()) == [0, 1]
    later = digraphs.Kept(found, tmp_path / "second", (tmp_path / "first",))
    kept.add(found.row(4))
    later.add(found.row(9))
    assert sorted(later.rows()) == [0, 1, 4, 9]
    words = ["--only", FEW[3], "--count", "10", "--out", str(tmp_path / "second"), "--done", str(tmp_path / "first")]
    read = mock.Mock(side_effect=digraphs.Kept.rows, autospec=True)
    with mock.patch.object(digraphs.Kept, "rows", lambda kept: read(kept)):
        done = CliRunner().invoke(digraphs.main, [*words, "--seconds", "0"])
    assert read.call_count == 2, "earlier rows are read before and after, however many digraphs there are"
    assert (done.exit_code, "4 of 10 digraphs\n" in done.output) == (1, True), done.output
    assert not digraphs.Kept(digraphs.Sweep(False, FEW), tmp_path / "second").rows(), "of other implementations"


@pytest.mark.processes
def test_a_digraph_at_which_the_gpu_was_lost_is_asked_again_once_and_nothing_after_it(tmp_path, monkeypatch):
    found, kept = digraphs.Sweep(False, FEW), digraphs.Kept(digraphs.Sweep(False, FEW), tmp_path)

    def loses(*_):
        raise digraphs.lost.failed(719, "could not wait")

    monkeypatch.setattr(digraphs.asked, "check", loses)
    monkeypatch.setattr(digraphs.lost, "lost", None)
    row = found.row(3)
    assert row["lost"]
    assert len(row["faults"]) == 1 < len(found.found)
    kept.add(row)
    assert kept.rows() == {}
    kept.add(row)
    assert kept.rows() == {3: row}


def test_processes_share_the_digraphs(tmp_path):
    words = "--only", FEW[0], "--first", "3", "--count", "5", "--processes", "2", "--out", tmp_path
    code, out, err = python_program(digraphs.__file__, *words)
    assert (code, "5 of 5 digraphs" in out) == (0, True), (out, err)


def test_one_wrong_answer_is_a_fault_that_names_its_digraph(monkeypatch):
    right = GrailIndex.query_batch

    def wrong(self, sources, targets, timer):
        answers = right(self, sources, targets, timer)
        answers[-1:] ^= True
        return answers

    monkeypatch.setattr(GrailIndex, "query_batch", wrong)
    (tally,) = digraphs.sweep(range(7, 8), False, FEW[:1], float("inf")).values()
    assert len(tally.faults) == 1
    assert tally.faults[0].startswith("digraph 7, Params(")


@pytest.mark.simulator
@pytest.mark.processes
def test_a_kernel_that_no_graph_reaches_is_named(tmp_path):
    words = ("--most", "20", "--only", "bfs/level", "--out", tmp_path / "reached.json")
    code, out, _ = python_program(kernels.__file__, *words, NUMBA_ENABLE_CUDASIM="1")
    assert code == 1
    assert "NOT LAUNCHED: problems/closure/gpu/dense.py:" in out
    assert "NOT LAUNCHED: problems/traversal/gpu/levels.py:_level" not in out
    assert "0 faults" in out
