"""Kernels of a GPU beyond 2^32, and labels with ranks up to 2^31 - 2, in numba's simulator: the short form of scenes
gpu and ranks of `tests/faults/big_numbers.py`."""

import far_gpu
import far_ranks
import numpy as np
import pytest
import simulated as _simulated  # noqa: F401

from grailbench.cuda import gateway
from grailbench.cuda.gateway import cuda

gateway.require()
pytestmark = pytest.mark.skipif(not gateway.simulated, reason="sparse files stand for memory in the simulator")


@pytest.mark.slow
def test_kernels_give_the_same_where_rows_begin_near_two_to_the_32():
    with far_gpu.far_launches() as world:
        far_gpu.drive(("counts/counts-gpu", "closure/condense-bits-gpu"))
    assert world.faults == []
    expected = {
        "problems.counts.gpu.sweep:_sweep",
        "cuda.oracle:_pull_long",
        "problems.reachability.gpu.fused.batch:sweep",
    }
    assert expected <= world.tried.keys()


@pytest.mark.slow
def test_labels_whose_ranks_end_at_the_greatest_are_right():
    tried, faults = far_ranks.compare((far_ranks.PATHS, far_ranks.FUSED))
    assert faults == []
    assert set(tried.values()) == {2}
    assert len(tried) == 6


@pytest.mark.slow
def test_ranks_that_do_not_fit_are_found():
    _, faults = far_ranks.compare((far_ranks.FUSED,), far_ranks.LAST + 4)
    assert {fault.partition(": ")[0] for fault in faults} >= {
        "problems.reachability.gpu.fused.grid:kernel", "problems.reachability.gpu.fused.small:kernel",
    }  # fmt: skip


@cuda.jit
def _narrow(offsets, children, found):
    found[0] = children[np.int32(offsets[0])]


@cuda.jit
def _wide(offsets, children, found):
    found[0] = children[offsets[0]]


def test_a_place_of_an_edge_in_32_bits_is_found(monkeypatch):
    monkeypatch.setattr(far_gpu, "_name", lambda kernel: kernel.fn.__name__)
    monkeypatch.setattr(far_gpu, "PLACES", {"_narrow": ((0,), (1,)), "_wide": ((0,), (1,))})
    children, found = np.arange(5, 12, dtype=np.int32), np.zeros(1, np.int32)
    with far_gpu.far_launches() as world:
        for kernel in (_narrow, _wide):
            kernel[1, 1](np.array([2, 6]), children, found)
    assert world.tried == {"_narrow": 1, "_wide": 1}
    assert [fault.partition(":")[0] for fault in world.faults] == ["_narrow"]
