"""`streamed`: labels are those of the twin of `gpu-fused`, bit for bit, and answers the oracle's, however small the
blocks; what is finished survives a kill and a full disk."""

import errno
import gzip
import json
import os
import shutil

import numpy as np
import pytest
from commands import call
from dags import hub_words, same_dag
from fused_twin import records
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import closure
from outcomes import succeeds
from strategies import dags, digraphs, graph_of
from test_disk import one_line

import grailbench as gb
from grailbench.api.streamed import built, file_of
from grailbench.errors import InputError, MachineLacks, TooLittleMemory
from grailbench.graph import mapped
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag
from grailbench.graph.generate.uniform import random_blocks, random_dag
from grailbench.graph.leveled import by_level
from grailbench.outofcore import blocks, edges, folder, labels, levels, search, streams
from grailbench.outofcore import build as stages
from grailbench.outofcore.index import Streamed
from grailbench.problems.reachability import stored
from grailbench.problems.reachability.gpu.fused.host import record_width, salts
from grailbench.problems.reachability.index import FILTERS, NoTimer, Params

SMALL = 500_000_000  #: bytes of memory that every graph here fits
MANY = settings(max_examples=8)


def params(dim=2, **others):
    return Params(dim=dim, filters=FILTERS, memory=SMALL, **others)


def blocks_of(pairs, size):
    """A function that returns the edges of a list as blocks."""
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return lambda: [(ends[k : k + size, 0], ends[k : k + size, 1]) for k in range(0, len(pairs), size)]


def assert_as_the_twin(index, drawn, dim, seed):
    """The saved graph is the condensed one, labels are the twin's, hubs those of the CPU, answers the oracle's."""
    dag = condense(graph_of(*drawn))
    own = index.graph.dag
    assert same_dag(Dag(*(getattr(own, name) for name in stored._DAG), own.duplicates, own.loops), dag)
    inner, leveled, width = index._engine.index, by_level(dag), record_width(dim)
    lanes = inner.records.lanes.reshape(-1, width)[dag.order]
    assert np.array_equal(lanes, records(leveled, salts(seed, range(dim)), dim, width))
    assert np.array_equal(inner.hubs, hub_words(dag))
    every = np.arange(drawn[0])
    found = np.unpackbits(index.matrix(every, every), axis=1, count=drawn[0]) if drawn[0] else []
    assert [set(np.flatnonzero(row).tolist()) for row in found] == closure(*drawn)


@pytest.mark.slow
@MANY
@given(
    drawn=st.one_of(dags(40), digraphs()), dim=st.integers(1, 4), seed=st.integers(0, 9), block=st.integers(1, 40),
    narrow=st.sampled_from([1, 3, levels.NARROW]), spare=st.sampled_from([1, 200, 10**6]),
    few=st.sampled_from([1, 3, 10**6]),
)  # fmt: skip
def test_labels_are_the_twins_and_answers_the_oracles(tmp_path_factory, drawn, dim, seed, block, narrow, spare, few):
    """With cycles, an error names one."""
    to = tmp_path_factory.mktemp("streamed") / "build"
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(levels, "NARROW", narrow)
            patch.setattr(stages, "spare", lambda memory, vertices: spare)
            patch.setattr(edges, "_FILES", 3)
            patch.setattr(edges, "_room", lambda memory, vertices: edges._KEYS * few)
            index, _ = built(blocks_of(drawn[1], block), params(dim, seed=seed), to, drawn[0], block=block)
    except InputError as error:
        assert condense(graph_of(*drawn)).vertices - 1 < drawn[0]
        assert_is_a_cycle(str(error), {pair for pair in drawn[1] if pair[0] != pair[1]})
    else:
        assert_as_the_twin(index, drawn, dim, seed)


def assert_is_a_cycle(said, pairs):
    assert "has cycles" in said
    shown = said.partition(": ")[2].partition(" is one")[0].split(" -> ")
    assert shown[0] == shown[-1]
    steps = [step for step in zip(shown[:-1], shown[1:], strict=True) if "..." not in step]
    assert {(int(u), int(v)) for u, v in steps} <= pairs


