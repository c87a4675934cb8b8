"""The programs of `tests/faults` that try a GPU: memory that runs out, a GPU that is lost, several processes on one,
branches of kernels."""

import ast
import json

import branches
import exhaust
import lost
import pytest
import sanitizers
import together
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
def test_an_implementation_whose_memory_runs_out_gives_all_back_and_answers_then(tmp_path):
    words = "--only", "counts/counts-gpu", "--every", "6", "--out", tmp_path / "exhaust.json"
    code, out, err = python_program(exhaust.__file__, *words, **SIMULATED)
    assert (code, "0 not tried\n" in out, ", 0 faults, " in out) == (0, True, True), (out, err)


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
def test_cells_after_one_that_lost_the_gpu_are_measured_in_fresh_processes():
    code, out, err = python_program(lost.__file__, "--steps", "1", **SIMULATED)
    assert (code, "1 runs of 6 cells lost their GPU, 0 not as promised" in out) == (0, True), (out, err)


# ------------------------------------------------------------------ several processes on one GPU


@pytest.mark.simulator
@pytest.mark.processes
def test_two_runs_and_a_program_at_once_have_the_same_answers():
    words = "--programs", "1", "--trials", "1", "--seconds", "0"
    code, out, err = python_program(together.__file__, *words, **SIMULATED)
    assert (code, "at once, 0 faults" in out) == (0, True), (out, err)


# ------------------------------------------------------------------ branches

KERNEL = """
@cuda.jit(device=True)
def step(x, y):
    for i in range(x):
        if i > 1 and y:
            return 1 if x > 4 else 2
    while simulated:
        break
    return 0

def host(x):
    return 1 if x else 0
"""


def test_each_condition_of_a_kernel_tells_both_outcomes_and_host_code_none(monkeypatch):
    seen = branches.Seen()
    tree = ast.fix_missing_locations(branches.Telling(seen, "file.py").visit(ast.parse(KERNEL)))
    monkeypatch.setattr(branches.builtins, "__branch__", seen.branch, raising=False)
    monkeypatch.setattr(branches.builtins, "__loop__", seen.loop, raising=False)
    names = {"cuda": type("cuda", (), {"jit": lambda **_: lambda function: function}), "simulated": True}
    exec(compile(tree, "file.py", "exec"), names)
    places = [f"file.py:step: {each}" for each in ("x > 4", "i > 1", "y", "for i in range(x)")]
    assert sorted(seen.places) == sorted(places)
    assert (names["step"](3, 0), names["host"](1)) == (0, 1)
    told = {"i > 1 is True", "i > 1 is False", "y is False", "for i in range(x) is True", "for i in range(x) is False"}
    assert seen.take() == {f"file.py:step: {each}" for each in told}
    assert names["step"](5, 1) == 1
    assert "file.py:step: x > 4 is True" in seen.take()


RACE = "problems/reachability/gpu/parents.py:_offer_path: found == seen is False"
TAKEN, NEVER = "file.py:step: x > 4 is True", "file.py:step: x > 4 is False"


def test_a_branch_without_a_reason_is_told_and_so_is_a_reason_of_no_branch(monkeypatch):
    monkeypatch.setattr(branches, "REASONS", {r".*found == seen is False": "a race", r".*x > 4 is False": "never"})
    assert branches.unexplained([RACE, NEVER]) == []
    assert branches.unexplained([RACE, NEVER, TAKEN]) == [f"NEVER: {TAKEN}"]
    assert branches.unexplained([NEVER]) == ["NOT NEEDED: the reason of .*found == seen is False"]


@pytest.mark.simulator
@pytest.mark.processes
def test_every_branch_of_every_kernel_is_listed_with_graphs_that_reach_it_or_a_reason():
    code, out, err = python_program(branches.__file__, "--check")
    assert (code, ", 0 not as listed" in out) == (0, True), (
        f"{out}{err}\nKernels changed: python tests/faults/branches.py --list"
    )


@pytest.mark.simulator
@pytest.mark.processes
def test_corners_take_the_branches_that_no_small_graph_does(tmp_path):
    words = ("--graphs", "trees", "--graphs", "equal hubs", "--graphs", "full table", "--out", tmp_path / "found.json")
    code, out, err = python_program(branches.__file__, *words)
    told = [line.split()[1] for line in err.splitlines() if line.startswith("WRONG: ")]
    assert (code, set(told)) == (1, {"NEVER:", "NOT"}), (out, err)  # most branches are those of other graphs
    found = json.loads((tmp_path / "found.json").read_text())["branches"]
    assert found["problems/reachability/gpu/core/records.py:answer_tree: not upward is False"] == ["trees"]
    assert "equal hubs" in found["problems/reachability/gpu/fused/hubs.py:choose: bits > 0 is True"]
    assert "full table" in found["problems/reachability/gpu/fused/search.py:_holds: table[slot] == key is True"]


def test_reports_of_a_sanitizer_are_counted_over_its_calls():
    once = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 3 errors\n"
    race = "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n"
    assert [sanitizers.reports(text) for text in (once + once, race, "cut short\n")] == [6, 2, None]
    error = "========= Invalid __global__ read of size 4 bytes\n=========     at kernel+0x10\n========= \n"
    cut = f"========= COMPUTE-SANITIZER\ndigraph 1: 2 s\n{error}cut short\n"
    clean = "========= COMPUTE-SANITIZER\n========= Error: Target application terminated before first API call\n"
    assert [sanitizers.reports(text) for text in (cut, cut + once, clean + once)] == [None, 4, 3]


@pytest.mark.parametrize(
    ("kernel", "first", "second", "left"),
    [
        ("many::_search", "Write", "Write", 0),
        ("many::_search", "Write", "Read", 1),
        ("fused::_search", "Write", "Write", 1),
    ],
)
def test_only_writes_of_kernels_with_a_reason_are_harmless(kernel, first, second, left):
    places = [
        f"{access} access at grailbench::traversal::gpu::{kernel}[abi:v1](Array)+0x10" for access in (first, second)
    ]
    text = (
        f"========= Error: Race reported between {places[0]}\n=========     and {places[1]} [128 hazards]\n========= \n"
    )
    assert sanitizers.reports(text + "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n") == left
