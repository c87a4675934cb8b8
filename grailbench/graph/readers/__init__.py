"""Reads graphs of all formats from files and folders; the format is given by the user or recognised."""

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from zipfile import is_zipfile

import numpy as np

from grailbench.errors import InputError, TooLittleMemory, in_file
from grailbench.graph.arguments import shown
from grailbench.graph.csr import Graph
from grailbench.graph.readers.cells import readings
from grailbench.graph.readers.text import BOM, Found, refuse_wide, with_line_feeds, without_bom
from grailbench.graph.revisions import commits, is_repository
from grailbench.util.files import PACKED, Source
from grailbench.util.files import opened as opened_file


class _Format(NamedTuple):
    """A format that is read.

    about      what it is, for users
    module     the module here whose function `read_NAME` reads it
    suffixes   endings of its files
    beginning  matches the first bytes of files that can be of no other format; may follow blank lines
    lines      whether it is a text whose lines may end in CR alone; parsers of others find line ends themselves
    options    those of `Options` that its reader takes
    """

    about: str
    module: str
    suffixes: tuple[str, ...] = ()
    beginning: bytes | None = None
    lines: bool = False
    options: tuple[str, ...] = ()


_COLUMNS = ("source", "target", "weight", "kind")
_FORMATS = {
    "gra": _Format("GRAIL's .gra, with or without the graph_for_greach line", "rows", (".gra",),
                   rb"\s*graph_for_greach|\s*\d+[ \t\r]*\n\s*\d+[ \t]*:", True),
    "edges": _Format("edge list of numbers: plain, SNAP or KONECT", "edges", (".edges", ".edgelist", ".el"),
                     None, True, ("vertices", "renumber")),
    # `go mod graph`: module@version, of which the main module has none, or go@1.21 and toolchain@go1.21.0
    "names": _Format("edge list of names: two words a line, or two texts with a tab between them", "tables", (),
                     rb"[^\s#%]+ [^\s@]+@(?:v|go)?\d[^\s]*\s*\n", True, ("source", "target", "kind")),
    "csv": _Format("table with an edge a line, columns by name", "tables", (".csv",),
                   rb'(?i:[ \t]*"?sep=[^\n]"?[ \t]*\n)', options=(*_COLUMNS, "header")),
    "tsv": _Format("the same with tabs", "tables", (".tsv",), options=(*_COLUMNS, "header")),
    "parquet": _Format("the same in Parquet", "tables", (".parquet", ".pq"), rb"PAR1", options=_COLUMNS),
    # the second comment line of networkx.write_adjlist, which edge lists do not have
    "adjlist": _Format("adjacency list of networkx: a vertex and all that it has edges to on a line", "rows",
                       (".adjlist",), rb"(?:\s*#[^\n]*\n)*?\s*#[ \t]*GMT \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\s",
                       True),
    "mtx": _Format("Matrix Market, coordinate", "edges", (".mtx", ".mm"), rb"(?i:\s*%%?MatrixMarket)", True),
    "metis": _Format("METIS, undirected", "rows", (".graph", ".metis"), None, True),
    "tuwien": _Format("the closure report's: 'vertices edges directed', then 'source destination weight' a line",
                      "edges", (".tuwien",), rb"(?i:\s*\d+[ \t]+\d+[ \t]+(?:un)?directed\s)", True),
    "dimacs": _Format("DIMACS: shortest paths 'p sp' and arcs, or 'p edge' and edges", "edges", (".gr", ".col"),
                      rb"(?:c[^\n]*\n|\s)*p[ \t]+(?:sp|edge|col)[ \t]", True),
    "npz": _Format("CSR arrays offsets and targets, or scipy.sparse.save_npz", "npz", (".npz",), rb"PK\x03\x04"),
    "dot": _Format("Graphviz DOT", "languages", (".dot", ".gv"),
                   rb"(?is:(?:\s|//[^\n]*+\n|/\*.*?\*/|#[^\n]*+\n)*(?:strict\s+)?(?:di)?graph\b[^{\[]{0,200}\{)", True,
                   ("kind",)),
    "gml": _Format("GML", "languages", (".gml",), rb"(?i:(?:\s|#[^\n]*+\n|[a-z]+[ \t]+[^\n\[]*\n)*?graph\s*\[)",
                   options=("kind",)),
    "graphml": _Format("GraphML", "languages", (".graphml",), rb"(?s:\s*(?:<\?xml.{0,2000}?)?<graphml\b)",
                       options=("kind",)),
    "gexf": _Format("GEXF, of Gephi", "languages", (".gexf",), rb"(?s:\s*(?:<\?xml.{0,2000}?)?<gexf\b)",
                    options=("kind",)),
    "pajek": _Format("Pajek", "listings", (".net", ".paj"), rb"(?i:(?:\s|%[^\n]*+\n)*\*(?:vertices|network)\b)", True),
    "tgf": _Format("Trivial Graph Format: vertices, a line #, edges", "listings", (".tgf",), None, True),
    "sif": _Format("Cytoscape's: source, relation, targets", "listings", (".sif",), None, True),
    "ntriples": _Format("N-Triples and N-Quads: from subject to object", "listings", (".nt", ".nq"),
                        rb"(?:\s|#[^\n]*+\n)*(?:<[^<>\s]+>|_:\w+)[ \t]+<[^<>\s]*:[^<>\s]*>[ \t]+[<_\"]", True),
    "json": _Format("JSON: node-link, JSON Graph Format, Cytoscape.js, CycloneDX, SPDX, package-lock.json",
                    "documents", (".json",), rb"\s*\{\s*\"", options=("kind",)),
    "lock": _Format("lock file of Cargo, uv or Poetry: from package to dependency", "documents", (".lock",),
                    rb"(?s:(?:\s|#[^\n]*+\n).{0,2000}?\n|(?:version|revision)\b.{0,2000}?\n)?\[\[package\]\]"),
    "obo": _Format("ontology in OBO format: from child to parent", "languages", (".obo",), rb"\s*format-version\s*:",
                   True, ("relations",)),
    "git": _Format("git repository: from commit to parent", "folders"),
    "python": _Format("Python source tree: from importer to imported module", "folders", options=("outside",)),
}  # fmt: skip
FORMATS = {name: each.about for name, each in _FORMATS.items()}
FOLDERS = ("git", "python")  #: formats of folders
_SUFFIXES = {suffix: name for name, each in _FORMATS.items() for suffix in each.suffixes}
#: formats that are recognised by the name of a file, and what makes a graph of them
_OTHERS = {
    (".gt",): "graph-tool's: its Graph.save writes GraphML",
    (".h5", ".hdf5"): "HDF5: gb.Graph.from_edges takes its arrays",
    (".xlsx", ".xls", ".ods"): "a spreadsheet: save it as CSV",
    (".ttl", ".rdf", ".owl", ".n3", ".jsonld"): "RDF: 'rapper -o ntriples' or 'riot --output=nt' writes N-Triples",
    (".pickle", ".pkl", ".gpickle"): "pickled: load it in Python, and gb.Graph.from_networkx takes a graph",
    (".mat",): "MATLAB's: scipy.io.loadmat reads it, and gb.Graph.from_scipy takes its matrix",
    (".g6", ".s6", ".graph6", ".sparse6", ".d6"): "graph6: networkx.read_graph6 reads it, then gb.Graph.from_networkx",
    (".yaml", ".yml"): "YAML: a table of edges is read as CSV",
    (".7z", ".rar"): "an archive: unpack it",
    (".gdf", ".vna"): "Gephi opens it, and exports GEXF",
    (".arrow", ".feather"): "Arrow's: pyarrow.feather.read_table, then gb.Graph.from_edges takes two columns",
    (".db", ".sqlite", ".sqlite3"): "a database: export a table of edges as CSV",
    (".mmd", ".puml"): "a drawing: a table of its edges is read as CSV",
    (".cys",): "a session of Cytoscape, which exports GraphML and SIF",
    (".ncol",): "--format names reads it",
    (".lgl", ".dl"): "igraph reads it (Graph.Read_Lgl, Graph.Read_DL), then gb.Graph.from_igraph",
    (".gxl",): "GXL: 'gxl2dot' of graphviz writes DOT",
    (".spdx",): "SPDX as tags and values: its JSON is read",
    (".xml",): "XML that is neither GraphML nor GEXF; of CycloneDX the JSON is read",
}  # fmt: skip
_REMEDIES = {suffix: remedy for suffixes, remedy in _OTHERS.items() for suffix in suffixes}
_BEGINNINGS = {name: re.compile(each.beginning) for name, each in _FORMATS.items() if each.beginning}
_PAIR = re.compile(rb"\s*-?\d+[ \t]*[,;][ \t]*-?\d+[ \t]*(?:\n|$)")
_EDGE_LINE = re.compile(rb"(?:\s*[#%][^\n]*(?:\n|$))*\s*\d+[ \t]+\d+")
_HEAD = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a file is read.

    vertices   the number of vertices of an edge list, which replaces that of a header
    renumber   whether the vertices of an edge list are exactly the ids that occur in it
    source, target, weight
               columns of a table, by name, or by number from 1 where it has no header; None for the usual ones, and
               for no weights
    kind       the column of a table with the kinds of edges, or the attribute of edges in other formats; None for those
               that a format has by itself, as N-Triples has predicates, or none
    header     whether a table begins with the names of its columns
    relations  relations of an ontology whose edges are taken; empty for is_a
    outside    whether modules outside of a Python tree are vertices too
    """

    vertices: int | None = None
    renumber: bool = False
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    kind: str | None = None
    header: bool = True
    relations: tuple[str, ...] = ()
    outside: bool = False

    def given(self) -> dict:
        """The options that differ from what is taken without them."""
        pairs = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        return {name: value for name, value, default in pairs if value != default}

    def of(self, format: str) -> dict:
        """The options that the reader of a format takes. Raises InputError if another one is given."""
        for name in self.given():
            if name not in _FORMATS[format].options:
                word = {"header": "--no-header", "relations": "--relation"}.get(name, f"--{name}")
                formats = [each for each, found in _FORMATS.items() if name in found.options]
                raise InputError(f"{word} is for {', '.join(formats)}; this is {format}")
        if (self.source is None) != (self.target is None):
            raise InputError("--source and --target: both or none")
        return {name: getattr(self, name) for name in _FORMATS[format].options}


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
    """Reads the directed graph in a file, which may be compressed or alone in an archive, or in a folder.

    `format` is one of FORMATS, or None to recognise it. Each format is described in the module that reads it. Raises
    InputError with file, line and remedy if the file is malformed, and MachineLacks if the memory does not suffice or
    a library that the format needs is not installed.
    """
    return read(path, format).graph


def read(path: str | os.PathLike, format: str | None = None, **options) -> Reading:
    """As `read_graph`, with ids, format, notes and times. The times do not include compiling the parser.

    The options are those of `Options`.
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
        remedy = _REMEDIES.get(Path(path).suffix.lower())
        if format is None and remedy and os.path.isfile(path) and is_zipfile(path):
            raise InputError(f"not read here, {remedy}", path=path)
        with opened_file(path) as source:
            yield source
        return
    from grailbench.graph.readers.folders import python_files

    folder = Path(path)
    format = format or _format_of_folder(folder)
    if format not in FOLDERS:
        remedy = f"folders are read as {' or '.join(FOLDERS)}"
        raise InputError(f"it is a folder, and {format} is a format of files", path=path, remedy=remedy)
    content = commits(folder) if format == "git" else python_files(folder)
    yield Source(folder, str(folder.resolve()), np.frombuffer(content, np.uint8))


