"""Targets of fuzzing: files of pairs, settings, what grailbench keeps for itself, runs and packs."""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import json
import logging
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import slow_readers
from judge import Place, Target, patched
from targets import _BLANK, _EDGES, _NUMBERS, _TABLE, mark, values_of

from grailbench import records, settings
from grailbench.api import shards
from grailbench.bench import plan, resume
from grailbench.capacity import machine
from grailbench.datasets import cache, extract, registry
from grailbench.errors import GrailbenchError, InputError
from grailbench.graph import mapped, outline, store, streams
from grailbench.graph.generate import catalogue
from grailbench.graph.ids import Counted, Named
from grailbench.limits import ceilings
from grailbench.reachability import pairs, queries
from grailbench.reachability.peers import description, output
from grailbench.reachability.streamed.folder import Folder
from grailbench.report import fields, gate, pages, stalls
from grailbench.report.site import folder as site
from grailbench.runs import cells, folder, pack

logging.getLogger("grailbench").setLevel(logging.CRITICAL)  # warnings of damaged files of a cache


def of_path(read: Callable, name: str = "input") -> Callable[[bytes, Place], str]:
    """A target of a function that takes a path."""

    def of(data: bytes, place: Place) -> str:
        found = read(place.write(data, name))
        return f"read {type(found).__name__} {len(found) if hasattr(found, '__len__') else ''}"

    return of


# ------------------------------------------------------------------ pairs, streams, arrays, archives

_NAMES = Named(["a", "b", "New York", "#7", "1", "é", "a,b", 'say "x"', "source", "x;y"])


def _pairs(ids, name: str = "input") -> Callable[[bytes, Place], str]:
    def read(data: bytes, place: Place) -> str:
        path = place.write(data, name)
        found = pairs.read_pairs(path, ids)
        for ends in (found.sources, found.targets):
            assert ends.min() >= 0 and ends.max() < ids.vertices, "a pair of no vertex"
        assert set(found.given.tolist()) <= {0, 1, pairs.UNKNOWN}
        assert 1 <= found.lines.min() <= found.lines.max() <= data.count(b"\n") + data.count(b"\r") + 1
        if mark(data) % 16 == 0:
            stream = io.BytesIO()
            known = found.given != pairs.UNKNOWN
            pairs.write_pairs(stream, ids, found.sources[known], found.targets[known], found.given[known])
            if known.any():
                again = pairs.read_pairs(place.write(stream.getvalue()), ids)
                assert (again.sources == found.sources[known]).all() and (again.given == found.given[known]).all()
        return f"{min(found.sources.size, 4)} pairs {sorted(set(found.given.tolist()))}"

    return read


def _numbers_oracle(read: Callable, ids: Counted) -> Callable[[bytes, Place], str]:
    """Files of pairs of numbers as plain Python reads them."""

    def of(data: bytes, place: Place) -> str:
        said = read(data, place)
        if mark(data) % 4 == 0:
            found = pairs.read_pairs(place.write(data), ids)
            lines = [line.split("#")[0].replace("\t", " ").split() for line in slow_readers.plain(data).decode().splitlines()]
            plain = [line for line in lines if line and line[0][:1] not in ("#", "%")]
            if all(line.isascii() and line.isdigit() for each in plain for line in each) and b"#" not in data:
                assert found.sources.tolist() == [int(line[0]) for line in plain]
                assert found.targets.tolist() == [int(line[1]) for line in plain]
        return said

    return of


def _stream(data: bytes, place: Place) -> str:
    """An edge list that is read piece by piece has the edges that plain Python reads."""
    path = place.write(data, "input.edges")
    try:
        stream = streams.opened(path)
        blocks = list(stream.blocks())
    except InputError as error:
        assert "input.edges" in str(error)
        raise InputError(str(error), path=place.path) from None
    if stream.first or data[:1] == b"P":
        return "a stream"
    got = [edge for sources, targets in blocks for edge in zip(sources.tolist(), targets.tolist(), strict=True)]
    try:
        assert got == slow_readers.EdgeList(data).edges
    except slow_readers.Refused as refused:
        raise AssertionError(f"accepted, although {refused}") from None
    return f"a stream of {len(got).bit_length()}"


