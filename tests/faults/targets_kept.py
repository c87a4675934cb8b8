"""Targets of fuzzing: files of pairs, settings, what grailbench keeps for itself, runs and packs."""

from __future__ import annotations

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
from kept_files import (
    dag,
    dag_file,
    environment,
    graph_and_ids,
    graph_file,
    index_file,
    kept_limits,
    pack_of,
    plan_of,
    query_set,
    rows,
    site_of,
    stages,
    stored_file,
)
from targets import _BLANK, _EDGES, _NUMBERS, _TABLE, mark

from grailbench.compare import gate
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
    sources.unpack(archive, "graph.gra", place.folder / "out")
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

_TOML = (b"[[experiment]]\n", b"[sets.large]\n", b"[archives.'a.gz']\n", b"[[datasets]]\n", b" = ", b"[", b"]",
    b"{", b"}", b'"',
         b"'''", b'"""', b"\\u0000", b"true", b"1e400", b"nan", b"inf", b"-0", b"1979-05-27", b"0x", b"#", b".",
         *_BLANK, *_NUMBERS)  # fmt: skip
_CONFIG = (b"datasets = ['kegg']\n", b"implementations = ", b"problem = 'closure'\n", b"dim = [1, 2]\n",
    b"queries = ['random']\n",
           b"time_limit = ", b"threads = ", b"filters = 'level,tree'\n", b"count = ", b"trials = ",
           b"sets = ['all']\n", *_TOML)  # fmt: skip
_JSON = (b"{", b"}", b"[", b"]", b":", b",", b'"', b"null", b"true", b"false", b"NaN", b"Infinity", b"1e400",
    b'"\\ud800"', b"[" * 40,
         b'"sum":', b"-1", b"9" * 30, *_BLANK, *_NUMBERS)  # fmt: skip
_ROW = (b'"phase":"query"', b'"trial":1', b'"ms":2', b'"status":"ok"', b'"counters":{"a":1}',
    b'"problem":"closure"', b'"key":"k"',
        b'"impl":"sequential"', b'"dataset":"a"', b'"energy":{}', b'"planned":2', b'"under":"label"',
        b'"filters":"none"', b"S", *_JSON)  # fmt: skip
_PATCH = tuple(
    bytes([what, *where.to_bytes(3, "little")]) for what in (1, 192, 193, 194) for where in (0, 30, 200, 1000, 4096)
)
_ARRAYS = (b'{"kind":"graph","vertices":2,"edges":1}\n', b"sources|<i4|0\n", b"targets|<i4|1\n", b"weights|<i4|5\n",
           b'"numbering":{"kind":"listed"}', b"labels|<i8|3 7\n", b"name_bytes|u1|", b"name_ends|<i8|", b'"arrays":{}',
           b'"kind":"named"', b'"kind":"counted","first":1', *_JSON)  # fmt: skip
_QUERY = (b"0 1\n", b"0 1 1\n", b"a\tb\t0\n", b"source,target,answer\n", b"u;v\n", b"New York\t#7\n", *_TABLE)

