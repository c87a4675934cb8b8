"""Readers that fuzzing tries: of what grailbench keeps for itself, of runs and packs.

Files with checksums get right ones of most inputs, so that what lies behind the check is reached; other inputs are
damage to a file that is right.
"""

from __future__ import annotations

import functools
import json
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from judge import Place, patched
from targets import values_of

import grailbench
from grailbench.errors import InputError
from grailbench.graph import mapped, store
from grailbench.graph.ids import Named
from grailbench.harness import cells, folder, pack
from grailbench.problems.reachability import queries
from grailbench.util import records


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


@functools.cache
def _index_file() -> tuple[bytes, np.ndarray]:
    """A saved index, and its right answers, bool[8, 8]."""
    graph = grailbench.Graph.from_edges(
        *np.array([[0, 1], [0, 2], [1, 3], [2, 3], [3, 4], [4, 3], [5, 6]]).T, vertices=8
    )
    index = grailbench.build(graph, implementation="sequential")
    return _bytes_of(index.save), index.matrix(range(8), range(8))


def index_file(data: bytes, place: Place) -> str:
    """A saved index: damaged ('P'), or with another header that has the right checksum."""
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
    with pack.opened(path) as where:
        rows, _ = folder.read_rows(where)
        assert kind != b"P" or (where / folder.ROWS).read_bytes() == files[folder.ROWS], "another run"
    return f"a run of {min(len(rows), 4)}"
