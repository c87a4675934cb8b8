"""`ready` is the whole way from edges, for every implementation: all that a trial takes apart elsewhere is inside."""

import itertools

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from strategies import dag_of, graph_of

from grailbench.bench.problems import problem
from grailbench.bench.timing import PhaseTimer
from grailbench.contract import implementations
from grailbench.device import gateway
from grailbench.errors import MachineLacks
from grailbench.reachability.index import Params

gateway.require()
GRAPH = (7, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 4), (0, 0), (0, 1)])


def ticking():
    """A timer whose clock moves on by a millisecond whenever it is read: times depend on the phases alone."""
    ticks = itertools.count()
    return PhaseTimer(lambda: next(ticks) * 10**6)


def able(cls):
    try:
        cls.require()
    except MachineLacks as lack:
        pytest.skip(str(lack))
    return cls


def tried(cls, params, data, asked, edges):
    """The phases of one trial of an implementation, by the ticking clock."""
    timer = ticking()
    try:
        problem(cls.problem).trial(cls, params, data, asked, timer, edges)
    except MachineLacks as lack:
        pytest.skip(str(lack))
    return timer.phases


def assert_whole(found, without):
    """`ready` holds all its parts, which do not overlap; the rest of the trial is as it is without."""
    parts = {part: ms for (under, part), ms in found.items() if under == "ready"}
    assert 0 < sum(parts.values()) <= found["", "ready"]
    assert {under for under, _ in found} <= {under for under, _ in without} | {"ready"}
    assert {key for key in found if "ready" not in key} == set(without)
    assert all(found[key] == ms for key, ms in without.items() if not key[0])
    return parts


CASES = [(name, 1) for name in implementations()] + [("gpu-fused", 2)]


@pytest.mark.parametrize(("name", "devices"), CASES)
def test_an_index_is_ready_when_all_of_its_build_is_done(name, devices):
    cls, dag = able(implementations()[name]), dag_of(*GRAPH)
    ends = np.divmod(np.arange(16, dtype=np.int32), 4)
    case = cls, Params(devices=devices), dag, ends
    found, without = tried(*case, graph_of(*GRAPH)), tried(*case, None)
    parts = assert_whole(found, without)
    outside = {phase for under, phase in without if not under} - {"label", "query", "arrange"}
    assert outside <= set(parts)
    assert set(parts) >= ({"load", "build"} if name.startswith("peer:") else {"condense", "label"})
