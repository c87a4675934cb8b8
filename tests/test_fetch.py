"""Fetching: sources in turn, checksums, safe unpacking, and what is left behind when something goes wrong."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import PATIENCE

from grailbench import paths
from grailbench.cli.fetch import command
from grailbench.datasets import cache as held
from grailbench.datasets import library, locate, sources
from grailbench.datasets.extract import Limits, unpack
from grailbench.datasets.fetch import fetch, local_file
from grailbench.datasets.registry import Archive, Dataset
from grailbench.datasets.sources import Hosts, Progress
from grailbench.errors import CheckFailed, InputError

GRAPH = b"graph_for_greach\n3\n0: 1 #\n1: 2 #\n2: #\n"
OTHER = b"graph_for_greach\n3\n0: 2 #\n1: 2 #\n2: #\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "served").mkdir()
    return tmp_path / "served"


@pytest.fixture
def server(folder):
    """The folder over HTTP: `.url`, and `.asked`, a Counter of the paths asked for."""
    asked = Counter()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            asked[self.path] += 1
            super().do_GET()

        def log_message(self, *args):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    running.url, running.asked = f"http://127.0.0.1:{running.server_port}", asked
    threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def tar_of(*members):
    """A .tar.gz of (name, content) or TarInfo."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return packed.getvalue()


def dataset(name="a", archive="a.gra.gz", member=None, content=None, packed=None, blob=None, from_=(), **more):
    """A dataset; its checksums are known when `content` (graph file) and `packed` (archive) are given."""
    return Dataset(
        name=name,
        title=name,
        archive=archive,
        member=member,
        sha256=content and sha256(content),
        set="toy",
        set_title="Toy",
        archives={
            archive: Archive(
                file=archive, sha256=packed and sha256(packed), git_blob=blob, sources=tuple(map(str, from_))
            )
        },
        **more,
    )


def leftovers(cache):
    """Names of what lies in the cache's folders but is no finished file."""
    return [path.name for path in cache.rglob("*") if path.name.startswith(".")]


def one(result):
    (only,) = result
    return only


# ---------------------------------------------------------------------------------------------- sources in turn


def test_datasets_of_one_archive_download_it_once(server, folder):
    packed = tar_of(*((f"t/{name}.gra", GRAPH) for name in "abcdef"))
    (folder / "t.tar.gz").write_bytes(packed)
    wanted = [dataset(n, "t.tar.gz", f"t/{n}.gra", GRAPH, packed, from_=[server.url + "/{file}"]) for n in "abcdef"]
    results = fetch(wanted, jobs=4)
    assert [(r.name, r.status, r.verified) for r in results] == [(n, "fetched", True) for n in "abcdef"]
    assert server.asked == {"/t.tar.gz": 1}


def test_what_is_held_is_not_fetched_again(server, folder):
    packed = gzip.compress(GRAPH)
    (folder / "a.gra.gz").write_bytes(packed)
    wanted = [dataset(content=GRAPH, packed=packed, from_=[server.url + "/{file}"])]
    first = one(fetch(wanted))
    again = one(fetch(wanted))
    assert (first.status, again.status) == ("fetched", "held")
    assert again.source == first.source == server.url + "/a.gra.gz"
    assert server.asked == {"/a.gra.gz": 1}


@pytest.mark.parametrize("spoilt", ["absent", "another file", "cut off", "a page"])
def test_the_next_source_is_tried_after(spoilt, tmp_path, server, folder):
    packed = gzip.compress(GRAPH)
    bad = {"another file": gzip.compress(OTHER), "cut off": packed[:-5], "a page": b"<html>"}.get(spoilt)
    if bad is not None:
        (folder / "a.gra.gz").write_bytes(bad)
    (tmp_path / "a.gra.gz").write_bytes(packed)
    result = one(fetch([dataset(content=GRAPH, packed=packed, from_=[server.url + "/{file}", tmp_path / "{file}"])]))
    assert (result.status, result.source) == ("fetched", str(tmp_path / "a.gra.gz"))
    assert len(result.reasons) == 1
    assert server.url in result.reasons[0]


