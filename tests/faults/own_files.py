"""Targets of fuzzing: files of pairs, settings, what grailbench keeps for itself, runs and packs.

Files with checksums get right ones of most inputs, so that what lies behind the check is reached; other inputs are
damage to a file that is right.
"""

import contextlib
import functools
import gzip
import io
import json
import random
import re
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import slow_readers
from judge import Place, Target, patched
from questions import QUESTIONS, answers
from targets import mark, values_of

import grailbench
from grailbench.api.index import _unpacked
from grailbench.compare.runs import gate_of
from grailbench.data import registry, sources
from grailbench.distributed import shards
from grailbench.errors import GrailbenchError, InputError
from grailbench.graph import mapped, profile, store
from grailbench.graph.generate import catalogue
from grailbench.graph.ids import Counted, Named, write_pairs
from grailbench.harness import cells, folder, pack, plan
from grailbench.outofcore import streams
from grailbench.problems.contract import implementations
from grailbench.problems.reachability import pairs, queries
from grailbench.problems.reachability.peers import description, program
from grailbench.report import pages, stalls, values
from grailbench.util import records, settings


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
            arrays[parts[0].decode("latin-1")] = np.frombuffer(
                content[: len(content) // kind.itemsize * kind.itemsize], kind
            )
    return meta if isinstance(meta, dict) else {}, arrays


def stored_file(load: Callable[[Path], object], base: Callable[[], bytes]) -> Callable[[bytes, Place], str]:
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


def graph_and_ids(path: Path) -> object:
    graph, meta = store.load_graph(path)
    ids = store.load_ids(path)
    assert ids.vertices == graph.vertices
    assert not graph.edges or max(graph.sources.max(), graph.targets.max()) < graph.vertices
    store.read_meta(path)
    every = np.arange(min(graph.vertices, 50))
    assert len(ids.labels_of(every)) == every.size
    return meta


def dag(path: Path) -> object:
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
    with tempfile.TemporaryDirectory() as temporary:
        write(Path(temporary, "file"))
        return Path(temporary, "file").read_bytes()


@functools.cache
def graph_file() -> bytes:
    names = Named(["a", "b", "c", "d", "e", "f", "g", "h"])
    return _bytes_of(lambda path: store.save_graph(path, _small()[0], {"name": "small"}, names))


@functools.cache
def dag_file() -> bytes:
    return _bytes_of(lambda path: store._save_dag(path, _small()[1], "k"))


WAYS = ("mapped", "read", "unpickled", "other")


def opened(way: str, path: Path) -> grailbench.Index:
    """The index in a file: mapped, read into memory, unpickled, or another one of its graph."""
    if way == "unpickled":
        return _unpacked(path.read_bytes())
    return grailbench.load(path, mmap=way == "mapped", implementation="bfs" if way == "other" else None)


def _graphs() -> Iterator[grailbench.Graph]:
    """Small graphs: names and cycles; levels, with numbers from 0; other numbers; one whose core is no forest."""
    make = grailbench.Graph.from_edges
    yield make(["b", "a", "c", "d", "é" * 9, "f"], ["c", "b", "b", "é" * 9, "c", "f"])
    yield make([0, 0, 1, 2, 3, 4, 2, 7], [1, 2, 3, 3, 4, 5, 5, 5], vertices=9)
    yield make([70, 956203, 11, 70, 12], [956203, 11, 70, 13, 13], renumber=True)
    yield make(*np.random.default_rng(5).integers(0, 40, (2, 90)).tolist(), vertices=40)


class Saved(NamedTuple):
    """The file of an index, its bytes that mean something, columns of ids, and the right answers about these by the way
    that it is opened."""

    implementation: str
    content: bytes
    places: np.ndarray
    pairs: tuple[list, list]
    right: dict[str, dict]


@functools.cache
def saved() -> list[Saved]:
    """Files of each implementation that saves, of those that run in one process on the CPU: of every graph, and of each
    form that its parameters give the index."""
    made = []
    for (name, implementation), graph in product(implementations().items(), _graphs()):
        if {"gpu", "dask"} & set(implementation.needs):
            continue
        forms = [{}, *[{"memory": 1}] * (name == "core")]
        forms += [{"filters": "none", "d": 3}] * ("filters" in implementation.axes)
        for form in forms:
            try:
                index = grailbench.build(graph, name, threads=2, **form)
                content = _bytes_of(index.save)
            except (grailbench.InputError, grailbench.MachineLacks):  # it is not installed, or cannot be saved
                continue
            every = graph.ids_of(np.arange(graph.vertices)).tolist()
            step = max(1, len(every) // 9)
            us, vs = map(list, zip(*product(every[::step], every[::-step]), strict=True))
            header, start = mapped.header(content, None)
            sizes = {each: array.nbytes for each, array in mapped.arrays_of(content, header, start).items()}
            places = [np.arange(len(content[:start].rstrip(b"\0")))]
            places += [start + each["at"] + np.arange(sizes[array]) for array, each in header["arrays"].items()]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "input")
                path.write_bytes(content)
                right = {way: answers(opened(way, path), us, vs)[0] for way in WAYS}
            built = answers(index, us, vs)[0]
            kept = right["mapped"] | {"raw": built["raw"]}  # without duplicates and self-loops
            assert built == kept, f"{name}: other answers of the saved index"
            made.append(Saved(name, content, np.concatenate(places), (us, vs), right))
    return made


def index_file(data: bytes, place: Place) -> str:
    """A saved index: damaged ('P'), half of the time where that means something, or with another header that has the
    right checksum. All questions are answered right, or all are refused."""
    if data[:1] == b"P":
        number = zlib.crc32(data)
        file, way = saved()[number % len(saved())], WAYS[number // 1000 % len(WAYS)]
        damage = bytearray(data[1:])
        for at in range(1, len(damage) - 2, 4) if number // 4000 % 2 else ():
            where = int(file.places[int.from_bytes(damage[at : at + 3], "little") % file.places.size])
            damage[at : at + 3] = where.to_bytes(3, "little")
        path = place.write(patched(file.content, bytes(damage)))
        found, refused = {}, None
        try:
            order = random.Random(number).sample([*QUESTIONS], len(QUESTIONS))
            found, refused = answers(opened(way, path), *file.pairs, order)
        except InputError as error:
            refused = error
        for name, answer in found.items():
            assert answer == file.right[way][name], f"{file.implementation}, {way}: another answer to {name}"
        if refused is None:
            return "answers"
        assert not found, f"some questions are answered, and others refused: {sorted(found)}"
        assert refused.remedy, f"no remedy: {refused}"
        raise refused if way != "unpickled" else InputError(str(refused), path=path)
    base = next(each.content for each in saved() if each.implementation == "sequential")
    said, start = mapped.header(base, None)
    try:
        changes = json.loads(data)
        header = json.dumps(said | changes, sort_keys=True).encode() if isinstance(changes, dict) else data
    except (ValueError, RecursionError):
        header = data
    begin = mapped.MAGIC + mapped._LENGTHS.pack(len(header), zlib.crc32(header)) + header
    path = place.write(begin + bytes(mapped._start(len(header)) - len(begin)) + base[start:])
    found = grailbench.load(path)
    mapped.identity(path)
    return f"loaded {type(found).__name__}"


@functools.cache
def _query_file():
    """A set of queries, the path and the content of its file, and its pairs."""
    spec = queries.QuerySpec("random", 6, 1)
    found = queries.query_set(spec, _small()[1], "f" * 64)
    return spec, found.path, found.path.read_bytes(), (found.sources.tolist(), found.targets.tolist())


def query_set(data: bytes, place: Place) -> str:
    """The cached answers of a set of queries, damaged or of other content, are those of the oracle or made again."""
    spec, path, base, right = _query_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    content = patched(base, data[1:]) if data[:1] == b"P" else data
    path.write_bytes(content)
    again = queries.query_set(spec, _small()[1], "f" * 64)
    assert (again.sources.tolist(), again.targets.tolist()) == right, "other pairs"
    return "kept" if path.read_bytes() == content else "made again"


# ------------------------------------------------------------------ runs


def rows(data: bytes, place: Place) -> str:
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


@functools.cache
def _run_files() -> dict[str, bytes]:
    """The files of a small run that is whole."""
    from stored import ENVIRONMENT, trials

    from grailbench.harness import axes
    from grailbench.harness.rows import FORMAT

    rows = trials(graph_sha256="5" * 64, checksum="a1")
    planned = {name: rows[0][name] for name in ("dataset", "problem", "impl", *axes.NAMES, "seed", "query_set")}
    clean = {**ENVIRONMENT, "commit": "c" * 40, "dirty": False, "code": "0.1.0"}
    one = lambda value: json.dumps(records.sealed(value)).encode()  # noqa: E731
    return {
        folder.ENVIRONMENT: one(clean), folder.PLAN: one({"format": FORMAT, "name": "mine", "cells": [planned]}),
        folder.ROWS: b"".join(one(row) + b"\n" for row in rows),
    }  # fmt: skip


def pack_of(data: bytes, place: Place) -> str:
    """A pack: damaged ('P'), with one of its files another ('E', 'L' and 'R'), or an input as it is."""
    files, kind = dict(_run_files()), data[:1]
    where = {b"E": folder.ENVIRONMENT, b"L": folder.PLAN, b"R": folder.ROWS}.get(kind)
    if where is not None:
        files[where] = sealed(data[1:]) if where != folder.ROWS else b"\n".join(map(sealed, data[1:].split(b"\n")))
    content = pack.packed(files, True, 1) if kind in (b"P", b"E", b"L", b"R") else data
    path = place.write(patched(content, data[1:]) if kind == b"P" else content, f"input{pack.SUFFIX}")
    with pack.unpacked(path) as (where, _):
        rows, _ = folder.read_rows(where)
        assert kind != b"P" or (where / folder.ROWS).read_bytes() == files[folder.ROWS], "another run"
    return f"a run of {min(len(rows), 4)}"


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
            assert 0 <= ends.min() <= ends.max() < ids.vertices, "a pair of no vertex"
        assert set(found.given.tolist()) <= {0, 1, pairs.UNKNOWN}
        assert 1 <= found.lines.min() <= found.lines.max() <= data.count(b"\n") + data.count(b"\r") + 1
        if mark(data) % 16 == 0:
            stream = io.BytesIO()
            known = found.given != pairs.UNKNOWN
            write_pairs(stream, ids, found.sources[known], found.targets[known], found.given[known])
            if known.any():
                again = pairs.read_pairs(place.write(stream.getvalue()), ids)
                assert (again.sources == found.sources[known]).all()
                assert (again.given == found.given[known]).all()
        return f"{min(found.sources.size, 4)} pairs {sorted(set(found.given.tolist()))}"

    return read


def _numbers_oracle(read: Callable, ids: Counted) -> Callable[[bytes, Place], str]:
    """Files of pairs of numbers as plain Python reads them."""

    def of(data: bytes, place: Place) -> str:
        said = read(data, place)
        if mark(data) % 4 == 0:
            found = pairs.read_pairs(place.write(data), ids)
            lines = [re.split(rb"[ \t]+", line.strip(b" \t")) for line in slow_readers.lines_of(data)]
            lines = [words for words in lines if words[0] and words[0][:1] not in b"#%"]
            if all(word.isdigit() for words in lines for word in words):
                got = list(zip(found.sources.tolist(), found.targets.tolist(), strict=True))
                assert got == [(int(words[0]), int(words[1])) for words in lines]
        return said

    return of


def _stream(data: bytes, place: Place) -> str:
    """An edge list that is read piece by piece has the edges that plain Python reads."""
    path = place.write(data, "input.edges")
    try:
        stream = streams.opened(path)
        blocks = list(stream.blocks())
    except InputError as error:
        raise InputError(str(error).replace("input.edges", "input")) from None
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
    assert found.shape[1:] == (2,)
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
    try:
        sources.unpack(archive, "graph.gra", place.folder / "out")
    except sources.SourceFailed as error:
        raise InputError(str(error), path=archive) from None
    return f"unpacked {min((place.folder / 'out').stat().st_size, 4)}"


# ------------------------------------------------------------------ settings


def _registry(path: Path) -> object:
    return settings.read(path, registry._File, registry._fill_in)


def _config(data: bytes, place: Place) -> str:
    config = plan.load_config(str(place.write(data)))
    try:
        return f"{len(plan.make_plan(config).cells).bit_length()} cells"
    except GrailbenchError as error:  # of a graph or implementation: a plan has no file
        return f"no plan: {type(error).__name__}"


def _printed(data: bytes, place: Place) -> str:
    """What a program printed: a count, a time, answers."""
    place.write(data, "stdout")
    found = program.Output("input", place.folder)
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
        except program.ProgramFailed as error:
            said.append(str(error)[:12])
    return " ".join(said)


def _page(data: bytes, place: Place) -> str:
    place.write(data, "input.toml")
    page = place.write(b"<!-- grailbench it -->\n<!-- end -->\n")
    return f"a page of {len(pages.Page(page).renewed).bit_length()}"


# ------------------------------------------------------------------ the targets

TARGETS = (
    Target("pairs", _numbers_oracle(_pairs(Counted(12)), Counted(12)), "pairs of numbers", few=200),
    Target("pairs-names", _pairs(_NAMES), "pairs of names", few=200),
    Target("pairs-table", _pairs(_NAMES, "input.csv"), "tables of pairs", files=("input", "input.csv"), few=200),
    Target("stream", _stream, "edge lists that are read piece by piece", files=("input.edges",), few=150),
    Target("npy-pairs", of_path(_array_file), "pairs of numpy"),
    Target("archive", _archive, "downloaded archives", files=("input.tar.gz", "out"), few=130),
    Target("config", _config, "configs of runs", few=150),
    Target("gate", of_path(gate_of), "gates of comparisons"),
    Target("registry", of_path(_registry), "the registry of graphs"),
    Target("sets", of_path(lambda path: settings.read(path, catalogue.Set)), "sets of generated graphs"),
    Target("program", of_path(description.read), "descriptions of programs"),
    Target("printed", _printed, "what programs print", files=("stdout",), names=None, lines=False),
    Target("outline", of_path(profile.read), "outlines of graphs"),
    Target("records", of_path(lambda path: values.read_records(path, {"a": "a"}, {"b": 1}).texts), "files of records",
           lines=False),
    Target("stalls", of_path(stalls.read), "profiles of Nsight Compute"),
    Target("page", _page, "descriptions of the blocks of Markdown pages", files=("input", "input.toml"),
           lines=False),
    Target("graph-file", stored_file(graph_and_ids, graph_file), "imported graphs and their ids", lines=False, few=100),
    Target("dag-file", stored_file(dag, dag_file), "condensed graphs in the cache", lines=False, few=100),
    Target("index-file", index_file, "saved indexes", lines=False, few=400, prepare=saved),
    Target("query-file", query_set, "query sets in the cache", names=None, lines=False, files=(), few=50),
    Target("rows", rows, "rows of runs", 1_500, files=(folder.ROWS,)),
    Target("pack", pack_of, "packs of runs", 1_500, files=(f"input{pack.SUFFIX}",), few=80),
)  # fmt: skip
