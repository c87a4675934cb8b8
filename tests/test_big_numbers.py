"""Numbers at the ends of their types: the program of `tests/faults`, and that it finds what is too narrow."""

import big_numbers
import click
import far
import far_ranks
import numpy as np
import pytest
from numba import njit

from grailbench.cli.options import Seconds
from grailbench.errors import InputError
from grailbench.harness.plan import Experiment
from grailbench.problems.contract import MOST_THREADS, Params


@pytest.mark.slow
@pytest.mark.parametrize("scene", big_numbers.SCENES)
def test_numbers_at_the_ends_of_their_types_are_right_or_refused(scene, session_cache):
    tally = big_numbers.Tally()
    big_numbers.SCENES[scene](tally)
    assert tally.faults == []
    assert tally.tried >= {"ranks": 16}.get(scene, 19)
    assert set(tally.kernels) == (set(far.ROWS) if scene == "offsets" else set())
    assert list(tally.ranked.values()) == ([2] * 8 if scene == "ranks" else [])


@pytest.mark.slow
def test_ranks_that_do_not_fit_are_found():
    _, faults = far_ranks.compare((far_ranks._labels_of_levels,), far_ranks.LAST + 4)
    assert {fault.partition(": other")[0] for fault in faults} == {
        "problems.reachability.gpu.fused.host:_repaired", "outofcore.labels:_widen",
    }  # fmt: skip


def test_code_that_no_longer_begins_to_count_where_it_did_is_told(monkeypatch):
    monkeypatch.setitem(far_ranks.BEGINS, "problems.reachability.cpu.traverse", {"rank = 0": "rank = {}"})
    with pytest.raises(ValueError, match="has 'rank = 0' 0 times, not once"):
        far_ranks.begun("problems.reachability.cpu.traverse", 5)


@njit
def _narrow(offsets, children, u):
    return children[np.int32(offsets[u])]


@njit
def _unsigned(offsets, children, u):
    return children[np.uint32(offsets[u])]


@njit
def _wide(offsets, children, u):
    return children[offsets[u]]


def test_a_place_of_an_edge_in_32_bits_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(far, "ROWS", {"narrow": far._FIRST, "unsigned": far._FIRST, "wide": far._FIRST})
    rows = np.array([0, 2, 6, 7]), np.arange(5, 12, dtype=np.int32)
    world = far.World(str(tmp_path))
    for name, kernel in (("narrow", _narrow), ("unsigned", _unsigned), ("wide", _wide)):
        assert far.Far(name, kernel, world)(*rows, 2) == 11
    assert world.tried == {"narrow": 1, "unsigned": 1, "wide": 1}
    assert [fault.partition(":")[0] for fault in world.faults] == ["narrow", "unsigned"]


def test_limits_of_time_and_memory_and_threads_are_numbers_that_clocks_and_machines_know():
    for name in ("time_limit", "memory_limit"):
        for value in (float("inf"), float("nan"), 1e300, 0, -1):
            with pytest.raises(ValueError, match=name):
                Experiment(**{name: value})
        assert getattr(Experiment(**{name: 1e9}), name) == 1e9
    assert Params(threads=MOST_THREADS).workers == MOST_THREADS
    with pytest.raises(InputError, match="4,097: at most 4,096"):
        Params(threads=MOST_THREADS + 1)
    for value in ("nan", "inf", "-1", "1e300", "x"):
        with pytest.raises(click.BadParameter):
            Seconds().convert(value, None, None)
    assert Seconds(1).convert("1e9", None, None) == 1e9
