"""A download ends, whatever the server does: at a size, and at a deadline."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from grailbench.data.fetch import fetch
from grailbench.data.registry import Archive, Dataset
from grailbench.data.sources import Hosts


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "cache"


def dataset(url: str | None = None, size: int | None = None) -> Dataset:
    archive = Archive(file="a.gra.gz", bytes=size, sources=(url,) if url else ())
    return Dataset(name="a", title="a", archive="a.gra.gz", set="toy", set_title="Toy", archives={"a.gra.gz": archive})


def leftovers(cache):
    """Names of what lies in the cache's folders but is no finished file."""
    return [path.name for path in cache.rglob("*") if path.name.startswith(".")]


def one(result):
    (only,) = result
    return only


@pytest.fixture
def dripping():
    """A server that sends what `.begin` holds, then `.block` over and over, `.pause` seconds apart; `.sent` bytes."""
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            with suppress(OSError):
                self.wfile.write(running.begin)
                while not stopped.wait(running.pause) and running.sent < 1 << 28:
                    self.wfile.write(running.block)
                    running.sent += len(running.block)

        def log_message(self, *args):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    running.url, running.sent = f"http://127.0.0.1:{running.server_port}/{{file}}", 0
    running.begin, running.block, running.pause = b"HTTP/1.0 200 OK\r\n\r\n", b"0" * 4096, 0.0
    threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
    yield running
    stopped.set()
    running.shutdown()
    running.server_close()


@pytest.mark.parametrize("registered", [True, False])
def test_a_download_without_an_end_stops_at_the_registered_size_or_the_cap(dripping, registered, cache, monkeypatch):
    monkeypatch.setattr("grailbench.data.fetch.UNREGISTERED", 3_000_000)
    size = 1_000_000 if registered else None
    result = one(fetch([dataset(dripping.url, size)], hosts=Hosts()))
    assert f"it has more than {1_000_000 if registered else 3_000_000:,} bytes" in result.reasons[0]
    assert dripping.sent < 1 << 27
    assert leftovers(cache) == []


def test_a_download_that_announces_too_much_is_not_begun(dripping):
    dripping.begin, dripping.pause = b"HTTP/1.0 200 OK\r\nContent-Length: 1000001\r\n\r\n", 60.0
    result = one(fetch([dataset(dripping.url, 1_000_000)], hosts=Hosts()))
    assert "it has more than 1,000,000 bytes" in result.reasons[0]


@pytest.mark.parametrize("begin", [b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\nX: "])
def test_a_download_that_only_drips_ends_at_its_deadline(dripping, begin, cache):
    dripping.begin, dripping.block, dripping.pause = begin, b"0", 0.02
    hosts = Hosts(grace=0.3)
    result = one(fetch([dataset(dripping.url, 1)], hosts=hosts))
    assert "the file was not whole after" in result.reasons[0]
    assert leftovers(cache) == []


def test_a_download_has_more_time_the_larger_it_is_and_an_hour_at_most():
    assert Hosts().patience(0) == 60
    assert Hosts().patience(16 << 20) == 60 + 1024
    assert Hosts().patience(1 << 40) == 3600


def test_a_pipe_in_a_mirror_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "a.gra.gz")
    result = one(fetch([dataset()], mirror=str(tmp_path)))
    assert any("it is a pipe" in reason for reason in result.reasons)