def _array_file(path: Path) -> np.ndarray:
    found = shards._mapped_npy(path)
    assert found.ndim == 2 and found.shape[1] == 2
    return np.array(found[:10])


def _archive(data: bytes, place: Place) -> str:
    """An archive of lines 'type|name|size|content' if an input begins with 'tar', else an input as it is."""
    if data.startswith(b"tar\n"):
        into = io.BytesIO()
        for line in data.split(b"\n")[1:]:
            kind, name, size, content = (*line.split(b"|", 3), b"", b"", b"")[:4]
            entry = tarfile.TarInfo(name.decode("latin-1").replace("\0", ""))
            entry.type, entry.linkname = kind[:1] or tarfile.REGTYPE, "graph.gra"
            entry.size = int(size) if size.isdigit() and len(size) < 10 else len(content)
            with contextlib.suppress(ValueError, tarfile.HeaderError):
                into.write(entry.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512))
        data = gzip.compress(into.getvalue() + bytes(1024), 1, mtime=0)
    archive = place.write(data, "input.tar.gz")
    extract.unpack(archive, "graph.gra", place.folder / "out")
    return f"unpacked {min((place.folder / 'out').stat().st_size, 4)}"


# ------------------------------------------------------------------ settings


def _config(data: bytes, place: Place) -> str:
    config = plan.load_config(str(place.write(data)))
    try:
        return f"{len(plan.make_plan(config).cells).bit_length()} cells"
    except GrailbenchError as error:  # of a graph or implementation: a plan has no file
        return f"no plan: {type(error).__name__}"


def _printed(data: bytes, place: Place) -> str:
    """What a program printed: a count, a time, answers."""
    place.write(data, "stdout")
    found = output.Output("input", place.folder)
    number = {"match": r"took ([0-9.e+-]+)", "where": "stdout"}
    how = description.Answers(yes=["1", "yes"], no=["0", "no"])
    said = []
    for read in (
        lambda: found.ms(description.Time(**number, unit="ms")),
        lambda: found.answers(how, 2).shape[0],
        lambda: found.answers(description.Answers(count=description.Number(**number)), 2),
        found.last_words,
    ):
        try:
            said.append(type(read()).__name__)
        except output.ProgramFailed as error:
            said.append(str(error)[:12])
    return " ".join(said)


def _page(data: bytes, place: Place) -> str:
    return f"a page of {len(pages.Page(place.write(data)).renewed).bit_length()}"


# ------------------------------------------------------------------ what grailbench keeps for itself


def sealed(data: bytes) -> bytes:
    """A JSON object with its right checksum, so that what is behind the check is reached; else the input as it is."""
    try:
        value = json.loads(data)
        return json.dumps(records.sealed(value)).encode() if isinstance(value, dict) else data
    except (ValueError, RecursionError, TypeError):
        return data


