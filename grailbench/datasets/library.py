"""A name to a condensed graph: real graphs that were fetched, generated ones, imported ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from grailbench.datasets import cache
from grailbench.datasets.cache import Held
from grailbench.datasets.locate import Location, locate
from grailbench.datasets.registry import Dataset, registry
from grailbench.errors import InputError
from grailbench.graph.csr import Dag, Graph, rows_of, weighted_rows_of
from grailbench.graph.ids import Counted, Ids
from grailbench.graph.profile import characteristics


@dataclass(frozen=True)
class BenchGraph:
    """A graph ready to be measured.

    kind       'real', 'synthetic' or 'imported'
    sha256     of the graph file for a real graph, of vertices and edges for the others
    verified   whether a checksum of the registry vouches for it; None for graphs the registry does not know
    published_vertices, published_edges
               as the thesis prints them, with the super-root; None where it does not
    table      the thesis's table that has the graph ('2.1'); None for any other graph
    """

    name: str
    title: str
    set: str
    kind: Literal["real", "synthetic", "imported"]
    sha256: str
    verified: bool | None
    dag: Dag
    published_vertices: int | None = None
    published_edges: int | None = None
    table: str | None = None

    @property
    def vertices(self) -> int:
        """Number of vertices, the super-root counted."""
        return self.dag.vertices

    @property
    def edges(self) -> int:
        """Number of edges as the thesis counts them."""
        return self.dag.printed_edges

    @property
    def roots(self) -> int:
        """Number of vertices without parents before the super-root came."""
        return self.dag.roots.size

    @cached_property
    def ids(self) -> Ids:
        """The ids of the file, from which original vertices are numbered; read when first asked for.

        Raises InputError when the file is no longer the one that was opened.
        """
        return _ids_of(self)

    @property
    def raw(self) -> Graph:
        """The edges as the file has them, read anew. Raises InputError when it is no longer the one that was opened."""
        return _edges_of(self)


def open_graph(name: str) -> BenchGraph:
    """The graph of that name: a dataset (by name or alias), an imported or generated graph, or a look-alike.

    A graph whose name says how to generate it is generated and stored when it was not yet. Raises InputError when
    nothing has the name, when a dataset was not fetched, or when a file changed since.
    """
    from grailbench.graph.store import stored_dag

    found = locate(name)
    if found.dataset is not None:
        return _real(found.dataset)
    dag, meta = stored_dag(*_stored(found))
    return BenchGraph(found.name, meta.get("title", found.name), found.kind, found.kind, meta["sha256"], None, dag)


def _stored(found: Location) -> tuple[Path, Graph | None]:
    """Where a graph that is not real lies; with the graph, if it is generated now: its edges need not be read back."""
    from grailbench.graph.generate import made_by_name

    return (found.path, None) if found.here else made_by_name(found.name)


def _ids_of(graph: BenchGraph) -> Ids:
    from grailbench.graph.readers import read
    from grailbench.graph.store import load_ids, read_meta

    if graph.kind == "synthetic":
        return Counted(graph.dag.component.size)
    if graph.kind == "real":
        found = _same_file(graph)
        gra = found.form.format == "gra"
        return Counted(graph.dag.component.size) if gra else read(found.path, found.form.format).ids
    path = Location(graph.name, graph.kind).path
    if read_meta(path)["sha256"] != graph.sha256:
        raise _changed(graph)
    return load_ids(path)


def _edges_of(graph: BenchGraph) -> Graph:
    from grailbench.graph.readers import read_graph
    from grailbench.graph.store import load_graph

    if graph.kind != "real":
        return load_graph(Location(graph.name, graph.kind).path)[0]
    found = _same_file(graph)
    return read_graph(found.path, found.form.format)


def _same_file(graph: BenchGraph) -> Held:
    """The file of a real graph. Raises InputError when it is no longer the one that was opened."""
    found = cache.held(registry()[graph.name])
    if found is None or found.sha256 != graph.sha256:
        raise _changed(graph)
    return found


def _changed(graph: BenchGraph) -> InputError:
    return InputError(f"the file of {graph.name} changed since it was opened")


@dataclass(frozen=True)
class RawGraph:
    """A graph as its file gives it, ready for a problem that does not condense; fields as in `BenchGraph`, and `ids`,
    `weights` and `notes` as in `grailbench.graph.readers.Reading`."""

    name: str
    title: str
    kind: Literal["real", "synthetic", "imported"]
    sha256: str
    verified: bool | None
    graph: Graph
    ids: Ids
    weights: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def vertices(self) -> int:
        """Number of vertices of the file: no super-root."""
        return self.graph.vertices

    @property
    def edges(self) -> int:
        """Number of edges of the file, duplicates counted."""
        return self.graph.edges

    @property
    def roots(self) -> None:
        """Not counted: there is no super-root."""
        return None

    @property
    def raw(self) -> Graph:
        """The edges as the file has them."""
        return self.graph

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """int64[n + 1], int32[m]: CSR of the edges, rows ascending, duplicates and self-loops kept."""
        return rows_of(self.graph)

    @property
    def weighted_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """The same with int32[m] weights, where the file has some that serve; else None."""
        return None if self.graph.weights is None else weighted_rows_of(self.graph)


def open_raw(name: str) -> RawGraph:
    """The raw graph of that name: whatever `open_graph` opens. Raises InputError as it does."""
    from grailbench.graph.readers import read
    from grailbench.graph.store import load_graph, load_ids, read_meta

    place = locate(name)
    if (dataset := place.dataset) is None:
        path, graph = _stored(place)
        graph, meta = load_graph(path) if graph is None else (graph, read_meta(path))
        what = place.name, meta.get("title", place.name), place.kind, meta["sha256"], None, graph, load_ids(path)
        return RawGraph(*what, meta.get("weights"), tuple(meta.get("notes", ())))
    found = _held(dataset)
    read_ = read(found.path, found.form.format)
    what = read_.graph, read_.ids, read_.weights, read_.notes
    return RawGraph(dataset.name, dataset.title, "real", found.sha256, found.verified, *what)


def describe(dataset: Dataset) -> dict:
    """What is measured and what is printed of a dataset, as one flat record.

    name, title, set, table
    vertices, edges, distinct_edges, degree, levels, roots, sinks, max_in_degree, max_out_degree
                    see `grailbench.graph.profile.characteristics`; None when not held
    published_vertices, published_edges, published_degree, published_in
                    as printed, with the super-root; None where no paper prints that
    file_vertices, file_edges; published_file_vertices, published_file_edges, published_file_in
                    the same before the super-root
    matches         whether vertices and edges equal every printed pair (known errata aside); None when not
                    held or nothing is printed
    verified, checked, sha256, archive_sha256, source
                    of the file held; `checked` is one of `grailbench.datasets.fetch.CHECKS`
    errata, notes   what is known to be wrong in print, and more

    Raises InputError when the file held changed since it was fetched, or cannot be read.
    """
    found = cache.held(dataset)
    measured = None if found is None else _measured(found)
    row: dict = {"name": dataset.name, "title": dataset.title, "set": dataset.set, "table": dataset.table}
    row |= measured or dict.fromkeys(_CHARACTERISTICS)
    row |= _published(dataset)
    before = (None, None) if measured is None else _before(measured)
    row |= {"file_vertices": before[0], "file_edges": before[1], "matches": matches(dataset, measured)}
    row |= {
        "verified": None if found is None else found.verified,
        "checked": None if found is None else found.checked,
        "sha256": None if found is None else found.sha256,
        "archive_sha256": None if found is None else found.note.get("archive_sha256"),
        "source": None if found is None else found.note.get("source"),
        "errata": [f"{p.where}: {p.edges:,} edges: {p.erratum}" for p in dataset.published if p.erratum],
        "notes": list(dataset.notes),
    }
    return row


def matches(dataset: Dataset, measured: dict | None) -> bool | None:
    """Whether `characteristics` equal every printed vertex and edge count, known errata aside.

    None when nothing was measured or no sound row is printed.
    """
    rows = [row for row in dataset.published if row.erratum is None]
    if measured is None or not rows:
        return None
    counts = {True: (measured["vertices"], measured["edges"]), False: _before(measured)}
    return all((row.vertices, row.edges) == counts[row.super_root] for row in rows)


_CHARACTERISTICS = (
    "vertices",
    "edges",
    "distinct_edges",
    "degree",
    "levels",
    "roots",
    "sinks",
    "max_in_degree",
    "max_out_degree",
)


def _before(measured: dict) -> tuple[int, int]:
    """Vertices and edges before the super-root came."""
    return measured["vertices"] - 1, measured["edges"] - measured["roots"]


def _published(dataset: Dataset) -> dict:
    after, before = dataset.printed(super_root=True), dataset.printed(super_root=False)
    return {
        "published_vertices": after and after.vertices,
        "published_edges": after and after.edges,
        "published_degree": after and after.degree,
        "published_in": after and after.where,
        "published_file_vertices": before and before.vertices,
        "published_file_edges": before and before.edges,
        "published_file_degree": before and before.degree,
        "published_file_in": before and before.where,
    }


def _measured(found: Held) -> dict:
    """The characteristics of a held graph, from its note when they were counted before."""
    from grailbench.graph.store import FORMAT_VERSION

    version = f"{found.sha256}-v{FORMAT_VERSION}"
    noted = found.note.get("measured", {})
    if noted.get("of") == version and set(noted) == {"of", *_CHARACTERISTICS}:
        return {key: noted[key] for key in _CHARACTERISTICS}
    measured = characteristics(_dag(found))
    try:
        cache.write_note(found.path, found.note | {"sha256": found.sha256, "measured": {"of": version, **measured}})
    except OSError:
        return measured  # a cache that cannot be written is read all the same
    return measured


def _dag(found: Held) -> Dag:
    from grailbench.graph.readers import read_graph
    from grailbench.graph.store import cached_dag

    return cached_dag(found.sha256, lambda: read_graph(found.path, found.form.format))


def _real(dataset: Dataset) -> BenchGraph:
    found = _held(dataset)
    printed = dataset.printed(super_root=True)
    return BenchGraph(
        name=dataset.name,
        title=dataset.title,
        set=dataset.set,
        kind="real",
        sha256=found.sha256,
        verified=found.verified,
        dag=_dag(found),
        published_vertices=printed and printed.vertices,
        published_edges=printed and printed.edges,
        table=dataset.table,
    )


def _held(dataset: Dataset) -> Held:
    """The file of a dataset. Raises InputError when it was not fetched."""
    found = cache.held(dataset)
    if found is None:
        raise InputError(f"{dataset.name} was not fetched yet", remedy=f"grailbench fetch {dataset.name}")
    return found
