"""Workers and schedulers that were stopped: they close no connection, and whoever waited for them waited for ever."""

import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
from commands import PATIENCE

from grailbench.distributed import liveness

LISTENING = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"


@contextmanager
def listening():
    """A process that listens at an address, and the address as one of a worker."""
    child = subprocess.Popen([sys.executable, "-c", f"{LISTENING}time.sleep(900)"], stdout=subprocess.PIPE, text=True)
    try:
        yield child, f"tcp://127.0.0.1:{int(child.stdout.readline())}"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def until(true):
    ends = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_a_silent_worker_is_lost_once_its_process_is_stopped_and_not_while_it_runs():
    """A worker on a busy machine is late with its heartbeats."""
    with listening() as (child, address):
        assert liveness._why(address, 1e6) is None
        child.send_signal(signal.SIGSTOP)
        until(lambda: liveness.stopped(psutil.Process(child.pid)))
        assert liveness._why(address, liveness.STOPPED_SECONDS - 0.1) is None
        assert liveness._why(address, liveness.STOPPED_SECONDS) == "its process is stopped"
        child.send_signal(signal.SIGCONT)
        until(lambda: not liveness.stopped(psutil.Process(child.pid)))
        assert liveness._why(address, 1e6) is None


def test_a_silent_worker_of_another_machine_is_lost_after_a_while():
    address = "tcp://192.0.2.1:4000"
    assert liveness._why(address, liveness.SILENT_SECONDS - 0.1) is None
    assert liveness._why(address, liveness.SILENT_SECONDS) == "no heartbeat came for 60 s"


def test_a_child_is_killed_and_another_process_is_not():
    with listening() as (child, address):
        child.send_signal(signal.SIGSTOP)
        liveness.kill_child(address)
        assert child.wait(PATIENCE) == -signal.SIGKILL
    with socket.create_server(("127.0.0.1", 0)) as own:  # of this process, which is no child of its own
        liveness.kill_child(f"tcp://127.0.0.1:{own.getsockname()[1]}")


class Scheduler:
    """Answers with what it was told last of one worker; the clock is that of `monotonic`."""

    status = "running"

    def __init__(self, monkeypatch):
        self.scheduler, self.now, self.last_seen = self, 0.0, 0.0
        monkeypatch.setattr(liveness, "monotonic", lambda: self.now)
        monkeypatch.setattr(liveness, "from_scheduler", lambda client, asking: asking)

    def identity(self):
        return {"workers": {"tcp://192.0.2.1:4000": {"last_seen": self.last_seen}}}


def looks(scheduler, number, seconds=1.0, beating=False):
    """Why the worker is lost after so many looks, each of which comes so many seconds after the one before."""
    for _ in range(number):
        scheduler.now += seconds
        scheduler.last_seen += beating
        (why,) = liveness.heartbeats(scheduler).look().values()
    return why


def test_silence_is_counted_since_the_last_heartbeat(monkeypatch):
    scheduler = Scheduler(monkeypatch)
    assert looks(scheduler, 100, beating=True) is None
    assert looks(scheduler, 59) is None
    assert looks(scheduler, 1, beating=True) is None
    assert looks(scheduler, 59) is None
    assert looks(scheduler, 1) == "no heartbeat came for 60 s"
    assert looks(scheduler, 1, beating=True) is None, "it goes on"


def test_the_time_in_which_this_process_was_stopped_is_no_silence(monkeypatch):
    """After Ctrl-Z and `fg` all heartbeats are old."""
    scheduler = Scheduler(monkeypatch)
    assert looks(scheduler, 2) is None
    assert looks(scheduler, 1, seconds=3600) is None
