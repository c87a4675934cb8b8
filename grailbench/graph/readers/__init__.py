"""Any graph file to a `Graph`: one door, the format named by the user or told from content and name.

`python -m grailbench.graph.readers FILE [FORMAT]` prints how fast a file is read.
"""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from grailbench.errors import InputError, TooLittleMemory
from grailbench.files import Source, opened
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Ids
from grailbench.graph.readers.text import BOM, refuse_wide, without_bom

FORMATS = {
    "gra": "GRAIL's .gra, with or without the graph_for_greach line",
    "edges": "edge list: plain, SNAP or KONECT",
    "adjlist": "adjacency list of networkx: a vertex and all that it has edges to on a line",
    "mtx": "Matrix Market, coordinate",
    "metis": "METIS, undirected",
    "tuwien": "the closure report's: 'vertices edges directed', then 'source destination weight' a line",
    "npz": "CSR arrays offsets and targets, or scipy.sparse.save_npz",
}
_SUFFIXES = {
    ".gra": "gra",
    ".mtx": "mtx",
    ".mm": "mtx",
    ".graph": "metis",
    ".metis": "metis",
    ".tuwien": "tuwien",
    ".npz": "npz",
    ".edges": "edges",
    ".edgelist": "edges",
    ".el": "edges",
    ".tsv": "edges",
    ".adjlist": "adjlist",
}
# What a file's start says for certain; tried before its name. A blank line may come before any of them.
_SIGNATURES = (
    (re.compile(rb"PK\x03\x04"), "npz"),
    (re.compile(rb"\s*%%MatrixMarket", re.IGNORECASE), "mtx"),
    (re.compile(rb"\s*\d+[ \t]+\d+[ \t]+(?:un)?directed\s", re.IGNORECASE), "tuwien"),
    (re.compile(rb"\s*graph_for_greach|\s*\d+[ \t\r]*\n\s*\d+[ \t]*:"), "gra"),
    # the second comment line that networkx.write_adjlist writes, and no writer of edge lists
    (re.compile(rb"(?:\s*#[^\n]*\n)*?\s*#[ \t]*GMT \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\s"), "adjlist"),
)
_EDGE_LINE = re.compile(rb"(?:\s*[#%][^\n]*(?:\n|$))*\s*\d+[ \t]+\d+")
_MODULES = {name: name for name in FORMATS} | {"mtx": "edges"}
_HEAD = 1 << 16


@dataclass(frozen=True)
class Reading:
    """A graph as read, and how: `text_bytes` are counted after decompression, times are in seconds.

    ids      the ids that the vertices have in the file
    notes    what else was done to it, or should be known, each in a few words
    weights  what the file's weights are, or why they are not used; None where it has none
    """

    graph: Graph
    format: str
    ids: Ids
    notes: tuple[str, ...]
    weights: str | None
    text_bytes: int
    load_seconds: float
    parse_seconds: float

    @property
    def mb_per_s(self) -> float:
        """Megabytes (1e6 bytes) of text a second, from opening the file to the graph."""
        return self.text_bytes / 1e6 / max(self.load_seconds + self.parse_seconds, 1e-9)


def read_graph(path: str | os.PathLike, format: str | None = None) -> Graph:
    """The directed graph in a file, edges as the file gives them; gzip is seen through.

    `format` is one of FORMATS, or None to tell it from content and name. The rules of each format are in the
    module that reads it. Raises InputError naming file, line and remedy, MachineLacks when memory does not suffice.
    """
    return read(path, format).graph


def read(path: str | os.PathLike, format: str | None = None) -> Reading:
    """As `read_graph`, with format, ids, what was done, and times. Compiling the parser is not in the times."""
    _check_known(format)
    with opened(path) as source:
        return read_source(source, format)


def read_source(
    source: Source, format: str | None = None, vertices: int | None = None, renumber: bool = False
) -> Reading:
    """As `read`, of a file that was opened already. Of an edge list, `vertices` is the count in a header's stead, and
    with `renumber` the vertices are the ids that occur, and no others."""
    _check_known(format)
    started = perf_counter()
    try:
        text = without_bom(source.text, source.path)
        loaded = perf_counter()
        named, format = format is not None, format or _format_of(text[:_HEAD].tobytes(), source.path)
        asked = {"named": named, "vertices": vertices, "renumber": renumber} if format == "edges" else {}
        if not asked and (vertices is not None or renumber):
            raise InputError(f"--vertices and --renumber are for edge lists; this is {format}", path=source.path)
        module = importlib.import_module(f"grailbench.graph.readers.{_MODULES[format]}")
        began = perf_counter()
        found = getattr(module, f"read_{format}")(source.path, text, **asked)
    except MemoryError as error:
        why = str(error) or "an allocation failed"
        raise TooLittleMemory(f"{source.path}: too little memory to read it: {why}") from None
    times = loaded - started, perf_counter() - began
    return Reading(found.graph, format, found.ids, found.notes, found.weights, text.size, *times)


def _check_known(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise InputError(f"unknown format {format!r}", remedy=f"one of {', '.join(FORMATS)}")


def guess_format(path: str | os.PathLike) -> str:
    """The format of a file: by a signature at its start, else by its name, else as edge list if it looks like one.

    METIS and edge lists look alike: without one of the names .graph and .metis, a file of numbers is an edge list.
    Raises InputError when nothing fits.
    """
    with opened(path) as source:
        return _format_of(source.head(_HEAD), source.path)


def _format_of(head: bytes, path: Path) -> str:
    refuse_wide(head, path)
    head = head.removeprefix(BOM)
    for signature, format in _SIGNATURES:
        if signature.match(head):
            return format
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".txt")]
    if suffixes and suffixes[-1] in _SUFFIXES:
        return _SUFFIXES[suffixes[-1]]
    if _EDGE_LINE.match(head) or path.name.startswith("out."):
        return "edges"
    raise InputError("the format cannot be told", path=path, remedy=f"--format with one of {', '.join(FORMATS)}")


def benchmark(path: str | os.PathLike, format: str | None = None, rounds: int = 5) -> str:
    """Read a file `rounds` times; one line with sizes and the rates of the fastest round."""
    best = min((read(path, format) for _ in range(rounds)), key=lambda r: r.load_seconds + r.parse_seconds)
    return (
        f"{path}: {best.format}, {best.graph.vertices} vertices, {best.graph.edges} edges, "
        f"{best.text_bytes / 1e6:.1f} MB in {1e3 * (best.load_seconds + best.parse_seconds):.1f} ms: "
        f"{best.mb_per_s:.0f} MB/s (parsing alone {best.text_bytes / 1e6 / max(best.parse_seconds, 1e-9):.0f})"
    )
