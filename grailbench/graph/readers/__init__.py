"""Reads graphs of all formats from files and folders; the format is given by the user or recognised.

`python -m grailbench.graph.readers FILE [FORMAT]` prints how fast a file is read.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph.arguments import shown
from grailbench.graph.csr import Graph
from grailbench.graph.readers.options import Options
from grailbench.graph.readers.table import readings
from grailbench.graph.readers.text import BOM, Found, refuse_wide, with_line_feeds, without_bom
from grailbench.util.files import Source
from grailbench.util.files import opened as opened_file

FORMATS = {
    "gra": "GRAIL's .gra, with or without the graph_for_greach line",
    "edges": "edge list of numbers: plain, SNAP or KONECT",
    "names": "edge list of names: two words a line, or two texts with a tab between them",
    "csv": "table with an edge a line, columns by name",
    "tsv": "the same with tabs",
    "parquet": "the same in Parquet",
    "adjlist": "adjacency list of networkx: a vertex and all that it has edges to on a line",
    "mtx": "Matrix Market, coordinate",
    "metis": "METIS, undirected",
    "tuwien": "the closure report's: 'vertices edges directed', then 'source destination weight' a line",
    "npz": "CSR arrays offsets and targets, or scipy.sparse.save_npz",
    "dot": "Graphviz DOT",
    "graphml": "GraphML",
    "obo": "ontology in OBO format: from child to parent",
    "git": "git repository: from commit to parent",
    "python": "Python source tree: from importer to imported module",
}
FOLDERS = ("git", "python")  #: formats of folders
#: text formats whose lines may end in CR alone; the parsers of the others find line ends themselves
_LINES = ("gra", "edges", "names", "adjlist", "mtx", "metis", "tuwien", "dot", "obo")
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
    ".tsv": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".adjlist": "adjlist",
    ".dot": "dot",
    ".gv": "dot",
    ".graphml": "graphml",
    ".obo": "obo",
}
# Beginnings of files that identify a format. They are checked before the file name and may follow blank lines.
_SIGNATURES = (
    (re.compile(rb"PK\x03\x04"), "npz"),
    (re.compile(rb"PAR1"), "parquet"),
    (re.compile(rb"\s*(?:strict\s+)?(?:di)?graph\b[^\n{]{0,200}\{", re.IGNORECASE), "dot"),
    (re.compile(rb"\s*(?:<\?xml.{0,2000}?)?<graphml\b", re.DOTALL), "graphml"),
    (re.compile(rb"\s*format-version\s*:"), "obo"),
    (re.compile(rb"\s*%%MatrixMarket", re.IGNORECASE), "mtx"),
    (re.compile(rb"\s*\d+[ \t]+\d+[ \t]+(?:un)?directed\s", re.IGNORECASE), "tuwien"),
    (re.compile(rb'[ \t]*"?sep=[^\n]"?[ \t]*\n', re.IGNORECASE), "csv"),
    (re.compile(rb"\s*graph_for_greach|\s*\d+[ \t\r]*\n\s*\d+[ \t]*:"), "gra"),
    # the second comment line of networkx.write_adjlist, which edge lists do not have
    (re.compile(rb"(?:\s*#[^\n]*\n)*?\s*#[ \t]*GMT \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\s"), "adjlist"),
)
_EDGE_LINE = re.compile(rb"(?:\s*[#%][^\n]*(?:\n|$))*\s*\d+[ \t]+\d+")
_MODULES = {name: name for name in FORMATS}
_MODULES |= {"mtx": "edges", "names": "words", "csv": "columns", "tsv": "columns", "parquet": "columns"}
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
    """Reads the directed graph in a file, which may be compressed by gzip, or in a folder.

    `format` is one of FORMATS, or None to recognise it. Each format is described in the module that reads it. Raises
    InputError with file, line and remedy if the file is malformed, and MachineLacks if the memory does not suffice or
    a library that the format needs is not installed.
    """
    return read(path, format).graph


def read(path: str | os.PathLike, format: str | None = None, **options) -> Reading:
    """As `read_graph`, with ids, format, notes and times. The times do not include compiling the parser.

    The options are those of `options.Options`.
    """
    with opened(path, format) as source:
        return read_source(source, format, **options)


@contextmanager
def opened(path: str | os.PathLike, format: str | None = None) -> Iterator[Source]:
    """Opens a graph as `files.opened` does, which may also be a folder: then the content is what its reader takes.

    Raises InputError if it cannot be read or is a folder of another format.
    """
    _check_known(format)
    if not os.path.isdir(path):
        with opened_file(path) as source:
            yield source
        return
    folder = Path(path)
    format = format or _format_of_folder(folder)
    if format not in FOLDERS:
        remedy = f"folders are read as {' or '.join(FOLDERS)}"
        raise InputError(f"it is a folder, and {format} is a format of files", path=path, remedy=remedy)
    content = importlib.import_module(f"grailbench.graph.readers.{format}").content(folder)
    yield Source(folder, str(folder.resolve()), np.frombuffer(content, np.uint8))


def read_source(source: Source, format: str | None = None, /, **options) -> Reading:
    """As `read`, for a graph that `opened` opened."""
    _check_known(format)
    asked, started = Options(**options), perf_counter()
    try:
        text = without_bom(source.text, source.path)
        loaded = perf_counter()
        head = text[:_HEAD].tobytes()
        _check_filled(text.size, head, source.path, asked)
        named = format is not None
        format = format or (_format_of_folder(source.path) if source.path.is_dir() else _format_of(head, source.path))
        if not named and format == "edges" and asked.source and b"\t" in head:
            format = "tsv"  # numbers with tabs between them are both; columns are asked for
        text = with_line_feeds(text) if format in _LINES else text
        taken = asked.of(format, source.path) | ({"named": named} if format == "edges" else {})
        module = importlib.import_module(f"grailbench.graph.readers.{_MODULES[format]}")
        began = perf_counter()
        found = getattr(module, f"read_{format}")(source.path, text, **taken)
    except MemoryError as error:
        why = str(error) or "an allocation failed"
        raise TooLittleMemory(f"{source.path}: too little memory to read it: {why}") from None
    times = {"load_seconds": loaded - started, "parse_seconds": perf_counter() - began}
    return Reading(**vars(found), format=format, text_bytes=text.size, **times)


def _check_filled(size: int, head: bytes, path: Path, asked: Options) -> None:
    """Raises InputError if a file holds nothing; an edge list of which the number of vertices is said may be empty."""
    if size <= _HEAD and not head.strip() and asked.vertices is None:
        if path.is_dir():
            raise InputError("the folder holds no commit and no Python file", path=path)
        what = "holds nothing but blanks" if size else "is empty"
        raise InputError(f"the file {what}", path=path, remedy="a graph is expected")


def _check_known(format: str | None) -> None:
    if format is not None and not (isinstance(format, str) and format in FORMATS):
        raise InputError(f"unknown format {shown(format)}", remedy=f"one of {', '.join(FORMATS)}")


def guess_format(path: str | os.PathLike) -> str:
    """The format of a file, recognised by its beginning, else by its name, else as an edge list or a table by its first
    line; and that of a folder.

    METIS files and edge lists look alike: a file of numbers that is not named .graph or .metis is taken as an edge
    list. Raises InputError if the format is not recognised.
    """
    if os.path.isdir(path):
        return _format_of_folder(Path(path))
    with opened_file(path) as source:
        return _format_of(source.head(_HEAD), source.path)


def _format_of_folder(folder: Path) -> str:
    from grailbench.graph.readers import git, python

    if git.is_repository(folder):
        return "git"
    if python.has_files(folder):
        return "python"
    raise InputError("it is a folder without a git repository and without Python files", path=folder)


def _format_of(head: bytes, path: Path) -> str:
    refuse_wide(head, path)
    head = head.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for signature, format in _SIGNATURES:
        if signature.match(head):
            return format
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".txt")]
    numbers = _EDGE_LINE.match(head) is not None
    if suffixes and suffixes[-1] in _SUFFIXES:
        format = _SUFFIXES[suffixes[-1]]
        return "edges" if format == "tsv" and (numbers or not head.strip()) else format
    if numbers or path.name.startswith("out."):
        return "edges"
    first = head.lstrip().partition(b"\n")[0].decode("utf-8", "replace").lstrip("#% ")
    for format, delimiter in (("csv", ","), ("csv", ";"), ("tsv", "\t")):
        if readings(first.replace('"', "").split(delimiter)):
            return format
    raise InputError(
        "cannot detect the format", path=path,
        remedy=f"--format with one of {', '.join(FORMATS)}; names if a line is two words",
    )  # fmt: skip


def benchmark(path: str | os.PathLike, format: str | None = None, rounds: int = 5) -> str:
    """Reads a file `rounds` times; returns one line with sizes and the rates of the fastest round."""
    best = min((read(path, format) for _ in range(rounds)), key=lambda r: r.load_seconds + r.parse_seconds)
    return (
        f"{path}: {best.format}, {best.graph.vertices} vertices, {best.graph.edges} edges, "
        f"{best.text_bytes / 1e6:.1f} MB in {1e3 * (best.load_seconds + best.parse_seconds):.1f} ms: "
        f"{best.mb_per_s:.0f} MB/s (parsing alone {best.text_bytes / 1e6 / max(best.parse_seconds, 1e-9):.0f})"
    )
