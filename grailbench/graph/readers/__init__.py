"""Reads graph files of all formats; the format is given by the user or recognised by content and file name.

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
from grailbench.graph.readers.text import BOM, Found, refuse_wide, without_bom

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
# Beginnings of files that identify a format. They are checked before the file name and may follow blank lines.
_SIGNATURES = (
    (re.compile(rb"PK\x03\x04"), "npz"),
    (re.compile(rb"\s*%%MatrixMarket", re.IGNORECASE), "mtx"),
    (re.compile(rb"\s*\d+[ \t]+\d+[ \t]+(?:un)?directed\s", re.IGNORECASE), "tuwien"),
    (re.compile(rb"\s*graph_for_greach|\s*\d+[ \t\r]*\n\s*\d+[ \t]*:"), "gra"),
    # the second comment line of networkx.write_adjlist, which edge lists do not have
    (re.compile(rb"(?:\s*#[^\n]*\n)*?\s*#[ \t]*GMT \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\s"), "adjlist"),
)
_EDGE_LINE = re.compile(rb"(?:\s*[#%][^\n]*(?:\n|$))*\s*\d+[ \t]+\d+")
_MODULES = {name: name for name in FORMATS} | {"mtx": "edges"}
_HEAD = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Reading(Found):
    """What was found in a file, its format, the size of the text after decompression, and the times taken."""

    format: str
    text_bytes: int
    load_seconds: float
    parse_seconds: float

    @property
    def mb_per_s(self) -> float:
        """Megabytes (1e6 bytes) of text per second, including opening and decompressing the file."""
        return self.text_bytes / 1e6 / max(self.load_seconds + self.parse_seconds, 1e-9)


def read_graph(path: str | os.PathLike, format: str | None = None) -> Graph:
    """Reads the directed graph in a file, which may be compressed by gzip.

    `format` is one of FORMATS, or None to recognise it. Each format is described in the module that reads it. Raises
    InputError with file, line and remedy if the file is malformed, and MachineLacks if the memory does not suffice.
    """
    return read(path, format).graph


def read(path: str | os.PathLike, format: str | None = None) -> Reading:
    """As `read_graph`, with format, ids, notes and times. The times do not include compiling the parser."""
    _check_known(format)
    with opened(path) as source:
        return read_source(source, format)


def read_source(
    source: Source, format: str | None = None, vertices: int | None = None, renumber: bool = False
) -> Reading:
    """As `read`, for an open file. `vertices` and `renumber` are for edge lists, see `edges.read_edges`."""
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
    times = {"load_seconds": loaded - started, "parse_seconds": perf_counter() - began}
    return Reading(**vars(found), format=format, text_bytes=text.size, **times)


def _check_known(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise InputError(f"unknown format {format!r}", remedy=f"one of {', '.join(FORMATS)}")


def guess_format(path: str | os.PathLike) -> str:
    """The format of a file, recognised by its beginning, else by its name, else as an edge list by its first line.

    METIS files and edge lists look alike: a file of numbers that is not named .graph or .metis is taken as an edge
    list. Raises InputError if the format is not recognised.
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
    """Reads a file `rounds` times; returns one line with sizes and the rates of the fastest round."""
    best = min((read(path, format) for _ in range(rounds)), key=lambda r: r.load_seconds + r.parse_seconds)
    return (
        f"{path}: {best.format}, {best.graph.vertices} vertices, {best.graph.edges} edges, "
        f"{best.text_bytes / 1e6:.1f} MB in {1e3 * (best.load_seconds + best.parse_seconds):.1f} ms: "
        f"{best.mb_per_s:.0f} MB/s (parsing alone {best.text_bytes / 1e6 / max(best.parse_seconds, 1e-9):.0f})"
    )
