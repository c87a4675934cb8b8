"""What a user names is opened once, read within limits, and refused where it is no file."""

import gzip
import hashlib
import os
import socket
import subprocess
import threading

import numpy as np
import pytest
from commands import call

from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph.readers import read, read_graph
from grailbench.util import cores, files, memory
from grailbench.util.files import opened, read_text

EDGES = "".join(f"{u} {7 * u % 20_001}\n" for u in range(20_001)).encode()


@pytest.fixture
def piped():
    """A function from bytes to the path of a pipe that gives them."""
    ends, writers = [], []

    def path(content: bytes) -> str:
        reading, writing = os.pipe()
        ends.append(reading)

        def write():
            with open(writing, "wb") as stream:
                stream.write(content)

        writers.append(threading.Thread(target=write))
        writers[-1].start()
        return f"/dev/fd/{reading}"

    yield path
    for end in ends:
        os.close(end)
    for writer in writers:
        writer.join()


# ---------------------------------------------------------------------------------------- pipes


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_gives_every_edge_that_the_file_gives(tmp_path, piped, pack):
    (tmp_path / "g.txt").write_bytes(EDGES)
    wanted, found = read_graph(tmp_path / "g.txt"), read_graph(piped(pack(EDGES)))
    assert np.array_equal(found.sources, wanted.sources)
    assert np.array_equal(found.targets, wanted.targets)


def test_a_graph_from_a_pipe_is_stored_with_the_checksum_of_what_came(piped):
    from grailbench.data.imported import import_graph

    result = import_graph(piped(EDGES), "from-a-pipe")
    assert result.reading.graph.edges == 20_001
    assert (result.meta["source"], result.meta["source_sha256"]) == ("a pipe", hashlib.sha256(EDGES).hexdigest())


def test_a_dash_is_the_standard_input(tmp_path, capsys):
    (tmp_path / "g.txt").write_bytes(EDGES)
    before = os.dup(0)
    try:
        with open(tmp_path / "g.txt", "rb") as stream:
            os.dup2(stream.fileno(), 0)
        code, out, err = call(capsys, "import", "-", "--name", "dashed", "--json")
    finally:
        os.dup2(before, 0)
        os.close(before)
    assert (code, err) == (0, "")
    assert '"file_edges": 20001' in out
    assert '"source": "standard input"' in out


def test_a_silent_pipe_and_one_that_nobody_writes_to_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SILENCE_S", 0.05)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="the pipe gave nothing for 0.05 s .write it to a file first"):
        read_graph(tmp_path / "fifo")
    reading, writing = os.pipe()
    try:
        with pytest.raises(InputError, match="the pipe gave nothing"):
            read_graph(f"/dev/fd/{reading}")
    finally:
        os.close(reading)
        os.close(writing)


def test_what_is_no_file_is_refused_at_once(tmp_path, monkeypatch):
    for path in ("/dev/null", "/dev/zero"):
        with pytest.raises(InputError, match="no file .write it to a file first"):
            read_graph(path)
    monkeypatch.chdir(tmp_path)  # the name of a socket may have 107 bytes
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("s")
        with pytest.raises(InputError, match="s: "):
            read_graph("s")


def test_a_file_that_is_read_again_later_may_be_no_pipe_and_may_not_change_while_it_is_read(piped, tmp_path):
    with pytest.raises(InputError, match="read more than once .write it to a file first"), opened(piped(b""), False):
        pass
    (tmp_path / "g.txt").write_bytes(EDGES)
    with pytest.raises(InputError, match="changed while it was read"), opened(tmp_path / "g.txt"):
        (tmp_path / "g.txt").write_bytes(EDGES + b"1 2\n")


# ---------------------------------------------------------------------------------------- limits


def test_a_pipe_without_an_end_stops_at_what_memory_allows(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 8 << 20)
    with subprocess.Popen(["yes", "0 1"], stdout=subprocess.PIPE) as endless:
        try:
            with pytest.raises(TooLittleMemory, match="gives more than 2,097,152 bytes"):
                read_graph(f"/dev/fd/{endless.stdout.fileno()}", "edges")
        finally:
            endless.kill()


def test_a_gzip_bomb_stops_at_a_multiple_of_its_size_and_at_what_memory_allows(tmp_path, monkeypatch):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(4 << 20)))
    monkeypatch.setattr(files, "SLACK", 1 << 20)
    with pytest.raises(InputError, match="unpacks to more than 1,048,576 bytes, too many for its size"):
        read_graph(tmp_path / "bomb.gz", "edges")
    monkeypatch.setattr(memory, "available", lambda: 2 << 20)
    with pytest.raises(TooLittleMemory, match="bomb.gz: it unpacks to more than 524,288 bytes"):
        read_graph(tmp_path / "bomb.gz", "edges")


def test_edges_that_do_not_fit_the_memory_are_told(tmp_path, monkeypatch):
    (tmp_path / "g.txt").write_bytes(b"0 1\n" * 100_000)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(TooLittleMemory, match="g.txt: too little memory to read it: its edges take"):
        read_graph(tmp_path / "g.txt")


def test_a_config_may_come_from_a_pipe_and_has_a_most_size(piped, tmp_path):
    assert read_text(piped(b"a = 1\n")) == "a = 1\n"
    with pytest.raises(InputError, match="3 bytes; at most 2 are read"):
        read_text(piped(b"abc"), most=2)
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "nowhere")


