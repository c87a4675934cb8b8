"""The programs of `tests/faults` that try a GPU: memory that runs out; a GPU that is lost."""

import exhaust
import lost
import pytest
from commands import python_program

from grailbench.errors import TooLittleMemory

SIMULATED = {"NUMBA_ENABLE_CUDASIM": "1"}


# ------------------------------------------------------------------ memory that runs out


class Bytes(exhaust.Memory):
    """Memory that is a number."""

    def __init__(self):
        super().__init__()
        self.used = 0

    def bytes(self):
        return self.used


def working(of, allocations=4, said="no memory is left (take a smaller graph)", leaks=0, breaks=False):
    """Work that allocates, and does with a refusal as it is told."""
    broken = []

    def work():
        if broken:
            raise ValueError("broken by what failed before")
        for _ in range(allocations):
            if of.turn():
                of.used += leaks
                broken.extend([1] * breaks)
                raise TooLittleMemory(said)

    return work


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ({}, None),
        ({"leaks": 8}, "allocation 1 of 4: 8 bytes are not given back"),
        ({"said": "no memory is left"}, "allocation 1 of 4: out of memory: no memory is left"),
        ({"said": "no\nmemory (wait)"}, "allocation 1 of 4: out of memory: no\nmemory (wait)"),
        ({"breaks": True}, "before allocation 2 of 4: failed: ValueError: broken by what failed before"),
    ],
)
def test_what_a_refused_allocation_leaves_behind_is_found(how, fault):
    of, result = Bytes(), exhaust.Tried()
    assert exhaust.exhausted(of, working(of, **how), result) == 4
    assert result.failed == (1 if how.get("breaks") else 4)
    assert result.faults[:1] == ([] if fault is None else [fault])


@pytest.mark.simulator
@pytest.mark.processes
def test_an_implementation_whose_memory_runs_out_gives_all_back_and_answers_then():
    code, out, err = python_program(exhaust.__file__, "--only", "counts/counts-gpu", "--every", "6", **SIMULATED)
    assert (code, "1 implementations, " in out, ", 0 faults, " in out) == (0, True, True), (out, err)


# ------------------------------------------------------------------ a GPU that is lost


class Found:
    """The cells of a run that lost its GPU, as it should be, or changed by a test."""

    def __init__(self, bad=None, trials=(0, 1), fresh=1.0, sums=("a",)):
        said = "the GPU failed: [719] launch failed; it is lost to this process, and all is gone (start again)"
        self.bad = {("gpu-fused", "first"): ("failed", said)} if bad is None else bad
        cells = [(impl, graph) for impl in (*lost.ON_GPU, *lost.OTHERS) for graph in lost.GRAPHS]
        self.rows = {cell: [{"read_ms": fresh}] for cell in cells}
        self._trials, self._sums = set(trials), set(sums)

    def trials(self, cell):
        return self._trials

    def checksums(self, graph):
        return self._sums


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ({}, None),
        ({"bad": {("gpu-fused", "first"): ("skipped", "not tried")}}, "is skipped: not tried"),
        ({"bad": {(name, "first"): ("failed", "lost") for name in lost.ON_GPU}}, "more than one failed cell"),
        ({"trials": (0,)}, "has trials {0}"),
        ({"fresh": None}, "was not taken in a process of its own"),
        ({"sums": ("a", "b")}, "checksums"),
    ],
)
def test_a_run_that_lost_its_gpu_is_judged(how, fault, tmp_path, monkeypatch):
    out, exits = tmp_path / "lost-7", iter((1, 0))
    out.mkdir()
    (out / lost.ROWS).write_text("")
    found = iter((Found(**how), Found(bad={})))
    monkeypatch.setattr(lost, "run", lambda *_: (next(exits), ""))
    monkeypatch.setattr(lost, "Cells", lambda folder: next(found))
    wrong = lost.faults_of(tmp_path, [], 7)
    assert (wrong == []) if fault is None else fault in wrong[0], wrong


@pytest.mark.simulator
@pytest.mark.processes
def test_runs_at_once_agree_and_cells_after_one_that_lost_the_gpu_are_measured_in_fresh_processes():
    code, out, err = python_program(lost.__file__, "--steps", "1", **SIMULATED)
    assert (code, "2 runs at once, and 1 runs of 6 cells lost their GPU, 0 faults" in out) == (0, True), (out, err)