def test_the_harness_gets_the_same_index_of_a_condensed_graph():
    dag = condense(graph_of(6, [(0, 1), (1, 0), (1, 2), (3, 2), (2, 4), (4, 2), (5, 0)]))
    index = Streamed.build(dag, params(), NoTimer())
    assert index.check_labels(dag) is None
    words = records(by_level(dag), salts(1, range(2)), 2, record_width(2))
    assert np.array_equal(index.records.lanes.reshape(words.shape)[dag.order], words)
    index.records.lanes.reshape(words.shape)[0, 0] += 1
    assert index.check_labels(dag) is not None


@pytest.mark.slow
@pytest.mark.parametrize(("items", "slots"), [(1, 4096), (64, 64), (64, 4096)])
def test_searches_in_rounds_give_the_same_answers(items, slots):
    """`OPEN`, where the set is too small, is no answer."""
    graph = random_dag(300, 3)
    dag = condense(graph)
    index = Streamed.build(dag, params(), NoTimer())
    us, vs = (ends.ravel().astype(np.int32) for ends in np.meshgrid(np.arange(300), np.arange(300)))
    first = np.empty(us.size, np.int8)
    no_hubs = np.zeros_like(index.hubs)  # leaves more open
    search.sift(us, vs, index.records, no_hubs, first)
    left = np.flatnonzero(first == search.OPEN)
    assert left.size > 100
    asked = []
    ask = lambda starts, ends: asked.extend(zip(starts.tolist(), ends.tolist(), strict=True))  # noqa: E731
    rounds = search.Rounds((dag.offsets, dag.children), index.records, no_hubs, ask, 0, items, slots)
    answers = np.concatenate([rounds.answer(us[some], vs[some], None) for some in np.array_split(left, left.size // 9)])
    truth = index.query_batch(us[left], vs[left], NoTimer())
    known = answers != search.OPEN
    assert np.array_equal(answers[known] == search.YES, truth[known])
    assert known.all() if slots == 4096 else not known.all()
    assert all(0 <= start < end <= -(-dag.children.nbytes // 4096) for start, end in asked)


# ---------------------------------------------------------------------------------------- where edges come from


@pytest.fixture(scope="module")
def drawn():
    return random_dag(500, 4)


def written(graph, path):
    """A graph as a file of the kind that its name says."""
    lines = "".join(f"{u} {v}\n" for u, v in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    if path.suffix == ".parquet":
        whole = streams.Stream(lambda: [(graph.sources, graph.targets)], {}, graph.vertices)
        streams.write_parquet(path, whole)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(f"# a comment\n{lines}".encode()))
    else:
        path.write_text(lines.rstrip("\n"))
    return path


@pytest.mark.parametrize("name", ["g.edges", "g.txt.gz", "g.parquet"])
def test_a_file_gives_the_index_that_its_graph_in_memory_gives(tmp_path, monkeypatch, drawn, name):
    monkeypatch.setattr(streams, "BYTES", 1000)
    monkeypatch.setattr(streams, "ROWS", 100)
    index = gb.build(written(drawn, tmp_path / name), "streamed", memory="500MB", vertices=500)
    graph = gb.Graph.from_edges(drawn.sources, drawn.targets, vertices=500)
    assert index.graph.checksum == graph.checksum
    held = gb.build(graph, "streamed", memory="500MB")
    assert np.array_equal(index._engine.index.records.lanes, held._engine.index.records.lanes)
    index.save(tmp_path / "again.index")
    assert gb.load(tmp_path / "again.index", graph).implementation == "streamed"


@pytest.mark.parametrize(("degree", "block"), [(3, 50), (0, 5), (30, 40)])
def test_the_generator_makes_the_same_graph_block_by_block(degree, block):
    whole, parts = random_dag(70, degree, 5), [*random_blocks(70, degree, 5, block)]
    found = sorted(zip(*(np.concatenate(side).tolist() for side in zip(*parts, strict=True)), strict=True))
    assert found == sorted(zip(whole.sources.tolist(), whole.targets.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1\n1 2\n2 x\n", "line 3"),
        ("0 1\n\n# Undirected graph\n", None),
        ("# Undirected graph: x\n0 1\n", "undirected graph: each edge leads both ways"),
        ("0 1\n1\n", "line 2"),
        ("0 1\n1 2\n2 0\n", "cycles"),
    ],
)
def test_a_faulty_file_is_named_with_its_line(tmp_path, monkeypatch, text, said):
    monkeypatch.setattr(streams, "BYTES", 5)
    (tmp_path / "g.edges").write_text(text)
    if said is None:
        assert built(tmp_path / "g.edges", params(), tmp_path / "build")[0].graph.vertices == 2
        return
    with pytest.raises(InputError, match=said):
        built(tmp_path / "g.edges", params(), tmp_path / "build")


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_pieces_of_an_edge_list_end_at_any_line_end(tmp_path, monkeypatch, size):
    """Holds the fault that carriage returns alone made one edge of several lines."""
    (tmp_path / "g.edges").write_bytes(b"# c\r0 1\r\n1 2\r\r\n2 3\n3 40\r")
    monkeypatch.setattr(streams, "BYTES", size)
    read = [block for block in streams.opened(tmp_path / "g.edges").blocks()]
    assert [np.concatenate(ends).tolist() for ends in zip(*read, strict=True)] == [[0, 1, 2, 3], [1, 2, 3, 40]]
    (tmp_path / "g.edges").write_bytes(b"0 1\r\n1 2\r2 x\r")
    with pytest.raises(InputError, match=r"g\.edges, line 3"):
        list(streams.opened(tmp_path / "g.edges").blocks())


def test_what_is_no_stream_is_refused(tmp_path):
    (tmp_path / "g.gra").write_text("2\n0: 1 #\n1: #\n")
    for given_, said in (
        (tmp_path / "g.gra", "gra files do not come as a stream"),
        ([(np.array([0.5]), np.array([1.0]))], "sources of float64"),
        ([(np.array([0, 1]), np.array([1]))], "2 sources and 1 targets"),
        ([(np.array([0, 9]), np.array([1, 1]))], "edge 1: source 9 is out of range for 3 vertices"),
    ):
        with pytest.raises(InputError, match=said):
            gb.build(given_, "streamed", vertices=3, memory=SMALL)
    with pytest.raises(InputError, match="no Graph"):
        gb.build("g.edges")
    with pytest.raises(InputError, match="streams of edges"):
        gb.build(gb.Graph.from_edges([0], [1]), "streamed", resume=True)


# ---------------------------------------------------------------------------------------- commands


def test_build_saves_what_ask_answers_from(capsys, tmp_path, drawn):
    truth = gb.build(gb.Graph.from_edges(drawn.sources, drawn.targets, vertices=500), "dfs")
    succeeds(capsys, "generate", "random", "--vertices", 500, "--degree", 4, "--stream", tmp_path / "g.parquet")
    words = ["build", tmp_path / "g.parquet", "--impl", "streamed", "--memory", "500MB"]
    out, err = succeeds(capsys, *words, "--out", tmp_path / "g.index", "--json")
    record = json.loads(out)
    assert (record["vertices"], record["edges"], record["bytes"]) == (
        500, drawn.edges, (tmp_path / "g.index").stat().st_size,
    )  # fmt: skip
    assert [*record["stages"]] == [*stages.STAGES, "6-index"]
    assert [line.partition(":")[0] for line in err.splitlines()] == [*record["stages"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.index", "g.parquet"]
    told, _ = succeeds(capsys, "ask", tmp_path / "g.index", "--descendants", 7)
    assert told.split() == [str(v) for v in truth.descendants(7).tolist()]
    succeeds(capsys, "build", "random-n500-k4-s1", *words[2:], "--out", tmp_path / "h.index")
    assert (tmp_path / "h.index").read_bytes() == (tmp_path / "g.index").read_bytes()


# ---------------------------------------------------------------------------------------- faults


def test_too_little_memory_says_what_would_do(tmp_path):
    with pytest.raises(TooLittleMemory, match=r"10,000,000 vertices need 0.7 GB.*\(--memory 744MB\)"):
        built(lambda: iter(()), Params(memory=743_999_999), tmp_path / "build", 10_000_000)
    ends = np.array([0]), np.array([9_999_999])
    with pytest.raises(TooLittleMemory, match="10,000,000 vertices need 0.7 GB"):  # known when all edges were seen
        built(lambda: [ends], Params(memory=743_999_999), tmp_path / "other")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, drawn):
    """The file of edges, and the bytes of the index that a build which nothing disturbs makes."""
    path = written(drawn, tmp_path_factory.mktemp("edges") / "g.edges")
    to = path.parent / "build"
    built(path, params(), to, block=64)
    return path, file_of(to).read_bytes()


MOMENTS = [
    (edges, "_take", 1), (levels, "_step", 3), (stages.blocks, "_encode", 2), (labels, "_place", 2),
    (labels, "_write_lanes", 2), (mapped, "_checks", 1), (folder, "_moved", 8),
]  # fmt: skip


class Killed(BaseException):
    """In place of a signal: nothing expects it."""


@pytest.mark.parametrize(("module", "name", "time"), MOMENTS)
def test_what_was_ended_at_any_moment_goes_on(tmp_path, monkeypatch, undisturbed, module, name, time):
    path, whole = undisturbed
    calls, true = [], getattr(module, name)

    def ended(*given_):
        calls.append(given_)
        if len(calls) == time:
            raise Killed
        return true(*given_)

    monkeypatch.setattr(levels, "NARROW", 1)
    monkeypatch.setattr(module, name, ended)
    with pytest.raises(Killed):
        built(path, params(), tmp_path / "build", block=64)
    assert not file_of(tmp_path / "build").exists()
    with pytest.raises(InputError, match="--resume goes on with it"):
        built(path, params(), tmp_path / "build", block=64)
    kept = {each.name: each.stat().st_ino for each in (tmp_path / "build").iterdir() if each.name[-1] != "l"}
    built(path, params(), tmp_path / "build", resume=True, block=64)
    assert file_of(tmp_path / "build").read_bytes() == whole
    assert {*kept} & {*stages.STAGES} == {*stages.STAGES[: len({*kept} & {*stages.STAGES})]}


def test_another_build_or_other_files_in_the_folder_are_refused(tmp_path, undisturbed):
    path, _ = undisturbed
    built(path, params(), tmp_path / "build")
    with pytest.raises(InputError, match="a build of another seed"):
        built(path, params(seed=2), tmp_path / "build", resume=True)
    other = shutil.copy(path, tmp_path / "other.edges")
    with pytest.raises(InputError, match="a build of another source"):
        built(other, params(), tmp_path / "build", resume=True)
    with pytest.raises(InputError, match="is not empty, and no build of grailbench's"):
        built(path, params(), tmp_path)
    held = folder.Folder(tmp_path / "held", {}, False)
    with pytest.raises(MachineLacks, match="another process builds in this folder"):
        folder.Folder(tmp_path / "held", {}, True)
    held.close()


def ends(*pairs):
    return tuple(np.array(column) for column in zip(*pairs, strict=True))


def begun(monkeypatch, source, to):
    """A build of which the first stage alone is whole."""

    def killed(*given_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(levels, "peel", killed)
        with pytest.raises(Killed):
            gb.build(source, "streamed", folder=to)


def test_a_build_goes_on_with_the_edges_that_it_was_begun_of_and_with_no_others(tmp_path, monkeypatch):
    """Answers came from the edges of the build before."""
    forth, back = ends((0, 1), (1, 2)), ends((2, 1), (1, 0))
    sources = {"function": lambda block: lambda: [block], "list": lambda block: [block],
               "iterator": lambda block: iter([block])}  # fmt: skip
    for name, source in sources.items():
        to = tmp_path / name
        assert gb.build(source(forth), "streamed", folder=to).reaches(0, 2)
        with pytest.raises(InputError, match="a build of other edges .name another folder"):
            gb.build(source(back), "streamed", folder=to, resume=True)
        halves = [tuple(column[k : k + 1] for column in forth) for k in range(2)]
        assert gb.build(halves, "streamed", folder=to, resume=True).reaches(0, 2) if name == "list" else True
        assert gb.build(source(forth), "streamed", folder=to, resume=True).reaches(0, 2)
        with pytest.raises(InputError, match="a build of another number of vertices"):
            gb.build(source(forth), "streamed", folder=to, vertices=9, resume=True)
    begun(monkeypatch, [forth], tmp_path / "killed")
    with pytest.raises(InputError, match="a build of other edges"):
        gb.build([back], "streamed", folder=tmp_path / "killed", resume=True)
    assert gb.build([forth], "streamed", folder=tmp_path / "killed", resume=True).reaches(0, 2)


def contents(of):
    return {path.relative_to(of).as_posix(): path.read_bytes() for path in of.rglob("*") if path.is_file()}


@pytest.mark.parametrize("own", [".git/objects/a", "1-edges/mine"])
def test_a_folder_with_files_of_the_user_is_refused_and_left_as_it_was(tmp_path, capsys, monkeypatch, own):
    """Hidden files were taken for none, and the folder was emptied and deleted."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.edges").write_text("0 1\n1 2\n")
    (tmp_path / "work" / own).parent.mkdir(parents=True)
    (tmp_path / "work" / own).write_text("mine")
    words = ("build", "g.edges", "--impl", "streamed", "--folder", "work", "--out", "x")
    for more in ((), ("--resume",)):
        one_line(call(capsys, *words, *more), 2, "work: is not empty, and no build of grailbench's", "new or empty")
    assert contents(tmp_path / "work") == {own: b"mine"}


@pytest.mark.parametrize("own", [".env", "1-edges/mine", "6-index/a/b"])
def test_files_that_a_user_puts_into_a_build_are_named_and_stay(tmp_path, monkeypatch, own):
    begun(monkeypatch, [ends((0, 1))], tmp_path / "work")
    (tmp_path / "work" / own).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "work" / own).write_text("mine")
    before = contents(tmp_path / "work")
    said = f"holds '{own.removesuffix('/a/b')}', which no build wrote .move that elsewhere"
    with pytest.raises(InputError, match=said):
        gb.build([ends((0, 1))], "streamed", folder=tmp_path / "work", resume=True)
    assert contents(tmp_path / "work") == before


@pytest.mark.parametrize(("module", "name"), [(edges, "_take"), (mapped, "write")])
def test_a_full_disk_names_the_folder_and_the_bytes_and_the_build_goes_on(
    tmp_path, monkeypatch, undisturbed, module, name
):
    path, whole = undisturbed

    def full(*given_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(module, name, full)
        with pytest.raises(MachineLacks, match=r"build: the disk is full: stage '\d-\w+' needs about [\d.]+ .B"):
            built(path, params(), tmp_path / "build")
    assert not [each for each in (tmp_path / "build").iterdir() if each.suffix == ".partial"]
    built(path, params(), tmp_path / "build", resume=True)
    assert file_of(tmp_path / "build").read_bytes() == whole


def test_a_disk_with_too_little_room_is_told_before(tmp_path, monkeypatch, drawn):
    path = written(drawn, tmp_path / "g.parquet")
    monkeypatch.setattr(shutil, "disk_usage", lambda where: shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000))
    monkeypatch.setattr(edges, "sort", None)
    with pytest.raises(MachineLacks, match=r"needs about 0.0 MB there, 0.0 MB are free \(make room"):
        built(path, params(), tmp_path / "build")


def test_a_damaged_block_is_found(tmp_path):
    writer = blocks.Writer(tmp_path)
    one = np.array([0], np.uint8)
    writer.add(1, 1, (0, 0), one, one)
    writer.close()
    assert [rows.starts.tolist() for (rows,) in blocks.read(tmp_path, only_deep=True)] == [[0, 0]]
    content = bytearray((tmp_path / "edges.blocks").read_bytes())
    content[-1] ^= 2
    (tmp_path / "edges.blocks").write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        list(blocks.read(tmp_path))
    (tmp_path / "edges.blocks").write_bytes(content[:-1])
    with pytest.raises(InputError, match="cut off"):
        list(blocks.read(tmp_path, backward=True))