def test_free_memory_counts_control_groups_and_address_space(tmp_path, monkeypatch):
    import psutil

    assert 0 < memory.available() <= psutil.virtual_memory().total
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 200000\n")
    monkeypatch.setattr(memory, "groups", lambda controller: [tmp_path, tmp_path / "nowhere"])
    assert memory.available() == 500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() > 1_000_000
    with pytest.raises(TooLittleMemory, match="the thing: about 1000000.0 GB of memory needed"):
        memory.require(10**15, "the thing")


@pytest.mark.parametrize(
    ("files", "quota", "usable"),
    [
        ({"cpu.max": "150000 100000"}, 1.5, 2),
        ({"cpu.max": "max 100000"}, None, 64),
        ({"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}, 0.5, 1),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None, 64),
        ({}, None, 64),
    ],
)
def test_a_quota_of_a_control_group_bounds_the_cores(tmp_path, monkeypatch, files, quota, usable):
    own = tmp_path / "cpu,cpuacct" / "pod" / "box"
    own.mkdir(parents=True)
    for name, text in files.items():
        (own.parent / name).write_text(text + "\n")
    monkeypatch.setattr(cores, "groups", lambda controller: [own, own.parent])
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(64))
    cores.quota.cache_clear()
    try:
        assert (cores.quota(), cores.usable_cores()) == (quota, usable)
    finally:
        cores.quota.cache_clear()


# ---------------------------------------------------------------------------------------- vertices against edges


@pytest.mark.parametrize(
    ("text", "line"),
    [("0 50000000\n", 1), ("# a comment\n0 1\n1 2\n1048576 0\n2 3\n", 4), ("1 2\n3 1000000\n", 2)],
)
def test_one_far_id_is_refused_with_its_line_and_what_to_do(tmp_path, text, line):
    (tmp_path / "g.txt").write_text(text)
    with pytest.raises(InputError, match="makes a graph of .* vertices out of") as raised:
        read(tmp_path / "g.txt", "edges")
    assert raised.value.line == line
    assert all(way in raised.value.remedy for way in ("# Nodes: N Edges: M", "--vertices N", "--renumber"))


@pytest.mark.parametrize("text", ["0 999999\n", "# Nodes: 50000001 Edges: 1\n0 50000000\n"])
def test_an_id_within_reason_and_a_stated_count_are_taken(tmp_path, text):
    (tmp_path / "g.txt").write_text(text)
    assert read_graph(tmp_path / "g.txt", "edges").edges == 1


def test_as_many_vertices_as_64_an_edge_are_taken(tmp_path):
    (tmp_path / "g.txt").write_text("0 1\n" * 29_999 + "0 1919999\n")
    assert read_graph(tmp_path / "g.txt").vertices == 1_920_000
    (tmp_path / "g.txt").write_text("0 1\n" * 29_999 + "0 1920000\n")
    with pytest.raises(InputError, match="line 30000: id 1920000"):
        read_graph(tmp_path / "g.txt")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.edges", "# Nodes: 2000000000 Edges: 1\n0 1\n"),
        ("a.edges", "% asym unweighted\n% 1 2000000000 2000000000\n1 2\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 1\n1 2\n"),
        ("a.tuwien", "2000000000 1 directed\n0 1 1\n"),
        ("a.gra", "2000000000\n0: #\n"),
        ("a.graph", "2000000000 1\n2\n1\n"),
    ],
)
def test_a_header_that_lies_is_refused_before_anything_is_as_long_as_it_says(tmp_path, monkeypatch, name, text):
    monkeypatch.setattr(memory, "available", lambda: 4 << 30)
    (tmp_path / name).write_text(text)
    refused = r"line \d: (a graph of 2,000,000,000|2000000000 vertices, but|the file ends)"
    with pytest.raises((InputError, TooLittleMemory), match=refused):
        read_graph(tmp_path / name)


def test_vertices_are_as_a_header_that_says_so(tmp_path):
    (tmp_path / "g.txt").write_text("1 2\n2 5\n")

    def asked(format=None, **more):
        from grailbench.graph.readers import read_source

        with opened(tmp_path / "g.txt") as source:
            return read_source(source, format, **more)

    assert asked(vertices=9).graph.vertices == 9
    assert asked(vertices=5).graph.targets.tolist() == [1, 4]
    assert asked(renumber=True).graph.targets.tolist() == [1, 2]
    assert asked(renumber=True).graph.vertices == 3
    with pytest.raises(InputError, match="ids reach 5, and 3 of them occur, but --vertices says 4 vertices"):
        asked(vertices=4)
    with pytest.raises(InputError, match="--vertices is for edges; this is gra"):
        asked(format="gra", vertices=4)


@pytest.mark.slow
def test_import_takes_vertices_and_renumber(tmp_path, capsys):
    (tmp_path / "far.txt").write_text("0 5000000\n")
    far = ("import", tmp_path / "far.txt", "--name", "far")
    assert call(capsys, *far)[0] == 2
    assert '"file_vertices": 5000001' in call(capsys, *far, "--vertices", "5000001", "--json")[1]
    code, _, err = call(capsys, *far, "--renumber", "--json")
    assert (code, "--replace" in err) == (2, True)
    assert '"file_vertices": 2' in call(capsys, *far, "--renumber", "--replace", "--json")[1]
    assert call(capsys, *far, "--renumber", "--vertices", "3")[0] == 2