def test_the_mirror_is_tried_before_the_registry(tmp_path, server, folder):
    packed = gzip.compress(GRAPH)
    for place in (tmp_path, folder):
        (place / "a.gra.gz").write_bytes(packed)
    wanted = [dataset(content=GRAPH, packed=packed, from_=[server.url + "/{file}"])]
    assert one(fetch(wanted, mirror=str(tmp_path))).source == str(tmp_path / "a.gra.gz")
    assert not server.asked


@pytest.mark.parametrize("kind", ["folder", "file URL", "http URL", "environment"])
def test_a_mirror_may_be_a(kind, server, folder, monkeypatch):
    packed = gzip.compress(GRAPH)
    (folder / "a.gra.gz").write_bytes(packed)
    mirror = {"folder": str(folder), "file URL": folder.as_uri(), "http URL": server.url + "/"}.get(kind)
    if mirror is None:
        monkeypatch.setenv("GRAILBENCH_MIRROR", str(folder))
    assert one(fetch([dataset(content=GRAPH, packed=packed)], mirror=mirror)).status == "fetched"


@pytest.mark.parametrize("inside", ["t/a.gra", "a.gra"])
def test_a_mirror_may_hold_unpacked_graph_files(inside, folder):
    (folder / inside).parent.mkdir(exist_ok=True)
    (folder / inside).write_bytes(GRAPH)
    wanted = dataset("a", "t.tar.gz", "t/a.gra", GRAPH, b"?")
    assert one(fetch([wanted], mirror=str(folder))).verified


def test_a_second_form_of_the_graph_serves_when_the_first_cannot_be_had(folder):
    (folder / "snap.txt.gz").write_bytes(gzip.compress(b"# Nodes: 3 Edges: 2\n10\t20\n20\t30\n"))
    wanted = dataset(also=[{"archive": "snap.txt.gz", "format": "edges"}])
    wanted.archives["snap.txt.gz"] = Archive(file="snap.txt.gz", sources=(str(folder / "{file}"),))
    result = one(fetch([wanted]))
    assert (result.status, result.path.name) == ("fetched", "a.edges")
    shape = library.describe(wanted)
    assert (shape["file_vertices"], shape["file_edges"]) == (3, 2)


@pytest.mark.parametrize("mirror", ["/no/such/folder", "ftp://example.org/x", "file://elsewhere/x"])
def test_a_mirror_that_cannot_be_is_refused(mirror):
    with pytest.raises(InputError):
        fetch([dataset()], mirror=mirror)


def test_offline_uses_folders_and_no_network(server, folder):
    packed = gzip.compress(GRAPH)
    (folder / "a.gra.gz").write_bytes(packed)
    wanted = [dataset(content=GRAPH, packed=packed, from_=[server.url + "/{file}"])]
    assert one(fetch(wanted, offline=True)).status == "missing"
    assert one(fetch(wanted, mirror=server.url, offline=True)).status == "missing"
    assert one(fetch(wanted, mirror=str(folder), offline=True)).status == "fetched"
    assert not server.asked


def test_folders_serve_and_graphs_open_without_pooch(folder, monkeypatch):
    packed = gzip.compress(GRAPH)
    (folder / "a.gra.gz").write_bytes(packed)
    monkeypatch.setitem(sys.modules, "pooch", None)
    wanted = [dataset(content=GRAPH, packed=packed, from_=["http://127.0.0.1:9/{file}", folder / "{file}"])]
    result = one(fetch(wanted, hosts=Hosts(connect=1)))
    assert result.verified
    assert library.describe(wanted[0])["vertices"] == 4


# ---------------------------------------------------------------------------------------------- unreachable hosts


def test_a_refused_host_is_knocked_at_once_for_all_datasets(monkeypatch):
    knocks = Counter()
    knock = sources._knock
    monkeypatch.setattr(sources, "_knock", lambda host, *rest: knocks.update([host]) or knock(host, *rest))
    wanted = [dataset(n, f"{n}.gra.gz", from_=["http://127.0.0.1:9/{file}"]) for n in "abcdefghij"]
    results = fetch(wanted, jobs=3, hosts=Hosts())
    assert {r.status for r in results} == {"missing"}
    assert knocks == {"127.0.0.1": 1}
    assert results[0].reasons[0].startswith("127.0.0.1 is out of reach")


