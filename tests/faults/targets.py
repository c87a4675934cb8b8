"""Targets of fuzzing: the readers of graphs. Those of other files are in `own_files`.

Most inputs are given to readers as bytes in memory, by the layer below the one that opens files, because opening takes
as long as reading a few hundred bytes; one in 64 is a file, and opened as any.
"""

import gzip
import importlib
import io
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import slow_readers
from judge import Place, Target

from grailbench.errors import InputError
from grailbench.graph import readers, writers
from grailbench.graph.csr import MAX_VERTICES, VERTEX
from grailbench.graph.readers import FORMATS
from grailbench.graph.weights import MOST_WEIGHT
from grailbench.graph.writers import write_tuwien
from grailbench.util.files import Source

ROUND_TRIP = 32  #: of so many inputs that were accepted the graph of one is written and read again
OPENED = 64  #: of so many inputs one is opened as a file


def mark(data: bytes) -> int:
    """A number of an input by which it is decided what else is tried with it."""
    return zlib.crc32(data)


def graph_target(format: str | None, oracle: Callable | None = None, options: Callable[[int], dict] = lambda number: {},
                 made: Callable[[bytes], bytes] = bytes) -> Callable[[bytes, Place], str]:  # fmt: skip
    """What reads an input as a graph.

    oracle   called with input, options, and what was found or the error; raises AssertionError if that is wrong
    options  the reader's options for an input of this number
    made     makes the file of an input, of formats that no mutation of bytes would reach
    """

    def read(data: bytes, place: Place) -> str:
        number = mark(data)
        content, asked = made(data), options(number // OPENED % 64)
        try:
            if number % OPENED == 0:
                found = readers.read(place.write(content), format, **asked)
            else:
                source = Source(place.path, str(place.path), np.frombuffer(bytearray(content), np.uint8))
                found = readers.read_source(source, format, **asked)
        except InputError as error:
            if oracle is not None:
                oracle(content, asked, None, error)
            raise
        check_graph(found)
        if oracle is not None:
            oracle(content, asked, found, None)
        if number // 7 % ROUND_TRIP == 0:
            round_trip(found, place)
        graph = found.graph
        weighed = graph.weights is not None, (found.weights or "")[:8]
        sizes = min(graph.vertices, 5), graph.edges.bit_length()
        return f"read {found.format} {type(found.ids).__name__} {sizes} {weighed} {[note[:12] for note in found.notes]}"

    return read


def check_graph(found) -> None:
    """Raises AssertionError unless a graph is one that kernels can take."""
    graph, ids = found.graph, found.ids
    assert graph.sources.dtype == graph.targets.dtype == VERTEX
    assert graph.sources.shape == graph.targets.shape == (graph.edges,)
    assert ids.vertices == graph.vertices, f"{ids.vertices} ids of {graph.vertices} vertices"
    for ends in (graph.sources, graph.targets):
        assert not ends.size or (ends.min() >= 0 and ends.max() < graph.vertices), "an edge to no vertex"
    if graph.weights is not None:
        weights = graph.weights
        assert weights.shape == (graph.edges,)
        assert not weights.size or (weights.min() >= 1 and weights.max() <= MOST_WEIGHT), "a weight out of range"
    if 0 < graph.vertices <= 64:
        every = np.arange(graph.vertices)
        labels = ids.labels_of(every).tolist()
        assert len(set(labels)) == graph.vertices, "two vertices of one id"
        assert (np.asarray(ids.vertices_of(ids.labels_of(every))) == every).all(), "ids that do not lead back"


def labelled(found) -> list[tuple]:
    """The edges of a graph in the ids of its file."""
    ends = [found.ids.labels_of(ends).tolist() for ends in (found.graph.sources, found.graph.targets)]
    return list(zip(*ends, strict=True))


def round_trip(found, place: Place) -> None:
    """Writes a graph in the formats that there are writers for, and reads it again. Raises AssertionError if that is
    another one."""
    graph, path = found.graph, place.path
    if not graph.edges or graph.edges > 1_000:
        return
    expected = set(labelled(found))
    weights = _least(labelled(found), graph.weights)
    writers.write_csv(path, graph, found.ids)
    again = _reread(path, "csv", **({"weight": "weight"} if weights else {}))
    _same("csv", expected, weights, again, found.ids.numeric)
    try:
        writers.write_edges(path, graph, found.ids)
    except InputError:
        assert not found.ids.numeric  # a name that no edge list can hold
    else:
        numbers = found.ids.numeric and max(map(max, expected)) < MAX_VERTICES  # larger ones are names to edge lists
        again = _reread(path, "edges" if numbers else "names")
        _same("edges", expected, weights, again, found.ids.numeric)
    if graph.vertices <= 1_000_000:
        write_tuwien(path, graph)
        again = _reread(path, "tuwien")
        by_vertex = set(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
        assert (again.graph.vertices, set(labelled(again))) == (graph.vertices, by_vertex), "tuwien"


def _reread(path: Path, format: str, **options) -> readers.Reading:
    """A graph that was written. Raises AssertionError if it is refused, which is no fault of the input."""
    try:
        return readers.read(path, format, **options)
    except InputError as error:
        raise AssertionError(f"written as {format}: refused: {error}") from error


def _least(edges: list[tuple], weights: np.ndarray | None) -> dict | None:
    """The least weight of each edge."""
    if weights is None:
        return None
    found: dict[tuple, int] = {}
    for edge, weight in zip(edges, weights.tolist(), strict=True):
        found[edge] = min(weight, found.get(edge, weight))
    return found


def _same(format: str, edges: set, weights: dict | None, again, numeric: bool) -> None:
    text = (lambda edge: edge) if numeric == again.ids.numeric else (lambda edge: tuple(map(str, edge)))
    assert {text(edge) for edge in labelled(again)} == {text(edge) for edge in edges}, (
        f"written as {format}: other edges"
    )
    assert _least(labelled(again), again.graph.weights) == weights or not numeric, f"written as {format}: other weights"


# ------------------------------------------------------------------ oracles


def _gra_oracle(data: bytes, asked: dict, found, error) -> None:
    try:
        vertices, edges = slow_readers.gra(data)
    except slow_readers.Refused as refused:
        if found is not None:
            raise AssertionError(f"accepted, although {refused}") from None
        return
    assert error is None, f"refused, although it is right: {error}"
    assert (found.graph.vertices, labelled(found)) == (vertices, edges)


def _edges_oracle(data: bytes, asked: dict, found, error) -> None:
    if error is not None:
        return
    try:
        said = slow_readers.EdgeList(data)
    except slow_readers.Refused as refused:
        raise AssertionError(f"accepted, although {refused}") from None
    if found.notes and found.notes[0].startswith("its first line counts "):  # lines between may be blank or comments
        assert not asked.keys() & {"renumber", "vertices"}
        assert said.counted()
    assert labelled(found) == said.all_edges
    ends = {end for edge in said.edges for end in edge}
    if asked.get("renumber"):
        expected = len(ends)
    elif (stated := asked.get("vertices", said.stated)) is not None:
        expected = stated
    else:
        expected = max(ends) + 1 - said.konect
    assert found.graph.vertices == expected, f"{found.graph.vertices} vertices, not {expected}"
    weights = said.weights()
    got = None if found.graph.weights is None else found.graph.weights.tolist()
    if any(map(bool, said.columns)):
        assert got == (None if weights is None else said.both_ways(weights)), f"weights {got}"


def _mtx_oracle(data: bytes, asked: dict, found, error) -> None:
    """Each entry of a matrix that was accepted is an edge unless it is 0, and there are no others."""
    if error is not None:
        return
    lines = [line for line in slow_readers.lines_of(data) if line.strip() and line.lstrip()[:1] not in b"%#"]
    size = int(lines[0].split()[0])
    if len(lines[0].split()) == 2:  # an array, column after column
        general = b"general" in data.lower().split(b"\n")[0]
        values = [slow_readers.is_zero(line.strip()) for line in lines[1:]]
        edges = {(k % size + 1, k // size + 1) for k, zero in enumerate(values) if not zero}
        assert found.graph.vertices == size
        assert not general or set(labelled(found)) == edges
        return
    entries = [tuple(map(int, line.split()[:2])) for line in lines[1:]]
    assert found.graph.vertices == size
    values = [line.split()[2:] for line in lines[1:]]
    zeros = [bool(said) and all(slow_readers.is_zero(word) for word in said) for said in values]
    entries = [entry for entry, zero in zip(entries, zeros, strict=True) if not zero]
    assert set(labelled(found)) in (set(entries), {*entries, *((v, u) for u, v in entries)})


# ------------------------------------------------------------------ files that mutations of bytes would not reach


def gzipped(data: bytes) -> bytes:
    """Gzip data of an input: its first byte says of which kind; other inputs are taken as they are."""
    kind, text = data[:1], data[1:]
    if kind == b"1":
        return gzip.compress(text, 1, mtime=0)
    if kind == b"2":  # two members
        return gzip.compress(text[::2], 1, mtime=0) + gzip.compress(text[1::2], 1, mtime=0)
    if kind == b"3":  # cut off, or changed at the end, where length and CRC are
        whole = gzip.compress(text[4:], 1, mtime=0)
        return whole[: len(whole) - int.from_bytes(text[:1], "little") % 30] + text[1:4]
    if kind == b"4":  # much of a little
        return gzip.compress(text[2:] * (1 + int.from_bytes(text[:2], "little")), 9, mtime=0)
    return data


def zipped_arrays(data: bytes) -> bytes:
    """An .npz of lines 'name|dtype|order|shape|values'; other inputs are taken as they are."""
    if not data.startswith(b"arrays\n"):
        return data
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of two members of one name
        for line in data.split(b"\n")[1:]:
            parts = line.split(b"|", 4)
            if len(parts) == 5:
                name, dtype, order, shape, values = parts
                header = b"{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (dtype, order, shape)
                header += b" " * (-(len(header) + 11) % 64) + b"\n"
                content = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + values_of(dtype, values)
                archive.writestr(zipfile.ZipInfo(name.decode("latin-1").replace("\0", "") + ".npy"), content)
    return into.getvalue()


def values_of(dtype: bytes, said: bytes) -> bytes:
    """Numbers of a type, as bytes; other values as they are."""
    try:
        kind = np.dtype(dtype.decode("ascii"))
        return np.array([int(each) for each in said.split()], kind).tobytes() if kind.kind in "iu" else said
    except (TypeError, ValueError, OverflowError, UnicodeDecodeError, SyntaxError):
        return said


# ------------------------------------------------------------------ the targets


def _of_edges(number: int) -> dict:
    return {0: {"renumber": True}, 1: {"vertices": 5}, 2: {"vertices": 0}, 3: {"vertices": 2**31 - 1}}.get(number, {})


def _of_tables(number: int) -> dict:
    named = {"source": "u", "target": "v"}
    return {0: named, 1: named | {"weight": "w"}, 2: {"header": False}, 3: {"weight": "weight"},
            4: {"header": False, "source": "2", "target": "1"}}.get(number, {})  # fmt: skip


def _needs(module: str) -> Callable[[], object]:
    return lambda: importlib.import_module(module)


TARGETS = (
    Target("gra", graph_target("gra", _gra_oracle), "GRAIL's .gra", goal=10_000_000),
    Target("edges", graph_target("edges", _edges_oracle, _of_edges), "edge lists: plain, weighted, SNAP, KONECT",
           goal=10_000_000),
    Target("names", graph_target("names"), "edge lists of names"),
    Target("csv", graph_target("csv", None, _of_tables), "tables with commas or semicolons"),
    Target("tsv", graph_target("tsv", None, _of_tables), "tables with tabs"),
    Target("adjlist", graph_target("adjlist"), "adjacency lists of NetworkX"),
    Target("mtx", graph_target("mtx", _mtx_oracle), "Matrix Market"),
    Target("metis", graph_target("metis"), "METIS"),
    Target("tuwien", graph_target("tuwien"), "the closure report's format"),
    Target("npz", graph_target("npz", None, made=zipped_arrays), "arrays of numpy and scipy", 800, lines=False),
    Target("dot", graph_target("dot"), "Graphviz DOT", 120, prepare=_needs("lark"), few=80),
    Target("graphml", graph_target("graphml"), "GraphML", 600, prepare=_needs("networkx"), few=150),
    Target("obo", graph_target("obo", None, lambda number: {0: {"relations": ("part_of",)}}.get(number % 8, {})),
           "ontologies", few=150),
    *(Target(name, graph_target(name), FORMATS[name], 600, few=80)
      for name in ("gml", "gexf", "pajek", "tgf", "sif", "ntriples", "json", "lock", "dimacs")),
    Target("parquet", graph_target("parquet", None, lambda number: {} if number else {"weight": "w"}), "Parquet",
           3_000, lines=False, prepare=_needs("pyarrow.parquet"), few=150),
    Target("git", graph_target("git"), "what git prints of commits"),
    Target("python", graph_target("python", None, lambda number: {"outside": bool(number % 2)}), "Python source trees",
           names=None, lines=False, few=150),
    Target("told", graph_target(None), "files of which the format is detected from the content", lines=False, few=150),
    Target("gzip", graph_target(None, made=gzipped), "graphs in gzip data, whole, cut off, damaged, in members, bombs",
           lines=False, few=130),
)  # fmt: skip
