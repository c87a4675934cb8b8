"""Opening graphs by name: real graphs that were fetched, generated graphs and imported graphs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from grailbench.data import cache
from grailbench.data.cache import CachedFile
from grailbench.data.locate import Location, locate
from grailbench.data.registry import Dataset, registry
from grailbench.errors import InputError, of_system
from grailbench.graph import store
from grailbench.graph.csr import Dag, Graph, rows_of, weighted_rows_of
from grailbench.graph.ids import Counted, Ids
from grailbench.util import caches

if TYPE_CHECKING:
    from grailbench.graph.readers import Reading


@dataclass(frozen=True)
class _Opened:
    """What is known of a graph that was opened.

    kind       'real', 'synthetic' or 'imported'
    sha256     of the graph file for a real graph, of vertices and edges for the others
    verified   whether it was checked against a checksum of the registry; None for graphs outside the registry
    """

    name: str
    title: str
    set: str
    kind: Literal["real", "synthetic", "imported"]
    sha256: str
    verified: bool | None


@dataclass(frozen=True)
class BenchGraph(_Opened):
    """A condensed graph, ready to be measured; `kinds` names those of its edges, if they have some."""

    dag: Dag
    kinds: tuple[str, ...] = ()

    @property
    def vertices(self) -> int:
        """Number of vertices, with the super-root."""
        return self.dag.vertices

    @property
    def edges(self) -> int:
        """Number of edges as the thesis counts them: with duplicates and those of the super-root."""
        return self.dag.printed_edges

    @property
    def roots(self) -> int:
        """Number of vertices without parents before the super-root was added."""
        return self.dag.roots.size

    @property
    def raw_edges(self) -> int:
        """Number of edges of the file, with duplicates and those within a component."""
        return self.dag.printed_edges + self.dag.loops - self.roots

    @cached_property
    def ids(self) -> Ids:
        """The ids that the file uses for its vertices. They are read at the first access.

        Raises InputError when the file is no longer the one that was opened.
        """
        if self.kind == "real":
            found = _file_of(registry()[self.name], self.sha256)
            if found.form.format != "gra":
                return _read(found).ids
        if self.kind != "imported":
            return Counted(self.dag.component.size)
        return store.load_ids(Location(self.name, self.kind).path, self.sha256)

    @property
    def raw(self) -> Graph:
        """The edges of the file, read again. Raises InputError when it is no longer the one that was opened."""
        if self.kind != "real":
            return store.load_graph(Location(self.name, self.kind).path, self.sha256)[0]
        return _read(_file_of(registry()[self.name], self.sha256)).graph


@dataclass(frozen=True)
class RawGraph(_Opened):
    """A graph as in its file, for problems on graphs that are not condensed; `ids`, `weights` and `notes` as in
    `grailbench.graph.readers.Reading`."""

    graph: Graph
    ids: Ids
    weights: str | None = None
    notes: tuple[str, ...] = ()

    roots = None  #: not counted, as there is no super-root

    @property
    def vertices(self) -> int:
        """Number of vertices of the file, without a super-root."""
        return self.graph.vertices

    @property
    def edges(self) -> int:
        """Number of edges of the file, with duplicates."""
        return self.graph.edges

    raw_edges = edges

    @property
    def raw(self) -> Graph:
        """The edges of the file."""
        return self.graph

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """int64[n + 1], int32[m]: CSR of the edges, each row in ascending order, with duplicates and self-loops."""
        return rows_of(self.graph)

    @property
    def weighted_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """`rows` and int32[m] weights; None where the file has no weights that can be used."""
        return None if self.graph.weights is None else weighted_rows_of(self.graph)


def open_graph(name: str, sha256: str | None = None) -> BenchGraph:
    """Open the graph of that name: a dataset (by name or alias), an imported or generated graph, or a look-alike.

    A graph that can be generated from its name is generated and stored if it is not stored yet. `sha256` is that of the
    graph which is meant; None for any of that name. Raises InputError for an unknown name, for another graph than is
    meant, for a dataset that was not fetched, and for a file that changed since it was fetched.
    """
    place = locate(name)
    if place.dataset is not None:
        found = _file_of(place.dataset, sha256)
        return BenchGraph(*_of_file(found), _dag(found))
    dag, meta = store.stored_dag(*_stored(place))
    store.require_same(meta["sha256"], sha256, place.name)
    return BenchGraph(*_of_meta(place, meta), dag, tuple(meta.get("kinds", ())))


def open_raw(name: str) -> RawGraph:
    """Open the raw graph of that name. Takes the names that `open_graph` takes, and raises the same errors."""
    place = locate(name)
    if place.dataset is not None:
        found = _file_of(place.dataset)
        got = _read(found)
        return RawGraph(*_of_file(found), got.graph, got.ids, got.weights, got.notes)
    path, graph = _stored(place)
    graph, meta = store.load_graph(path) if graph is None else (graph, store.read_meta(path))
    ids = store.load_ids(path, meta["sha256"])
    return RawGraph(*_of_meta(place, meta), graph, ids, meta.get("weights"), tuple(meta.get("notes", ())))


def _of_file(found: CachedFile) -> tuple:
    """The fields of `_Opened` of a dataset."""
    dataset = found.dataset
    return dataset.name, dataset.title, dataset.set, "real", found.sha256, found.verified


def _of_meta(place: Location, meta: dict) -> tuple:
    """The fields of `_Opened` of a stored graph."""
    title, of = place.name, None
    if place.kind == "synthetic":
        from grailbench.graph.generate import catalogue

        title, of = catalogue.title_of(place.name), catalogue.set_of(place.name)
    return place.name, meta.get("title", title), of or place.kind, place.kind, meta["sha256"], None


def _stored(found: Location) -> tuple[Path, Graph | None]:
    """The stored file of a graph that is not real, which is generated if it is missing; then also its edges, which
    need not be read back. Raises InputError or MachineLacks if it cannot be stored."""
    caches.use(found.path)
    if found.here:
        return found.path, None
    try:
        from grailbench.graph.generate import made, recipe_of

        return made(recipe_of(found.name))
    except OSError as error:
        raise of_system(error) from error


def describe(dataset: Dataset) -> dict:
    """The measured and the printed characteristics of a dataset, as one flat record.

    name, title, set, table
    vertices, edges, distinct_edges, degree, levels, roots, sinks, max_in_degree, max_out_degree
                    of the condensed graph, see `grailbench.graph.profile.characteristics`; None when the file is not in
                    the cache
    published_vertices, published_edges, published_degree, published_in
                    as printed, with the super-root; None where no paper prints it
    file_vertices, file_edges; published_file_vertices, published_file_edges, published_file_in
                    of the file, without the super-root and before condensing
    closure_pairs, closure_pairs_with_cycles
                    the registered size of the closure, without and with pairs (v, v); None where it has none
    matches         whether vertices and edges equal every printed pair, except known errata; None when the file is
                    not in the cache or nothing is printed
    verified, checked, sha256, archive_sha256, source
                    of the file in the cache; `checked` is a key of `grailbench.data.cache.CHECKS`
    errata, notes   known errors in print, and other remarks

    Raises InputError when the file changed since it was fetched, or cannot be read.
    """
    found = cache.cached_file(dataset)
    measured = None if found is None else _measured(found)
    row: dict = {"name": dataset.name, "title": dataset.title, "set": dataset.set, "table": dataset.table}
    row |= measured or dict.fromkeys(_CHARACTERISTICS)
    for prefix, super_root in (("published", True), ("published_file", False)):
        printed = dataset.printed(super_root)
        fields = {"vertices": "vertices", "edges": "edges", "degree": "degree", "in": "where"}
        row |= {f"{prefix}_{name}": printed and getattr(printed, field) for name, field in fields.items()}
    pairs = dataset.closure
    row |= {"closure_pairs": pairs and pairs.pairs, "closure_pairs_with_cycles": pairs and pairs.with_cycles}
    row |= {"matches": matches(dataset, measured)}
    for name in ("verified", "checked", "sha256"):
        row[name] = found and getattr(found, name)
    for name in ("archive_sha256", "source"):
        row[name] = found and found.note.get(name)
    errata = [f"{p.where}: {p.edges:,} edges: {p.erratum}" for p in dataset.published if p.erratum]
    return row | {"errata": errata, "notes": list(dataset.notes)}


def matches(dataset: Dataset, measured: dict | None) -> bool | None:
    """Whether the measured characteristics equal every printed vertex and edge count, except known errata.

    None when nothing was measured or only errata are printed.
    """
    rows = [row for row in dataset.published if row.erratum is None]
    if measured is None or not rows:
        return None
    with_root = measured["vertices"], measured["edges"]
    counts = {True: with_root, False: (with_root[0] - 1, with_root[1] - measured["roots"])}
    return all((row.vertices, row.edges) == counts[row.super_root] for row in rows)


_CHARACTERISTICS = ("vertices", "edges", "distinct_edges", "degree", "levels", "roots", "sinks",
                    "max_in_degree", "max_out_degree", "file_vertices", "file_edges")  # fmt: skip


def _measured(found: CachedFile) -> dict:
    """The characteristics of a graph in the cache, taken from its note if they were computed before."""
    version = f"{found.sha256}-v{store.FORMAT_VERSION}"
    noted = found.note.get("measured", {})
    if noted.get("of") == version and set(noted) == {"of", *_CHARACTERISTICS}:
        return {key: noted[key] for key in _CHARACTERISTICS}
    from grailbench.graph.profile import characteristics

    dag = _dag(found)
    edges = dag.printed_edges - dag.roots.size + dag.loops
    measured = characteristics(dag) | {"file_vertices": dag.component.size, "file_edges": edges}
    try:
        cache.write_note(found.path, found.note | {"sha256": found.sha256, "measured": {"of": version, **measured}})
    except OSError:
        return measured  # the cache may be read-only
    return measured


def _dag(found: CachedFile) -> Dag:
    return store.cached_dag(found.sha256, lambda: _read(found).graph)


def _read(found: CachedFile) -> Reading:
    """The graph in the file of a dataset. Raises InputError if another file is in its place now."""
    from grailbench.graph.readers import opened, read_source

    with opened(found.path, found.form.format) as source:
        store.require_same(source.sha256, found.sha256, found.path)
        return read_source(source, found.form.format)


def _file_of(dataset: Dataset, sha256: str | None = None) -> CachedFile:
    """The file of a dataset in the cache. Raises InputError when it was not fetched, or has another sha256."""
    found = cache.cached_file(dataset)
    if found is None:
        raise InputError(f"{dataset.name} was not fetched yet", remedy=f"grailbench fetch {dataset.name}")
    store.require_same(found.sha256, sha256, dataset.name)
    return found