def test_a_resolver_that_hangs_costs_the_connect_timeout_once(monkeypatch):
    asked, ended = [], threading.Event()

    def hang(*args, **named):
        asked.append(args)
        ended.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    wanted = [dataset(n, f"{n}.gra.gz", from_=["http://nowhere.invalid/{file}"]) for n in "abcdefghij"]
    results = fetch(wanted, hosts=Hosts(connect=0.1))
    ended.set()
    assert len(asked) == 1
    assert results[-1].reasons == ("nowhere.invalid is out of reach: no answer in 0.1 s",)


def test_a_server_that_never_answers_costs_the_read_timeout_once():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/{{file}}"
        wanted = [dataset(n, f"{n}.gra.gz", from_=[url]) for n in "abcdefghij"]
        results = fetch(wanted, hosts=Hosts(read=0.3))
        silent.setblocking(False)
        asked = 0
        with suppress(BlockingIOError):
            while True:
                silent.accept()[0].close()
                asked += 1
    assert asked == 2
    assert all("out of reach" in r.reasons[0] for r in results)


# ---------------------------------------------------------------------------------------------- checksums


def test_a_wrong_checksum_leaves_nothing_and_names_both(folder, cache):
    (folder / "a.gra.gz").write_bytes(gzip.compress(OTHER))
    right = gzip.compress(GRAPH)
    result = one(fetch([dataset(content=GRAPH, packed=right)], mirror=str(folder)))
    assert result.status == "missing"
    assert sha256(right) in result.reasons[0]
    assert sha256((folder / "a.gra.gz").read_bytes()) in result.reasons[0]
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_a_right_archive_with_a_wrong_graph_inside_is_refused(folder):
    packed = gzip.compress(OTHER)
    (folder / "a.gra.gz").write_bytes(packed)
    result = one(fetch([dataset(content=GRAPH, packed=packed)], mirror=str(folder)))
    assert result.status == "missing"
    assert local_file(result.dataset) is None


def test_an_unknown_checksum_is_locked_at_first_fetch_and_never_verified(folder, cache):
    (folder / "a.gra.gz").write_bytes(gzip.compress(GRAPH))
    wanted = dataset()
    first = one(fetch([wanted], mirror=str(folder)))
    assert (first.status, first.verified, first.checked) == ("fetched", False, "first")
    assert held.locked_sha256("a.gra.gz") == first.archive_sha256
    for path in [*cache.glob("graphs/*"), *cache.glob("downloads/*")]:
        path.unlink()
    again = one(fetch([wanted], mirror=str(folder)))
    assert (again.status, again.verified, again.checked) == ("fetched", False, "lock")
    assert library.describe(wanted)["verified"] is False


def test_a_file_that_changed_since_the_first_fetch_is_refused(folder, cache):
    (folder / "a.gra.gz").write_bytes(gzip.compress(GRAPH))
    fetch([dataset()], mirror=str(folder))
    for path in [*cache.glob("graphs/*"), *cache.glob("downloads/*")]:
        path.unlink()
    (folder / "a.gra.gz").write_bytes(gzip.compress(OTHER))
    result = one(fetch([dataset()], mirror=str(folder)))
    assert result.status == "missing"
    assert "datasets.lock.toml" in result.reasons[0]


def test_the_id_in_the_authors_repository_is_recognised_but_not_called_verified(folder):
    packed = gzip.compress(GRAPH)
    (folder / "a.gra.gz").write_bytes(packed)
    blob = hashlib.sha1(b"blob %d\0" % len(packed) + packed).hexdigest()
    result = one(fetch([dataset(blob=blob)], mirror=str(folder)))
    assert (result.checked, result.verified) == ("git-blob", False)


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("cut off in the gzip", gzip.compress(GRAPH * 50, mtime=0)[:-9]),
        ("no gzip", GRAPH),
        ("cut off in the graph", gzip.compress(b"graph_for_greach\n3\n0: 1 #\n1: 2", mtime=0)),
        ("fewer vertices than announced", gzip.compress(b"graph_for_greach\n3\n0: 1 #\n", mtime=0)),
    ],
)
def test_an_unvouched_file_is_refused_and_not_locked_when(what, content, folder, cache):
    (folder / "a.gra.gz").write_bytes(content)
    result = one(fetch([dataset()], mirror=str(folder)))
    assert result.status == "missing"
    assert held.locked_sha256("a.gra.gz") is None
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_an_unvouched_graph_with_another_number_of_vertices_than_printed_is_refused(folder):
    (folder / "a.gra.gz").write_bytes(gzip.compress(GRAPH))
    row = {"paper": "thesis", "table": "2.3", "edges": 3, "degree": "1"}
    result = one(fetch([dataset(published=[row | {"vertices": 5}])], mirror=str(folder)))
    assert "holds 3 vertices, but thesis, table 2.3 prints 5" in result.reasons[0]
    assert held.locked_sha256("a.gra.gz") is None
    assert one(fetch([dataset(published=[row | {"vertices": 4}])], mirror=str(folder))).status == "fetched"


