"""Targets of fuzzing: files of pairs, settings, what grailbench keeps for itself, runs and packs."""

import contextlib
import gzip
import io
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import slow_readers
from judge import Place, Target
from own_files import (
    dag,
    dag_file,
    graph_and_ids,
    graph_file,
    index_file,
    pack_of,
    query_set,
    rows,
    saved,
    stored_file,
)
from targets import mark

from grailbench.compare.runs import gate_of
from grailbench.data import registry, sources
from grailbench.distributed import shards
from grailbench.errors import GrailbenchError, InputError
from grailbench.graph import profile
from grailbench.graph.generate import catalogue
from grailbench.graph.ids import Counted, Named
from grailbench.harness import folder, pack, plan
from grailbench.outofcore import streams
from grailbench.problems.reachability import pairs
from grailbench.problems.reachability.peers import description, program
from grailbench.report import pages, stalls, values
from grailbench.util import settings


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
            pairs.write_pairs(stream, ids, found.sources[known], found.targets[known], found.given[known])
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
    return f"a page of {len(pages.Page(place.write(data)).renewed).bit_length()}"


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
    Target("page", _page, "Markdown pages with blocks"),
    Target("graph-file", stored_file(graph_and_ids, graph_file), "imported graphs and their ids", lines=False, few=100),
    Target("dag-file", stored_file(dag, dag_file), "condensed graphs in the cache", lines=False, few=100),
    Target("index-file", index_file, "saved indexes", lines=False, few=400, prepare=saved),
    Target("query-file", query_set, "query sets in the cache", names=None, lines=False, files=(), few=50),
    Target("rows", rows, "rows of runs", 1_500, files=(folder.ROWS,)),
    Target("pack", pack_of, "packs of runs", 1_500, files=(f"input{pack.SUFFIX}",), few=80),
)  # fmt: skip