TARGETS = (
    Target("pairs", _numbers_oracle(_pairs(Counted(12)), Counted(12)), "pairs of numbers", _QUERY, few=700),
    Target("pairs-names", _pairs(_NAMES), "pairs of names", _QUERY, few=700),
    Target("pairs-table", _pairs(_NAMES, "input.csv"), "tables of pairs", _QUERY, files=("input", "input.csv"),
           few=700),
    Target("stream", _stream, "edge lists that are read piece by piece", _EDGES, files=("input.edges",), few=500),
    Target("npy-pairs", of_path(_array_file), "pairs of numpy",
           (b"\x93NUMPY\1\0", b"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }", b"'|O'", b"(",
            b"*", *_NUMBERS)),
    Target("archive", _archive, "downloaded archives", (b"tar\n", b"0|graph.gra|3|abc\n", b"2|l||", b"5|d/||",
           b"0|../a||", b"L||", b"S||",
           b"x||", b"\x1f\x8b\x08", b"1", *_NUMBERS), files=("input.tar.gz", "out"), few=400),
    Target("config", _config, "configs of runs", _CONFIG, few=500),
    Target("gate", of_path(gate.load_gate), "gates of comparisons",
           (b"ratio = 1.1\n", b"across = 2\n", b"least_ms", b"metrics", b"reference", b"times = 'none'\n", *_TOML)),
    Target("registry", of_path(registry._read), "the registry of graphs",
           (b"set = 's'\n", b"title = 't'\n", b"position = 1\n", b"sources", b"file", b"sha256", b"member",
            b"name", *_TOML)),
    Target("sets", of_path(lambda path: settings.read(path, catalogue.Set)), "sets of generated graphs",
           (b"[[graphs]]\n", b"kind", b"name", b"vertices", b"edges", b"seed", b"members", *_TOML)),
    Target("program", of_path(description.read), "descriptions of programs",
           (b"command = ['p', '{graph}', '{queries}']\n", b"[graph]\n", b"format = 'gra'\n", b"[times]\n",
            b"[answers]\n", b"match",
            b"unit = 'ms'", b"(", b"){99}", b"{u} {v}", *_TOML)),
    Target("printed", _printed, "what programs print", (b"took 5\n", b"took 1e400\n", b"yes\n", b"no\n", b"1\n",
           b"0\n", b"e", *_NUMBERS),
           files=("stdout",), names=None, lines=False),
    Target("outline", of_path(profile.read), "outlines of graphs", _JSON),
    Target("records", of_path(lambda path: values.read_records(path, {"a": "a"}, {"b": 1}).texts), "files of records",
           (b'{"a":1,"b":1}\n', *_JSON), lines=False),
    Target("stalls", of_path(stalls.read), "profiles of Nsight Compute",
           (b'"ID","Kernel Name","Metric Name","Metric Value"\n',
            b'"0","k","smsp__pcsamp_warps_issue_stalled_wait","5"\n',
            *_TABLE)),
    Target("page", _page, "Markdown pages with blocks",
           (b"<!-- grailbench", b"-->", b"<!-- /grailbench -->", b"columns = []\n", b"run = 'x'\n", b"table = ''\n",
            *_TOML)),
    Target("graph-file", stored_file(graph_and_ids, graph_file), "imported graphs and their ids", (*_ARRAYS, *_PATCH),
           lines=False, few=300),
    Target("dag-file", stored_file(dag, dag_file), "condensed graphs in the cache",
           (b"offsets|<i8|0 1 1\n", b"children|<i4|1\n", b"levels|<i4|0 1\n", b"order|<i4|0 1\n",
            b"component|<i4|0 1\n",
            b'{"kind":"dag","key":"k","version":1,"vertices":2,"edges":1,"duplicates":0,"loops":0}\n', *_ARRAYS,
            *_PATCH), lines=False, few=300),
    Target("index-file", index_file, "saved indexes", (b'{"arrays":{}}', b'"dtype":"<i4"', b'"at":0', b'"shape":[1]',
           b'"checks":[]',
           b'"params":{}', b'"graph":{"checksum":"a","vertices":8,"numbering":{}}', b'"implementation":"x"',
           b'"dropped":[0,0]',
           b'"version":2', b'"bytes":1', *_JSON, *_PATCH), lines=False, few=200),
    Target("query-file", query_set, "query sets in the cache", _PATCH, names=None, lines=False, files=(), few=100),
    Target("kept-limits", kept_limits, "ceilings in the cache", (b'"format":1', b'"fingerprint":"f"', *_JSON), 1_200),
    Target("stages", stages, "builds out of memory", (b'{"graph":"x","format":1}', *_JSON), files=("built",),
           names="built"),
    Target("site", site_of, "marks of sites", (b'{"files":["a"]}', *_JSON), files=("site",), names="site"),
    Target("rows", rows, "rows of runs", _ROW, 1_500, files=(folder.ROWS,)),
    Target("environment", environment, "environments of runs", (b'"gpus":[]', b'"workers":{}', b'"earlier":[]',
           b'"cores":1', *_JSON),
           800, files=(folder.ENVIRONMENT,)),
    Target("plan", plan_of, "plans of runs", (b'"config":{"experiment":[{"datasets":["kegg"]}]}', b'"format":2',
           *_JSON), 800,
           files=(folder.PLAN,)),
    Target("pack", pack_of, "packs of runs", (b"E", b"L", b"R", b"P", *_ROW, *_PATCH), 1_500,
           files=(f"input{pack.SUFFIX}",), few=200),
)  # fmt: skip
