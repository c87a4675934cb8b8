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


@pytest.mark.simulator
@pytest.mark.processes
def test_runs_at_once_agree_and_cells_after_one_that_lost_the_gpu_are_measured_in_fresh_processes():
    code, out, err = python_program(lost.__file__, "--steps", "1", **SIMULATED)
    assert (code, "2 runs at once, and 1 runs of 6 cells lost their GPU, 0 faults" in out) == (0, True), (out, err)
