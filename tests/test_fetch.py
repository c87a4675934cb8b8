"""Fetching: sources in turn, hosts out of reach, and what is left behind when it is interrupted."""

import gzip
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import bad_servers
import pytest
import requests
from archives import GRAPH, PACKED, dataset, leftovers, one, registry, tar_of
from commands import PATIENCE

from grailbench.data import cache as cached
from grailbench.data import library
from grailbench.data.cache import local_file
from grailbench.data.fetch import fetch
from grailbench.data.registry import Archive
from grailbench.data.sources import Hosts
from grailbench.errors import InputError

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def server(folder):
    """The folder over HTTP: `.url`, and `.asked`, a Counter of the paths asked for."""
    with bad_servers.served() as running:
        running.act = bad_servers.of_folder(folder)
        yield running


# ---------------------------------------------------------------------------------------------- sources in turn


def test_datasets_of_one_archive_download_it_once(server, folder):
    packed = tar_of(*((f"t/{name}.gra", GRAPH) for name in "abcdef"))
    (folder / "t.tar.gz").write_bytes(packed)
    wanted = [dataset(n, "t.tar.gz", f"t/{n}.gra", GRAPH, packed, from_=[server.url + "/{file}"]) for n in "abcdef"]
    results = fetch(wanted, jobs=4)
    assert [(r.dataset.name, r.status, r.file.verified) for r in results] == [(n, "fetched", True) for n in "abcdef"]
    assert server.asked == {"/t.tar.gz": 1}


def test_what_is_held_is_not_fetched_again(server, folder):
    (folder / "a.gra.gz").write_bytes(PACKED)
    wanted = [dataset(content=GRAPH, packed=PACKED, from_=[server.url + "/{file}"])]
    first = one(fetch(wanted))
    again = one(fetch(wanted))
    assert (first.status, again.status) == ("fetched", "held")
    assert again.file.note["source"] == first.file.note["source"] == server.url + "/a.gra.gz"
    assert server.asked == {"/a.gra.gz": 1}


def test_the_mirror_is_tried_before_the_registry_and_no_network_when_offline(tmp_path, server, folder):
    for place in (tmp_path, folder):
        (place / "a.gra.gz").write_bytes(PACKED)
    wanted = [dataset(content=GRAPH, packed=PACKED, from_=[server.url + "/{file}"])]
    assert one(fetch(wanted, offline=True)).status == "missing"
    assert one(fetch(wanted, mirror=server.url, offline=True)).status == "missing"
    assert one(fetch(wanted, mirror=str(tmp_path))).file.note["source"] == str(tmp_path / "a.gra.gz")
    assert not server.asked


@pytest.mark.parametrize("kind", ["folder", "file URL", "http URL", "environment"])
def test_a_mirror_may_be_a(kind, server, folder, monkeypatch):
    (folder / "a.gra.gz").write_bytes(PACKED)
    mirror = {"folder": str(folder), "file URL": folder.as_uri(), "http URL": server.url + "/"}.get(kind)
    if mirror is None:
        monkeypatch.setenv("GRAILBENCH_MIRROR", str(folder))
    offline = kind != "http URL"
    assert one(fetch([dataset(content=GRAPH, packed=PACKED)], mirror=mirror, offline=offline)).status == "fetched"


@pytest.mark.parametrize("at", ["t/a.gra", "a.gra", "toy/t.tar.gz"])
def test_a_mirror_may_hold_unpacked_graph_files_and_a_folder_for_each_set(at, folder):
    packed = tar_of(("t/a.gra", GRAPH))
    (folder / at).parent.mkdir(exist_ok=True)
    (folder / at).write_bytes(GRAPH if at.endswith(".gra") else packed)
    result = one(fetch([dataset("a", "t.tar.gz", "t/a.gra", GRAPH, packed)], mirror=str(folder)))
    assert (result.file.verified, result.file.note["source"], result.reasons) == (True, str(folder / at), ())