def _made_arrays(data: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Meta, and arrays of lines 'name|dtype|values'."""
    first, *lines = data.split(b"\n")
    try:
        meta = json.loads(first)
    except (ValueError, RecursionError):
        meta = {}
    arrays = {}
    for line in lines:
        if len(parts := line.split(b"|", 2)) == 3 and parts[1] in (b"<i4", b"<i8", b"|u1", b"<u4", b"<i2"):
            content = values_of(parts[1], parts[2])
            kind = np.dtype(parts[1].decode())
            arrays[parts[0].decode("latin-1")] = np.frombuffer(content[: len(content) // kind.itemsize * kind.itemsize], kind)
    return meta if isinstance(meta, dict) else {}, arrays


def _stored(load: Callable[[Path], object], base: Callable[[], bytes]) -> Callable[[bytes, Place], str]:
    """A file of arrays of `store`: made of meta and arrays with right checksums, or the right one with damage ('P')."""

    def read(data: bytes, place: Place) -> str:
        if data[:1] == b"P":
            path = place.write(patched(base(), data[1:]))
        elif data[:2] == b"PK":
            path = place.write(data)
        else:
            path = place.path
            try:
                store._write(path, *_made_arrays(data))
            except (ValueError, TypeError, UnicodeError):  # NaN, say, which no writer writes
                return "not written"
        return f"read {type(load(path)).__name__}"

    return read


def _graph_and_ids(path: Path) -> object:
    graph, meta = store.load_graph(path)
    ids = store.load_ids(path)
    assert ids.vertices == graph.vertices
    assert not graph.edges or max(graph.sources.max(), graph.targets.max()) < graph.vertices
    store.read_meta(path)
    every = np.arange(min(graph.vertices, 50))
    assert len(ids.labels_of(every)) == every.size
    return meta


def _dag(path: Path) -> object:
    dag = store._load_dag(path, "k")
    assert dag.component.size == 0 or dag.component.max() < dag.vertices
    return dag


@functools.cache
def _small():
    """A small graph of two components, a cycle and names, and its condensed form."""
    from grailbench.graph.condense import condense
    from grailbench.graph.csr import Graph

    ends = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [3, 4], [4, 3], [5, 6]])
    graph = Graph.from_edges(8, ends[:, 0].astype(np.int32), ends[:, 1].astype(np.int32))
    return graph, condense(graph)


def _bytes_of(write: Callable[[Path], object]) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        write(Path(temporary, "file"))
        return Path(temporary, "file").read_bytes()


@functools.cache
def _graph_file() -> bytes:
    names = Named(["a", "b", "c", "d", "e", "f", "g", "h"])
    return _bytes_of(lambda path: store.save_graph(path, _small()[0], {"name": "small"}, names))


@functools.cache
def _dag_file() -> bytes:
    return _bytes_of(lambda path: store._save_dag(path, _small()[1], "k"))


@functools.cache
def _index_file() -> tuple[bytes, np.ndarray]:
    """A saved index, and its right answers, bool[8, 8]."""
    import grailbench

    graph = grailbench.Graph.from_edges(*np.array([[0, 1], [0, 2], [1, 3], [2, 3], [3, 4], [4, 3], [5, 6]]).T, vertices=8)
    index = grailbench.build(graph, implementation="sequential")
    return _bytes_of(index.save), index.matrix(range(8), range(8))


def _index(data: bytes, place: Place) -> str:
    """A saved index: damaged ('P'), or with another header that has the right checksum."""
    import grailbench

    base, right = _index_file()
    if data[:1] == b"P":
        index = grailbench.load(place.write(patched(base, data[1:])))
        assert (index.matrix(range(8), range(8)) == right).all(), "wrong answers of a damaged file"
        return "answers"
    said, start = mapped.header(base, None)
    try:
        changes = json.loads(data)
        header = json.dumps(said | changes, sort_keys=True).encode() if isinstance(changes, dict) else data
    except (ValueError, RecursionError):
        header = data
    import zlib

    begin = mapped.MAGIC + mapped._LENGTHS.pack(len(header), zlib.crc32(header)) + header
    path = place.write(begin + bytes(mapped._start(len(header)) - len(begin)) + base[start:])
    found = grailbench.load(path)
    mapped.identity(path)
    return f"loaded {type(found).__name__}"


@functools.cache
def _query_spec():
    return queries.QuerySpec("random", 6, 1)


def _query_set(data: bytes, place: Place) -> str:
    """The cached answers of a set of queries, damaged or of other content, are those of the oracle or made again."""
    graph, dag = _small()
    spec, key = _query_spec(), "f" * 64
    found = queries.query_set(spec, dag, key)
    path, right = found.path, (found.sources.tolist(), found.targets.tolist())
    base = path.read_bytes()
    path.write_bytes(patched(base, data[1:]) if data[:1] == b"P" else data)
    again = queries.query_set(spec, dag, key)
    assert (again.sources.tolist(), again.targets.tolist()) == right, "other pairs"
    path.unlink()
    return "a set"


def _limits(path: Path) -> object:
    content = path.read_bytes()
    path.write_bytes(sealed(content))
    document = machine._read(path)
    ceilings._read(path)
    ceilings.Ceilings.of(document, 4)
    return document


def _kept_limits(data: bytes, place: Place) -> str:
    """A document of limits in the cache is taken or ignored."""
    found = ceilings._read(place.write(sealed(data)))
    if found is not None:
        ceilings.doubts(found)
        ceilings.Ceilings.of_gpu(found)
    return type(found).__name__


def _stages(data: bytes, place: Place) -> str:
    """The folder of a build out of memory."""
    (place.folder / "built").mkdir(exist_ok=True)
    place.write(data, "built/build.json")
    built = Folder(place.folder / "built", {"graph": "x"}, True)
    try:
        return f"stages {built.said('edges')}"
    finally:
        built.close()


def _site(data: bytes, place: Place) -> str:
    (place.folder / "site").mkdir(exist_ok=True)
    place.write(data, f"site/{site.MARK}")
    site.require_ours(place.folder / "site")
    return "a site"


# ------------------------------------------------------------------ runs


def _rows(data: bytes, place: Place) -> str:
    """Rows of a run: with right checksums if an input begins with 'S'."""
    lines = [sealed(line) for line in data[1:].split(b"\n")] if data[:1] == b"S" else [data]
    place.write(b"\n".join(lines), folder.ROWS)
    try:
        rows, damage = folder.read_rows(place.folder)
        found = cells.cells(folder.current(rows))
        for cell in found:
            cell.label, cell.name, cell.phases, cell.trials, cell.rate, cell.energies, cell.filtering  # noqa: B018
    except InputError as error:
        raise InputError(str(error), path=place.path) from None
    return f"{min(len(rows), 4)} rows {len(found)} cells {damage}"


def _environment(data: bytes, place: Place) -> str:
    place.write(sealed(data), folder.ENVIRONMENT)
    try:
        found = folder.read_environment(place.folder)
    except InputError as error:
        raise InputError(str(error), path=place.path) from None
    return f"clean {pack.clean(found)}"


def _plan(data: bytes, place: Place) -> str:
    place.write(sealed(data), folder.PLAN)
    try:
        folder.format_of(place.folder)
        config = resume.stored_config(place.folder)
    except InputError as error:
        raise InputError(str(error), path=place.path) from None
    try:
        return f"{len(plan.make_plan(config).cells).bit_length()} cells"
    except GrailbenchError as error:
        return f"no plan: {type(error).__name__}"


@functools.cache
def _run_files() -> dict[str, bytes]:
    """The files of a small run that is whole."""
    from stored import ENVIRONMENT, trials

    from grailbench.runs import axes
    from grailbench.runs.rows import FORMAT

    rows = trials(graph_sha256="5" * 64, checksum="a1")
    planned = {name: rows[0][name] for name in ("dataset", "problem", "impl", *axes.NAMES, "seed", "query_set")}
    clean = {**ENVIRONMENT, "commit": "c" * 40, "dirty": False, "code": "0.1.0"}
    one = lambda value: json.dumps(records.sealed(value)).encode()  # noqa: E731
    return {
        folder.ENVIRONMENT: one(clean), folder.PLAN: one({"format": FORMAT, "name": "mine", "cells": [planned]}),
        folder.ROWS: b"".join(one(row) + b"\n" for row in rows),
    }  # fmt: skip


def _pack(data: bytes, place: Place) -> str:
    """A pack: damaged ('P'); with one of its files another ('E', 'L' and 'R'), or with another manifest; or an input."""
    files, kind = dict(_run_files()), data[:1]
    where = {b"E": folder.ENVIRONMENT, b"L": folder.PLAN, b"R": folder.ROWS}.get(kind)
    if where is not None:
        files[where] = sealed(data[1:]) if where != folder.ROWS else b"\n".join(map(sealed, data[1:].split(b"\n")))
    content = pack.packed(files, True, 1) if kind in (b"P", b"E", b"L", b"R") else data
    path = place.write(patched(content, data[1:]) if kind == b"P" else content, f"input{pack.SUFFIX}")
    with pack.opened(path) as where:
        rows, _ = folder.read_rows(where)
        assert kind != b"P" or (where / folder.ROWS).read_bytes() == files[folder.ROWS], "another run"
    assert not os.listdir(os.environ.get("TMPDIR", place.folder / "none")) if "TMPDIR" in os.environ else True
    return f"a run of {min(len(rows), 4)}"


# ------------------------------------------------------------------ the targets

_TOML = (b"[[experiment]]\n", b"[sets.large]\n", b"[archives.'a.gz']\n", b"[[datasets]]\n", b" = ", b"[", b"]", b"{", b"}", b'"',
         b"'''", b'"""', b"\\u0000", b"true", b"1e400", b"nan", b"inf", b"-0", b"1979-05-27", b"0x", b"#", b".", *_BLANK, *_NUMBERS)  # fmt: skip
_CONFIG = (b"datasets = ['kegg']\n", b"implementations = ", b"problem = 'closure'\n", b"dim = [1, 2]\n", b"queries = ['random']\n",
           b"time_limit = ", b"threads = ", b"filters = 'level,tree'\n", b"count = ", b"trials = ", b"sets = ['all']\n", *_TOML)  # fmt: skip
_JSON = (b"{", b"}", b"[", b"]", b":", b",", b'"', b"null", b"true", b"false", b"NaN", b"Infinity", b"1e400", b'"\\ud800"', b"[" * 40,
         b'"sum":', b"-1", b"9" * 30, *_BLANK, *_NUMBERS)  # fmt: skip
_ROW = (b'"phase":"query"', b'"trial":1', b'"ms":2', b'"status":"ok"', b'"counters":{"a":1}', b'"problem":"closure"', b'"key":"k"',
        b'"impl":"sequential"', b'"dataset":"a"', b'"energy":{}', b'"planned":2', b'"under":"label"', b'"filters":"none"', b"S", *_JSON)  # fmt: skip
_PATCH = tuple(bytes([what, *where.to_bytes(3, "little")]) for what in (1, 192, 193, 194) for where in (0, 30, 200, 1000, 4096))
_ARRAYS = (b'{"kind":"graph","vertices":2,"edges":1}\n', b"sources|<i4|0\n", b"targets|<i4|1\n", b"weights|<i4|5\n",
           b'"numbering":{"kind":"listed"}', b"labels|<i8|3 7\n", b"name_bytes|u1|", b"name_ends|<i8|", b'"arrays":{}',
           b'"kind":"named"', b'"kind":"counted","first":1', *_JSON)  # fmt: skip
_QUERY = (b"0 1\n", b"0 1 1\n", b"a\tb\t0\n", b"source,target,answer\n", b"u;v\n", b"New York\t#7\n", *_TABLE)

TARGETS = (
    Target("pairs", _numbers_oracle(_pairs(Counted(12)), Counted(12)), "pairs of numbers", _QUERY),
    Target("pairs-names", _pairs(_NAMES), "pairs of names", _QUERY),
    Target("pairs-table", _pairs(_NAMES, "input.csv"), "tables of pairs", _QUERY, files=("input", "input.csv")),
    Target("stream", _stream, "edge lists that are read piece by piece", _EDGES, files=("input.edges",)),
    Target("npy-pairs", of_path(_array_file), "pairs of numpy",
           (b"\x93NUMPY\1\0", b"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }", b"'|O'", b"(", b"*", *_NUMBERS)),
    Target("archive", _archive, "downloaded archives", (b"tar\n", b"0|graph.gra|3|abc\n", b"2|l||", b"5|d/||", b"0|../a||", b"L||", b"S||",
           b"x||", b"\x1f\x8b\x08", b"1", *_NUMBERS), files=("input.tar.gz", "out")),
    Target("config", _config, "configs of runs", _CONFIG),
    Target("gate", of_path(gate.load_gate), "gates of comparisons",
           (b"ratio = 1.1\n", b"across = 2\n", b"least_ms", b"metrics", b"reference", b"times = 'none'\n", *_TOML)),
    Target("registry", of_path(registry._read), "the registry of graphs",
           (b"set = 's'\n", b"title = 't'\n", b"position = 1\n", b"sources", b"file", b"sha256", b"member", b"name", *_TOML)),
    Target("sets", of_path(lambda path: settings.read(path, catalogue.Set)), "sets of generated graphs",
           (b"[[graphs]]\n", b"kind", b"name", b"vertices", b"edges", b"seed", b"members", *_TOML)),
    Target("lock", of_path(lambda path: settings.read(path, cache._Lock)), "checksums of first downloads",
           (b'["a.gra.gz"]\n', b"sha256 = 'a'\n", *_TOML)),
    Target("program", of_path(description.read), "descriptions of programs",
           (b"command = ['p', '{graph}', '{queries}']\n", b"[graph]\n", b"format = 'gra'\n", b"[times]\n", b"[answers]\n", b"match",
            b"unit = 'ms'", b"(", b"){99}", b"{u} {v}", *_TOML)),
    Target("printed", _printed, "what programs print", (b"took 5\n", b"took 1e400\n", b"yes\n", b"no\n", b"1\n", b"0\n", b"e", *_NUMBERS),
           files=("stdout",), names=None, lines=False),
    Target("outline", of_path(outline.read), "outlines of graphs", _JSON),
    Target("records", of_path(lambda path: fields.read(path, {"a": "a"}, {"b": 1}).words), "files of records",
           (b'{"a":1,"b":1}\n', *_JSON), lines=False),
    Target("stalls", of_path(stalls.read), "profiles of Nsight Compute",
           (b'"ID","Kernel Name","Metric Name","Metric Value"\n', b'"0","k","smsp__pcsamp_warps_issue_stalled_wait","5"\n', *_TABLE)),
    Target("page", _page, "Markdown pages with blocks",
           (b"<!-- grailbench", b"-->", b"<!-- /grailbench -->", b"columns = []\n", b"run = 'x'\n", b"table = ''\n", *_TOML)),
    Target("graph-file", _stored(_graph_and_ids, _graph_file), "imported graphs and their ids", (*_ARRAYS, *_PATCH), lines=False),
    Target("dag-file", _stored(_dag, _dag_file), "condensed graphs in the cache",
           (b"offsets|<i8|0 1 1\n", b"children|<i4|1\n", b"levels|<i4|0 1\n", b"order|<i4|0 1\n", b"component|<i4|0 1\n",
            b'{"kind":"dag","key":"k","version":1,"vertices":2,"edges":1,"duplicates":0,"loops":0}\n', *_ARRAYS, *_PATCH), lines=False),
    Target("index-file", _index, "saved indexes", (b'{"arrays":{}}', b'"dtype":"<i4"', b'"at":0', b'"shape":[1]', b'"checks":[]',
           b'"params":{}', b'"graph":{"checksum":"a","vertices":8,"numbering":{}}', b'"implementation":"x"', b'"dropped":[0,0]',
           b'"version":2', b'"bytes":1', *_JSON, *_PATCH), lines=False),
    Target("query-file", _query_set, "query sets in the cache", _PATCH, names=None, lines=False, files=()),
    Target("limits", of_path(_limits), "ceilings of a machine",
           (b'"cpu":{"measurements":[]}', b'"machine":{"cores":1,"memory_bytes":1,"caches":{}}', b'"what":"gather"', b'"median":1', *_JSON),
           1_200),
    Target("kept-limits", _kept_limits, "ceilings in the cache", (b'"format":1', b'"fingerprint":"f"', *_JSON), 1_200),
    Target("stages", _stages, "builds out of memory", (b'{"graph":"x","format":1}', *_JSON), files=("built",), names="built"),
    Target("site", _site, "marks of sites", (b'{"files":["a"]}', *_JSON), files=("site",), names="site"),
    Target("rows", _rows, "rows of runs", _ROW, 1_500, files=(folder.ROWS,)),
    Target("environment", _environment, "environments of runs", (b'"gpus":[]', b'"workers":{}', b'"earlier":[]', b'"cores":1', *_JSON),
           800, files=(folder.ENVIRONMENT,)),
    Target("plan", _plan, "plans of runs", (b'"config":{"experiment":[{"datasets":["kegg"]}]}', b'"format":2', *_JSON), 800,
           files=(folder.PLAN,)),
    Target("pack", _pack, "packs of runs", (b"E", b"L", b"R", b"P", *_ROW, *_PATCH), 1_500, files=(f"input{pack.SUFFIX}",)),
)  # fmt: skip