def read_source(source: Source, format: str | None = None, /, **options) -> Reading:
    """As `read`, for a graph that `opened` opened."""
    _check_known(format)
    wanted, started, path = Options(**options), perf_counter(), source.path
    with reading(path):
        text = without_bom(source.text)
        loaded = perf_counter()
        head = text[:_HEAD].tobytes()
        _check_filled(text.size, head, path, wanted)
        named = format is not None
        format = format or (_format_of_folder(path) if path.is_dir() else _format_of(head, source.named))
        if not named and format == "edges" and (wanted.source or wanted.kind):
            format = "tsv" if b"\t" in head else "names"  # numbers with tabs between them are both; the columns decide
        text = with_line_feeds(text) if _FORMATS[format].lines else text
        taken = wanted.of(format) | (
            {"named": named} if format == "edges" else {"path": path} if format in FOLDERS else {}
        )
        module = importlib.import_module(f"grailbench.graph.readers.{_FORMATS[format].module}")
        began = perf_counter()
        found = getattr(module, f"read_{format}")(text, **taken)
        if found.graph.kinds is not None:
            found = replace(found, notes=(*found.notes, found.graph.kinds.described()))
    times = {"load_seconds": loaded - started, "parse_seconds": perf_counter() - began}
    return Reading(**vars(found), format=format, text_bytes=text.size, **times)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Names the file in errors of what reads it; a MemoryError becomes TooLittleMemory."""
    try:
        with in_file(path):
            yield
    except TooLittleMemory as error:
        named = str(error).startswith(str(path))  # by what unpacks it
        raise error if named else TooLittleMemory(f"{path}: {error}") from None
    except MemoryError as error:
        why = str(error) or "an allocation failed"
        raise TooLittleMemory(f"{path}: too little memory to read it: {why}") from None


def _check_filled(size: int, head: bytes, path: Path, wanted: Options) -> None:
    """Raises InputError if a file holds nothing; an edge list may, if its number of vertices is given."""
    if size <= _HEAD and not head.strip() and wanted.vertices is None:
        if path.is_dir():
            raise InputError("the folder holds no commit and no Python file")
        what = "holds nothing but blanks" if size else "is empty"
        raise InputError(f"the file {what}", remedy="a graph is expected")


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
    with opened_file(path) as source, in_file(source.path):
        return _format_of(source.head(_HEAD), source.named)


def _format_of_folder(folder: Path) -> str:
    from grailbench.graph.readers.folders import has_python_files

    if is_repository(folder):
        return "git"
    if has_python_files(folder):
        return "python"
    raise InputError("it is a folder without a git repository and without Python files", path=folder)


def _format_of(head: bytes, path: Path) -> str:
    refuse_wide(head)
    head = head.removeprefix(BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for format, beginning in _BEGINNINGS.items():
        if beginning.match(head):
            return format
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (*PACKED, ".txt")]
    numbers = _EDGE_LINE.match(head) is not None
    if suffixes and suffixes[-1] in _SUFFIXES:
        format = _SUFFIXES[suffixes[-1]]
        return "edges" if format == "tsv" and (numbers or not head.strip()) else format
    if numbers or path.name.startswith("out."):
        return "edges"
    if suffixes and suffixes[-1] in _REMEDIES:
        raise InputError(f"not read here, {_REMEDIES[suffixes[-1]]}")
    if _PAIR.match(head):
        return "csv"
    first = head.lstrip().partition(b"\n")[0].decode("utf-8", "replace").lstrip("#% ")
    for format, delimiter in (("csv", ","), ("csv", ";"), ("tsv", "\t")):
        if readings(first.replace('"', "").split(delimiter)):
            return format
    raise InputError(
        "cannot detect the format", remedy=f"--format with one of {', '.join(FORMATS)}; names if a line is two words"
    )
