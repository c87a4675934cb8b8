"""Servers that do everything wrong, and fetches from them: what `test_sources` tries.

A server of this process stalls, drips, truncates, sends too much, redirects in circles and to other schemes, answers
with pages and errors, lies about sizes and resets, at a given place of the file. After each, the reasons must name the
address, nothing partial may be in the cache, what was finished before must be there, the fetch must have ended in time,
and with another mirror the graph must have come whole.
"""

import gzip
import os
import random
import socket
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

from archives import GRAPH, OTHER, PACKED, dataset, leftovers

from grailbench.data import cache
from grailbench.data.fetch import fetch
from grailbench.data.sources import Hosts
from grailbench.util import paths

WHOLE = {"done.gra", "done.gra.json", "done.gra.gz", "done.gra.gz.json"}
READ_S, LATE_S = 0.2, 30.0  # LATE_S: what a busy machine may add
MOST = 1 << 16  # bytes of a file without a registered size


class Server(ThreadingHTTPServer):
    """Answers each request by `.act(handler)`; `.url` is its address and `.stopped` an event for those that wait."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.act: Callable[[_Handler], None] = send
        self.stopped, self.asked, self.sent = threading.Event(), Counter(), 0

    def handle_error(self, request, client_address):
        """Say nothing: clients go away on purpose."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked[self.path] += 1
        with suppress(OSError):
            self.server.act(self)

    def log_message(self, *args):
        pass


@contextmanager
def served() -> Iterator[Server]:
    """A server that runs as long as the block."""
    server = Server()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()


def send(handler: _Handler, content: bytes = PACKED, status: int = 200, stated: object = None, **headers: str) -> None:
    """An answer; `stated` is the Content-Length in place of the true one, '' for none."""
    handler.send_response(status)
    if stated != "":
        handler.send_header("Content-Length", str(len(content) if stated is None else stated))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


def _stall(after: float) -> Callable[[_Handler], None]:
    def act(handler):
        send(handler, PACKED[: int(after * len(PACKED))], stated=len(PACKED))
        handler.wfile.flush()
        handler.server.stopped.wait(60)

    return act


def drip(handler: _Handler, begin: bytes = b"HTTP/1.0 200 OK\r\n\r\n", block: bytes = b"0", pause: float = READ_S / 3):
    """Sends a beginning, then a block over and over."""
    handler.wfile.write(begin)
    while not handler.server.stopped.wait(pause):
        handler.wfile.write(block)
        handler.server.sent += len(block)


def of_folder(folder: Path) -> Callable[[_Handler], None]:
    """Sends the files of a folder."""

    def act(handler):
        path = folder / handler.path[1:]
        send(handler, path.read_bytes()) if path.is_file() else send(handler, b"", 404)

    return act


def _cut(after: float) -> Callable[[_Handler], None]:
    return lambda handler: send(handler, PACKED[: int(after * len(PACKED))], stated=len(PACKED))


def _reset(after: float) -> Callable[[_Handler], None]:
    def act(handler):
        send(handler, PACKED[: int(after * len(PACKED))], stated=len(PACKED))
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RD)
        os.close(handler.connection.detach())

    return act


def _redirect(to: str) -> Callable[[_Handler], None]:
    return lambda handler: send(handler, b"", 302, Location=to)


@dataclass(frozen=True)
class Fault:
    """What a server does wrong, given a number from 0 to 1 that says where, and what a reason must say of it; '' where
    that depends on the place."""

    make: Callable[[float], Callable[[_Handler], None]]
    said: str = ""


