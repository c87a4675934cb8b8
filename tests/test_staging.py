"""The threads of the host that copy between it and a device."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401

from grailbench.cuda.edges import staging


@pytest.mark.parametrize("size", [0, 1, 3, 1000])
def test_threads_copy_every_element(size, monkeypatch):
    source = np.arange(size) % 2 == 0
    to = ~source
    with ThreadPoolExecutor(4) as threads:
        monkeypatch.setattr(staging.cuda, "get_current_device", lambda: SimpleNamespace(id=0))
        monkeypatch.setattr(staging, "_lanes", lambda device: (threads, [None] * 4))
        monkeypatch.setattr(staging, "many", lambda pairs: True)
        staging.spread(source, to)
    assert np.array_equal(to, source)


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