def test_an_edited_graph_file_is_refused_and_fetched_anew(folder):
    for wanted in (dataset(content=GRAPH, packed=gzip.compress(GRAPH, mtime=0)), dataset("b", "b.gra.gz")):
        (folder / wanted.archive).write_bytes(gzip.compress(GRAPH, mtime=0))
        path = one(fetch([wanted], mirror=str(folder))).path
        path.write_bytes(OTHER)
        with pytest.raises(InputError, match=f"grailbench fetch {wanted.name}"):
            held.held(wanted)
        assert one(fetch([wanted], mirror=str(folder))).status == "fetched"
        assert path.read_bytes() == GRAPH


# ---------------------------------------------------------------------------------------------- unpacking


def entry(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


OUT, LINK = "leads out of its folder", "is a link"
UNSAFE = {
    "a path out of the folder": (("../evil", GRAPH), OUT),
    "a path out of the folder, inside": (("t/../../evil", GRAPH), OUT),
    "an absolute path": (("/tmp/evil", GRAPH), OUT),
    "a symbolic link": (entry("t/link", tarfile.SYMTYPE, "/etc/passwd"), LINK),
    "a hard link": (entry("t/link", tarfile.LNKTYPE, "t/a.gra"), LINK),
    "a device": (entry("t/null", tarfile.CHRTYPE), "is a device"),
    "a pipe": (entry("t/pipe", tarfile.FIFOTYPE), "is a device"),
    "the wanted member as a link": (entry("t/a.gra", tarfile.SYMTYPE, "/etc/passwd"), LINK),
    "the wanted member twice": (("t/a.gra", OTHER), "holds member 't/a.gra' twice"),
}


@pytest.mark.parametrize("unsafe", UNSAFE)
def test_a_tar_is_refused_for(unsafe, tmp_path, folder, cache):
    member, why = UNSAFE[unsafe]
    (folder / "t.tar.gz").write_bytes(tar_of(("t/a.gra", GRAPH), member))
    result = one(fetch([dataset("a", "t.tar.gz", "t/a.gra")], mirror=str(folder)))
    assert result.status == "missing"
    assert why in result.reasons[0]
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    assert not list(tmp_path.rglob("evil"))


def test_a_tar_whose_gzip_checksum_is_wrong_is_refused(folder):
    packed = bytearray(tar_of(("t/a.gra", GRAPH)))
    packed[-8] ^= 1
    (folder / "t.tar.gz").write_bytes(packed)
    result = one(fetch([dataset("a", "t.tar.gz", "t/a.gra")], mirror=str(folder)))
    assert "damaged archive: CRC check failed" in result.reasons[0]


def test_a_member_that_is_not_there_is_named(folder):
    (folder / "t.tar.gz").write_bytes(tar_of(("t/b.gra", GRAPH)))
    result = one(fetch([dataset("a", "t.tar.gz", "t/a.gra")], mirror=str(folder)))
    assert "holds no member 't/a.gra'" in result.reasons[0]


@pytest.mark.parametrize("name", ["bomb.gra.gz", "bomb.tar.gz"])
@pytest.mark.parametrize("limits", [Limits(slack=1000, ratio=50), Limits(bytes=100_000)])
def test_a_bomb_is_stopped_at_the_limit(name, limits, tmp_path):
    bomb = b"0" * 3_000_000
    member = "bomb.gra" if name.endswith(".tar.gz") else None
    (tmp_path / name).write_bytes(tar_of(("bomb.gra", bomb)) if member else gzip.compress(bomb))
    with pytest.raises(InputError, match="unpacks to more than"):
        unpack(tmp_path / name, member, tmp_path / "out", limits)
    assert (tmp_path / "out").stat().st_size <= limits.of(tmp_path / name)


def test_the_limits_let_a_plausible_archive_through(tmp_path):
    text = b"graph_for_greach\n90000\n" + b"".join(b"%d: #\n" % v for v in range(90_000))
    (tmp_path / "a.gra.gz").write_bytes(gzip.compress(text))
    unpack(tmp_path / "a.gra.gz", None, tmp_path / "a.gra")
    assert (tmp_path / "a.gra").read_bytes() == text


# ---------------------------------------------------------------------------------------------- interruption


class _Interrupts(Progress):
    def update(self, count):
        raise KeyboardInterrupt


def test_an_interrupted_transfer_leaves_no_half_file(folder, cache):
    packed = gzip.compress(GRAPH)
    for name in "ab":
        (folder / f"{name}.gra.gz").write_bytes(packed)
    wanted = [dataset(name, f"{name}.gra.gz", content=GRAPH, packed=packed) for name in "ab"]
    with pytest.raises(KeyboardInterrupt):
        fetch(wanted, str(folder), progress=lambda name: _Interrupts() if name[0] == "b" else Progress())
    assert (local_file(wanted[0]) is not None, local_file(wanted[1])) == (True, None)
    assert leftovers(cache) == []


def test_ctrl_c_stops_a_running_download_and_keeps_what_is_finished(tmp_path, cache):
    """The real command, interrupted while a server feeds it a file that never ends."""
    packed = gzip.compress(GRAPH)
    begun = threading.Event()

    class Endless(SimpleHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            if self.path == "/a.gra.gz":
                self.wfile.write(packed)
                return
            try:
                while True:
                    self.wfile.write(os.urandom(1 << 16))
                    if local_file(wanted) is not None:
                        begun.set()
                    time.sleep(0.02)
            except OSError:
                return

        def log_message(self, *args):
            pass

    wanted = dataset(content=GRAPH, packed=packed)
    registered = f'''set = "toy"\ntitle = "Toy"\nposition = 1\n[archives."a.gra.gz"]\nsha256 = "{sha256(packed)}"
[archives."b.gra.gz"]\n[[datasets]]\nname = "a"\ntitle = "a"\narchive = "a.gra.gz"\nsha256 = "{sha256(GRAPH)}"
[[datasets]]\nname = "b"\ntitle = "b"\narchive = "b.gra.gz"\n'''
    (tmp_path / "toy.toml").write_text(registered)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = (
        "import sys; from pathlib import Path; from grailbench import paths; from grailbench.cli.main import main;"
        f"paths.datasets_dir = lambda: Path({str(tmp_path)!r}); main(sys.argv[1:])"
    )
    mirror = f"http://127.0.0.1:{server.server_port}"
    running = subprocess.Popen(
        [sys.executable, "-c", program, "fetch", "--all", "--mirror", mirror],
        stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert begun.wait(PATIENCE)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    server.shutdown()
    server.server_close()
    assert running.returncode == 130, said
    assert held.held(wanted).verified
    assert leftovers(cache) == []


def test_temporary_files_of_a_killed_process_are_swept_after_a_day(cache):
    (cache / "graphs").mkdir(parents=True)
    old, new = cache / "graphs" / ".x.a.gra", cache / "graphs" / ".y.a.gra"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    fetch([])
    assert (old.exists(), new.exists()) == (False, True)


# ---------------------------------------------------------------------------------------------- the command


@pytest.fixture
def toys(tmp_path, folder, monkeypatch):
    """A registry of two toy graphs served by `folder`, one with a published row; returns a writer of that row."""
    packed = gzip.compress(GRAPH)
    for name in "ab":
        (folder / f"{name}.gra.gz").write_bytes(packed)

    def publish(vertices, edges):
        where = tmp_path / f"registry-{vertices}-{edges}"
        where.mkdir()
        (where / "toy.toml").write_text(
            f'set = "toy"\ntitle = "Toy"\nposition = 1\nsources = ["{folder}/{{file}}"]\n'
            f'[archives."a.gra.gz"]\nsha256 = "{sha256(packed)}"\n[archives."b.gra.gz"]\n'
            f'[[datasets]]\nname = "a"\ntitle = "A"\narchive = "a.gra.gz"\nsha256 = "{sha256(GRAPH)}"\n'
            f'published = [{{ paper = "thesis", table = "2.1", vertices = {vertices}, edges = {edges}, '
            'degree = "0.7" }]\n'
            '[[datasets]]\nname = "b"\ntitle = "B"\narchive = "b.gra.gz"\n'
        )
        monkeypatch.setattr(paths, "datasets_dir", lambda: where)

    return publish


def run(*words):
    return CliRunner().invoke(command, words, catch_exceptions=True)


def test_json_has_one_row_a_graph_with_measured_beside_published(toys):
    toys(4, 3)
    ran = run("a", "b", "--json")
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.exit_code == 0
    wanted = ("name", "set", "vertices", "edges", "published_vertices", "published_edges", "matches", "verified")
    assert [[row[key] for key in wanted] for row in rows] == [
        ["a", "toy", 4, 3, 4, 3, True, True],
        ["b", "toy", 4, 3, None, None, None, False],
    ]
    assert rows[0]["sha256"] == sha256(GRAPH)
    assert (rows[0]["levels"], rows[0]["roots"], rows[0]["status"]) == (4, 1, "fetched")


@pytest.mark.parametrize("stripped", [False, True])
def test_counts_edited_in_the_cache_are_not_believed(toys, cache, caplog, stripped):
    toys(4, 3)
    first = json.loads(run("a", "--json").stdout)
    path = cache / "graphs" / "a.gra.json"
    note = json.loads(path.read_text())
    note["measured"]["levels"] = 77
    if stripped:  # as notes were before they had checksums
        del note["sum"]
    path.write_text(json.dumps(note))
    again = json.loads(run("a", "--json").stdout)
    assert again["levels"] == first["levels"] == 4
    assert json.loads(path.read_text())["measured"]["levels"] == 4
    assert ("a.gra.json is damaged" in caplog.text) == (not stripped)


def test_a_count_that_differs_from_print_is_crossed_and_fails(toys):
    toys(4, 4)
    ran = run("a")
    assert isinstance(ran.exception, CheckFailed)
    assert ran.exception.exit_code == 1
    assert "✗" in ran.stdout
    assert "✓" not in ran.stdout


def test_the_table_shows_measured_beside_printed_and_says_what_is_not_verified(toys):
    toys(4, 3)
    ran = run("--all")
    assert "Table 2.1" in ran.stdout
    assert "✓" in ran.stdout
    assert "b: not verified" in ran.stdout


def test_a_graph_that_cannot_be_had_fails_with_two_and_says_why(toys, folder):
    toys(4, 3)
    (folder / "b.gra.gz").unlink()
    ran = run("--all")
    assert isinstance(ran.exception, InputError)
    assert ran.exception.exit_code == 2
    assert "b.gra.gz: no such file" in ran.stderr
    assert "Table 2.1" in ran.stdout


def test_help_says_what_the_exit_codes_mean():
    ran = run("--help")
    assert ran.exit_code == 0
    assert "Exit codes" in ran.output


# ---------------------------------------------------------------------------------------------- the real graphs


@pytest.mark.mirror
def test_the_sixteen_thesis_graphs_match_their_tables_exactly(mirror, session_cache, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(session_cache))
    wanted = locate.choose()
    results = fetch(wanted, str(mirror), offline=True, jobs=2)
    assert [r.verified for r in results] == [True] * 19
    rows = {d.name: library.describe(d) for d in wanted}
    assert sum(row["matches"] is True for row in rows.values()) == 16
    assert {name for name, row in rows.items() if row["matches"] is None} == {"arxiv", "ba10k2d", "ba10k5d"}
    for d in wanted:
        assert (rows[d.name]["file_vertices"], rows[d.name]["file_edges"]) == (d.counted.vertices, d.counted.edges)


@pytest.mark.mirror
def test_a_real_graph_opens_the_same_from_the_cache(mirror, session_cache, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(session_cache))
    fetch([locate.dataset_named("kegg")], str(mirror))
    first, again = library.open_graph("kegg"), library.open_graph("Kegg")
    assert (first.kind, first.title, first.table, first.verified) == ("real", "Kegg", "2.1", True)
    assert (first.published_vertices, first.published_edges) == (3618, 5576)
    assert first.dag.printed_edges == again.dag.printed_edges == 5576
    assert first.dag.edges == again.dag.edges == 5089