PAGE = b"<!DOCTYPE html><title>503 \x1b[31mBusy</title>"
FAULTS = {
    "sends nothing": Fault(lambda at: lambda handler: handler.server.stopped.wait(60) and None, "--timeout"),
    "stalls midway": Fault(_stall, "--timeout"),
    "drips": Fault(lambda at: drip, "--timeout"),
    "drips its headers": Fault(lambda at: lambda h: drip(h, b"HTTP/1.0 200 OK\r\nX: "), "--timeout"),
    "truncates": Fault(_cut, "cut short"),
    "resets midway": Fault(_reset),
    "closes at once": Fault(lambda at: lambda handler: handler.connection.close()),
    "sends without an end": Fault(lambda at: lambda h: drip(h, block=bytes(1 << 16), pause=0), "more than"),
    "states too much": Fault(lambda at: lambda h: send(h, stated=10**30), "more than"),
    "states a size that is none": Fault(lambda at: lambda h: send(h, stated="many")),
    "states too little": Fault(lambda at: lambda h: send(h, stated=int(at * (len(PACKED) - 1)))),
    "sends another file": Fault(lambda at: lambda h: send(h, gzip.compress(OTHER))),
    "flips a bit": Fault(lambda at: lambda h: send(h, flipped(at))),
    "sends a page": Fault(lambda at: lambda h: send(h, PAGE), "a web page came"),
    "sends nothing whole": Fault(lambda at: lambda h: send(h, b"")),
    "bomb": Fault(lambda at: lambda h: send(h, gzip.compress(bytes(1 << 22)), Content_Encoding="gzip")),
    "broken encoding": Fault(lambda at: lambda h: send(h, b"\x1f\x8bxx", Content_Encoding="gzip")),
    "redirects in a circle": Fault(lambda at: lambda h: _redirect(h.server.url + h.path)(h), "in a circle"),
    "redirects to a file": Fault(lambda at: _redirect("file:///etc/passwd"), "only http and https"),
    "redirects to ftp": Fault(lambda at: _redirect("ftp://127.0.0.1/a"), "only http and https"),
    "redirects to no address": Fault(lambda at: _redirect("http://[")),
    "redirects to nobody": Fault(lambda at: _redirect("http://127.0.0.1:9/a")),
    **{
        f"answers {code}": Fault(lambda at, code=code: lambda h: send(h, PAGE, code), f"answered {code}")
        for code in (400, 401, 403, 404, 410, 416, 500, 502, 504)
    },
    "answers 429": Fault(lambda at: lambda h: send(h, PAGE, 429, Retry_After="120"), "try again in 120 s"),
    "answers 503": Fault(lambda at: lambda h: send(h, PAGE, 503, Retry_After="\x1b[31m never"), "answered 503"),
    "speaks no HTTP": Fault(lambda at: lambda h: h.wfile.write(random.Random(at).randbytes(300))),
}  # fmt: skip


def flipped(at: float) -> bytes:
    """The archive with one bit changed, after the ten bytes of the header that say nothing of the content."""
    place = 10 + int(at * (len(PACKED) - 10))
    return PACKED[:place] + bytes([PACKED[place] ^ 1]) + PACKED[place + 1 :]


def attempt(name: str, at: float, registered: bool, where: Path) -> Iterator[str]:
    """Fetches from a server with that fault, then again with a mirror that is good; yields what is wrong."""
    fault = FAULTS[name]
    own = {"GRAILBENCH_CACHE": str(where / "cache"), "GRAILBENCH_MIRROR": "", "NO_PROXY": "*"}
    environ = mock.patch.dict(os.environ, own)
    with served() as server, environ, mock.patch("grailbench.data.sources.UNREGISTERED", MOST):
        known = {"content": GRAPH, "packed": PACKED} if registered else {}
        first, wanted = (dataset(n, f"{n}.gra.gz", from_=[server.url + "/{file}"], **known) for n in ("done", "a"))
        fetch([first], hosts=Hosts())
        server.act = fault.make(at)
        hosts = Hosts(timeout=READ_S if fault.said == "--timeout" else LATE_S)  # a busy machine answers late, too
        before = time.monotonic()
        (result,) = fetch([wanted], hosts=hosts)
        took = time.monotonic() - before
        if took > READ_S + LATE_S:
            yield f"took {took:.1f} s"
        text = " ".join(result.reasons)
        if result.status != "missing" and (registered or name != "sends another file"):  # which nobody can tell
            yield f"is {result.status}"
        if result.status == "missing":
            if f"{server.url}/a.gra.gz" not in text:
                yield f"names no address: {text!r}"
            if fault.said not in text:
                yield f"does not say {fault.said!r}: {text!r}"
            if len(result.reasons) != 1 or not text.isprintable():
                yield f"is not one plain line: {result.reasons!r}"
            there = {path.name for kind in ("graphs", "downloads") for path in (paths.cache_dir() / kind).iterdir()}
            if foreign := sorted(there - WHOLE):
                yield f"left {foreign}"
        if found := leftovers(where):
            yield f"left {found}"
        if cache.cached_file(first) is None or cache.local_file(first).read_bytes() != GRAPH:
            yield "the graph that was fetched before is gone"
        (where / "mirror").mkdir()
        (where / "mirror" / "a.gra.gz").write_bytes(PACKED)
        wanted = dataset("a", "a.gra.gz", from_=[server.url + "/{file}", where / "mirror" / "{file}"], **known)
        (result,) = fetch([wanted], hosts=hosts)
        if result.file is None or result.file.path.read_bytes() not in (GRAPH, *([] if registered else [OTHER])):
            yield f"another mirror did not help: {result.reasons}"
        elif registered and result.file.note["source"] != str(where / "mirror" / "a.gra.gz"):
            yield f"came from {result.file.note['source']}"
        elif registered and (len(result.reasons) != 1 or "127.0.0.1" not in result.reasons[0]):
            yield f"does not say in one line why the first mirror did not help: {result.reasons}"


def trial(name: str, at: float, registered: bool) -> list[str]:
    """What is wrong after one fault, in words."""
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        label = f"{name} at {at:.3f}, {'registered' if registered else 'unknown'} checksum"
        return [f"{label}: {wrong}" for wrong in attempt(name, at, registered, Path(where))]