def test_a_second_form_of_the_graph_serves_when_the_first_cannot_be_had(folder):
    (folder / "snap.txt.gz").write_bytes(gzip.compress(b"# Nodes: 3 Edges: 2\n10\t20\n20\t30\n"))
    wanted = dataset(also=[{"archive": "snap.txt.gz", "format": "edges"}])
    wanted.archives["snap.txt.gz"] = Archive(file="snap.txt.gz", sources=(str(folder / "{file}"),))
    result = one(fetch([wanted]))
    assert (result.status, result.file.path.name) == ("fetched", "a.edges")
    shape = library.describe(wanted)
    assert (shape["file_vertices"], shape["file_edges"]) == (3, 2)


@pytest.mark.parametrize("mirror", ["/no/such/folder", "ftp://example.org/x", "file://elsewhere/x"])
def test_a_mirror_that_cannot_be_is_refused(mirror):
    with pytest.raises(InputError):
        fetch([dataset()], mirror=mirror)


# ---------------------------------------------------------------------------------------------- unreachable hosts


def asked(number, url):
    return [dataset(f"g{at}", f"g{at}.gra.gz", from_=[url]) for at in range(number)]


def test_a_host_that_refuses_is_tried_once_for_all_datasets(monkeypatch):
    get, tries = requests.get, []
    monkeypatch.setattr(requests, "get", lambda url, **more: tries.append(url) or get(url, **more))
    results = fetch(asked(9, "http://127.0.0.1:9/{file}"), hosts=Hosts())
    assert {r.status for r in results} == {"missing"}
    assert tries == ["http://127.0.0.1:9/g0.gra.gz"]
    assert results[0].reasons[0].startswith("http://127.0.0.1:9/g0.gra.gz: ")
    assert results[1].reasons[0].startswith("127.0.0.1 is out of reach: ")


def test_a_resolver_that_hangs_costs_the_timeout_once(monkeypatch):
    calls, ended = [], threading.Event()

    def hang(*args, **named):
        calls.append(args)
        ended.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    results = fetch(asked(9, "http://nowhere.invalid/{file}"), hosts=Hosts(timeout=0.1))
    ended.set()
    assert len(calls) == 1
    (reason,) = results[-1].reasons
    assert reason == "nowhere.invalid is out of reach: it sent less than 64 KiB in 0.1 s (--timeout waits longer)"


# ---------------------------------------------------------------------------------------------- interruption


def test_an_interrupted_transfer_leaves_no_half_file(folder, cache):
    for name in "ab":
        (folder / f"{name}.gra.gz").write_bytes(PACKED)
    wanted = [dataset(name, f"{name}.gra.gz", content=GRAPH, packed=PACKED) for name in "ab"]

    def tell(total, more):
        if more:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(wanted, str(folder), progress=lambda name: nullcontext(tell if name[0] == "b" else lambda *told: None))
    assert (local_file(wanted[0]) is not None, local_file(wanted[1])) == (True, None)
    assert leftovers(cache) == []


def test_ctrl_c_stops_a_running_download_and_keeps_what_is_finished(tmp_path, cache):
    """The real command, interrupted while a server feeds it a file that never ends."""
    begun = threading.Event()

    def act(handler):
        if handler.path == "/a.gra.gz":
            bad_servers.send(handler)
            return
        bad_servers.send(handler, b"", stated="")
        while not handler.server.stopped.wait(0.02):
            handler.wfile.write(os.urandom(1 << 16))
            if local_file(wanted) is not None:
                begun.set()

    wanted = dataset(content=GRAPH, packed=PACKED)
    (tmp_path / "toy.toml").write_text(registry())
    program = (
        "import sys; from pathlib import Path; from grailbench.util import paths; from grailbench.cli.main import main;"
        f"paths.shipped = lambda name: Path({str(tmp_path)!r}); main(sys.argv[1:])"
    )
    with bad_servers.served() as server:
        server.act = act
        running = subprocess.Popen(
            [sys.executable, "-c", program, "fetch", "--all", "--mirror", server.url],
            stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        )  # fmt: skip
        assert begun.wait(PATIENCE)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, said
    assert cached.cached_file(wanted).verified
    assert leftovers(cache) == []
