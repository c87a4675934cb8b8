"""The threads of the host that copy between it and a device."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401

from grailbench.cuda.edges import staging
from grailbench.problems.reachability.gpu.core import build


@pytest.mark.parametrize("size", [0, 1, 3, 1000])
def test_threads_copy_every_element(size, monkeypatch):
    source = np.arange(size) % 2 == 0
    to = ~source
    copying = []
    with ThreadPoolExecutor(4, initializer=lambda: copying.append(threading.get_ident())) as threads:
        monkeypatch.setattr(staging.cuda, "get_current_device", lambda: SimpleNamespace(id=0))
        monkeypatch.setattr(staging, "_lanes", lambda device: (threads, [None] * 4))
        monkeypatch.setattr(staging, "many", lambda pairs: True)
        staging.spread(source, to)
    assert np.array_equal(to, source)
    assert copying


def test_several_threads_copy_from_two_million_pairs_on(monkeypatch):
    assert not staging.many(staging.MANY)  # in the simulator
    monkeypatch.setattr(staging, "simulated", False)
    assert [staging.many(pairs) for pairs in (0, staging.MANY - 1, staging.MANY)] == [False, False, True]


def test_each_column_of_a_batch_is_brought_to_its_own_end(monkeypatch):
    brought = []
    monkeypatch.setattr(staging, "prepare", lambda: None)
    monkeypatch.setattr(staging, "bring", lambda columns, places: brought.extend(zip(columns, places, strict=True)))
    ends = [SimpleNamespace(device_ctypes_pointer=SimpleNamespace(value=place)) for place in (7, 9)]
    build._by_threads(ends)(("sources", "targets"))
    assert brought == [("sources", 7), ("targets", 9)]


def test_an_interrupt_waits_for_the_copies_that_have_begun():
    go, written = threading.Event(), []

    def copy():
        go.wait(60)
        written.append(True)

    def tasks(threads):
        yield threads.submit(copy)
        threading.Timer(0.1, go.set).start()
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(KeyboardInterrupt):
            staging._finish(tasks(threads))
        assert written


def test_an_error_of_a_copy_is_raised():
    with ThreadPoolExecutor(2) as threads, pytest.raises(ValueError, match="could not broadcast"):
        staging._finish(threads.submit(np.copyto, np.zeros(2), np.zeros(length)) for length in (2, 3))
