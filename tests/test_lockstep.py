"""What all lanes of a warp, or all threads of a block or grid, must arrive at is never behind a condition of one.

The simulator cannot see it, its warps being single threads: on a GPU such a kernel waits for ever.
"""

import ast

import pytest
from commands import ROOT

EXCHANGES = {
    "shuffle_down", "shuffle_up", "broadcast_first", "all_lanes", "any_lane", "exclusive_sum", "exclusive_count",
    "inclusive_sum", "broadcast", "sync", "syncthreads", "syncwarp",
    "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync", "ballot_sync",
}  # fmt: skip


def exchanges_behind_a_condition(text):
    """Lines of exchanges that a lane skips by its own `and`, `or` or conditional expression."""
    lines = []
    for node in ast.walk(ast.parse(text)):
        behind = []
        if isinstance(node, ast.BoolOp):
            behind = node.values[1:]
        elif isinstance(node, ast.IfExp):
            behind = [node.body, node.orelse]
        for part in behind:
            for call in ast.walk(part):
                if isinstance(call, ast.Call):
                    name = getattr(call.func, "attr", getattr(call.func, "id", None))
                    lines += [call.lineno] if name in EXCHANGES else []
    return lines


def kernels():
    """Every module that imports the device's gateway."""
    paths = sorted((ROOT / "grailbench").rglob("*.py"))
    return [path for path in paths if "cuda.gateway" in path.read_text() or "cuda/" in path.as_posix()]


@pytest.mark.slow
def test_no_exchange_is_behind_a_condition():
    found = {path.relative_to(ROOT): exchanges_behind_a_condition(path.read_text()) for path in kernels()}
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert len(found) > 30


@pytest.mark.parametrize(
    "text",
    ["same = lane < 16 and shuffle_down(u, 1) == u", "x = cuda.shfl_sync(ALL, v, 0) if v else 0", "a or grid.sync()"],
)
def test_an_exchange_behind_a_condition_is_seen(text):
    assert exchanges_behind_a_condition(text) == [1]


def test_exchanges_that_come_first_are_let_be():
    assert exchanges_behind_a_condition("if all_lanes(u == broadcast_first(u)) and lane == 0: pass") == []
