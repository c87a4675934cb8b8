"""The programs of `tests/faults` that try a GPU: memory that runs out; a GPU that is lost."""

import exhaust
import lost
import pytest
from commands import python_program

SIMULATED = {"NUMBA_ENABLE_CUDASIM": "1"}


@pytest.mark.simulator
@pytest.mark.processes
def test_an_implementation_whose_memory_runs_out_gives_all_back_and_answers_then():
    code, out, err = python_program(exhaust.__file__, "--only", "counts/counts-gpu", "--every", "6", **SIMULATED)
    assert (code, "1 implementations, " in out, ", 0 faults, " in out) == (0, True, True), (out, err)


@pytest.mark.simulator
@pytest.mark.processes
def test_runs_at_once_agree_and_cells_after_one_that_lost_the_gpu_are_measured_in_fresh_processes():
    code, out, err = python_program(lost.__file__, "--steps", "1", **SIMULATED)
    assert (code, "2 runs at once, and 1 runs of 6 cells lost their GPU, 0 faults" in out) == (0, True), (out, err)
