"""Building an index by the name of its implementation, and opening one that was saved: `grailbench.build`, `.load`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from grailbench.api import engine
from grailbench.api.engine import built, chosen
from grailbench.api.graph import Graph
from grailbench.api.index import Index
from grailbench.api.kinds import KindIndex
from grailbench.api.kinds import built as built_by_kind
from grailbench.errors import InputError
from grailbench.graph.arguments import check_path, flag, shown, whole_number
from grailbench.problems import contract
from grailbench.problems.reachability.core.index import Core
from grailbench.problems.reachability.index import FILTERS, Params
from grailbench.util import ahead
from grailbench.util.guard import interruptible
from grailbench.util.memory import parsed

if TYPE_CHECKING:
    from distributed import Client

AUTO, STREAMED = "auto", "streamed"


@overload
def build(
    graph: Graph | str | os.PathLike[str] | Iterable[Any] | Callable[[], Iterable[Any]],
    implementation: str = ..., *, by: None = ..., d: int = ..., filters: str | tuple[str, ...] | None = ...,
    threads: int = ..., device: int | None = ..., search: Literal["dfs", "bfs", "bbfs"] = ...,
    order: Literal["lexicographic", "random"] = ..., seed: int = ..., devices: int = ...,
    memory: int | str | None = ..., pairs: int | None = ..., client: Client | None = ...,
    folder: str | os.PathLike[str] | None = ..., vertices: int | None = ..., resume: bool = ...,
) -> Index: ...  # fmt: skip


@overload
def build(
    graph: Graph,
    implementation: str = ..., *, by: Literal["kind"] | Mapping[str, str | Iterable[str]], d: int = ...,
    filters: str | tuple[str, ...] | None = ...,
    threads: int = ..., device: int | None = ..., search: Literal["dfs", "bfs", "bbfs"] = ...,
    order: Literal["lexicographic", "random"] = ..., seed: int = ..., devices: int = ...,
    memory: int | str | None = ..., pairs: int | None = ..., client: Client | None = ...,
    folder: str | os.PathLike[str] | None = ..., vertices: int | None = ..., resume: bool = ...,
) -> KindIndex: ...  # fmt: skip


@interruptible
def build(
    graph: Graph | str | os.PathLike[str] | Iterable[Any] | Callable[[], Iterable[Any]],
    implementation: str = AUTO,
    *,
    by: Literal["kind"] | Mapping[str, str | Iterable[str]] | None = None,
    d: int = 2,
    filters: str | tuple[str, ...] | None = None,
    threads: int = 0,
    device: int | None = None,
    search: Literal["dfs", "bfs", "bbfs"] = "dfs",
    order: Literal["lexicographic", "random"] = "lexicographic",
    seed: int = 1,
    devices: int = 1,
    memory: int | str | None = None,
    pairs: int | None = None,
    client: Client | None = None,
    folder: str | os.PathLike[str] | None = None,
    vertices: int | None = None,
    resume: bool = False,
) -> Index | KindIndex:
    """Builds an index of a graph; a graph with cycles is condensed first.

    'gpu-fused' starts from edges that are in memory; those of `Graph.open` are not, as its condensed form is at hand.
    From 131,072 on it and 'core-gpu' condense them on the GPU; they map vertices there. What needs the condensed graph
    on the host has it condensed when it is first asked: sets, counts, paths, explanations, large matrices, and
    `Index.save`.

    implementation
             any name that `grailbench list implementations` shows, also of a GPU, of another library or of
             a plug-in; 'auto' takes `core`, exact and without a search, where the closure of the graph's core takes
             at most `memory`; else `sweep`, which builds nothing, for 512 `pairs` or fewer; else `supports`.
             The graph and these parameters alone decide
    by       'kind' for an index of each kind of edges, or names with the kinds of each: a `KindIndex` of these parts
    d        number of label pairs
    filters  exact filters besides the labels, as ('level', 'tree') or 'level,tree'; None for all, () or 'none' for none
    threads  worker threads, 0 for all cores
    device   the number of the GPU, for implementations that need one; None for the first
    search   how open queries are searched: depth-first, breadth-first, or breadth-first from both ends ('bbfs')
    order    the order of children in the traversals that make the labels
    seed     of all that is random; equal arguments give equal labels and answers
    devices  how many GPUs share the queries, from the first on
    memory   bytes that the closure of `core` may take, also as '500MB'; None for 64 MiB with 'auto', and with 'core'
             for a quarter of the free memory where that is more; with 'streamed' bytes that the build may use, None for
             a quarter of the free memory
    pairs    how many pairs will be asked in all, if that is known; 'auto' alone looks at it
    client   of dask.distributed: batches of pairs are answered by its workers, which hold the index (`Index.stream`),
             each on as many threads as it has, or one a GPU; single pairs, sets and paths are answered here
    folder, vertices, resume
             of 'streamed', see below

    With 'streamed' the graph may be one that does not fit the memory: a path of an edge list or Parquet file, a name as
    'random-n4000000-k150-s1', or blocks of edges that you make, each two columns of numbers from 0 on: an iterable, or
    a function that returns one. `vertices` is their number, by default one more than the greatest. `folder`, new
    or empty, keeps what is finished, and at last the index; with `resume` a build that was killed goes on from there,
    once the edges were read again and are the same. Without it a temporary folder is used. A graph with cycles is
    refused, unless it is a `Graph`.

    An implementation uses those of these parameters that it has (`grailbench info NAME`). Raises InputError for an
    unknown name or value, MachineLacks if an extra, a GPU or memory is missing, or a worker has another grailbench.

    >>> import grailbench as gb
    >>> gb.build(gb.Graph.from_edges([0, 1], [1, 2]), "sequential", d=3, filters="level,tree").reaches(0, 2)
    True
    """
    if by is not None:
        how = {name: value for name, value in locals().items() if name not in ("graph", "by")}
        return built_by_kind(graph, by, lambda part: build(part, **how))
    if not isinstance(implementation, str):
        remedy = "'grailbench list implementations' shows them"
        raise InputError(f"{shown(implementation)} is no name of an implementation", remedy=remedy)
    names = tuple(FILTERS) if filters is None else filters
    if isinstance(names, str):
        names = tuple(part.strip() for part in names.split(",") if part.strip() not in ("", "none"))
    if not isinstance(names, tuple | list):
        raise InputError(f"filters {shown(filters)}: choose among {', '.join(FILTERS)}")
    if isinstance(memory, str | float):
        memory = parsed(str(memory))
    room = 0 if memory is None else whole_number(memory, "memory", 1)
    params = Params(
        whole_number(threads, "threads"), whole_number(seed, "seed", 0), dim=whole_number(d, "d"), search=search,
        filters=tuple(names), order=order, devices=whole_number(devices, "devices"), memory=room,
    )  # fmt: skip
    pairs = None if pairs is None else whole_number(pairs, "pairs", 0)
    device = None if device is None else whole_number(device, "device", 0)
    resume = flag(resume, "resume")
    if folder is not None:
        check_path(folder, "folder")
    if not isinstance(graph, Graph):
        if implementation != STREAMED:
            remedy = "Graph.read and Graph.open make one; 'streamed' takes a stream of edges"
            if hasattr(graph, "columns"):
                remedy = "Graph.from_edges(table['source'], table['target']) makes one of a table"
            elif hasattr(graph, "is_directed"):
                remedy = "Graph.from_networkx or Graph.from_igraph makes one"
            raise InputError(f"{shown(graph)} is no Graph, and {implementation!r} builds on one", remedy=remedy)
        from grailbench.api import streamed
        from grailbench.outofcore.build import file_of

        index, _ = streamed.built(graph, params, folder, vertices, resume)
        if client is not None and folder is not None:
            return load(file_of(folder), client=client)
        return _spread(index, client)
    if folder is not None or vertices is not None or resume:
        raise InputError("`folder`, `vertices` and `resume` are for streams of edges", remedy="leave them out")
    ahead.expect("grailbench.api.first:of_answer", implementation in (AUTO, Core.name))
    if implementation == AUTO:
        if device is not None:
            raise InputError(f"device {device}: 'auto' runs on the CPU", remedy="leave out `device`, or name another")
        return _spread(Index(graph, chosen(params, graph, pairs)), client)
    found = contract.implementation(implementation)
    if found.described_by is not None:
        raise InputError(f"{found.name} is a command, which leaves no index", remedy="measure it by `grailbench run`")
    if device is not None and "gpu" not in found.needs:
        raise InputError(f"device {device}: {found.name} runs on the CPU", remedy="leave out `device`")
    if device is not None and params.devices > 1:
        raise InputError(f"device {device} and {params.devices} devices: one of them", remedy="leave out `device`")
    return _spread(Index(graph, built(found, params, graph, device)), client)


@interruptible
def load(
    path: str | os.PathLike[str],
    graph: Graph | None = None,
    client: Client | None = None,
    implementation: str | None = None,
    mmap: bool = True,
) -> Index:
    """Opens an index file that `Index.save` wrote, in milliseconds; any number of processes share its memory.

    graph   the graph that it must be of; another one is refused
    implementation
            another one than the file's: it is built of the graph in the file, with the label pairs and the seed of the
            index, so that 'gpu-fused' has the labels that 'streamed' saved
    client  of dask.distributed: pairs are answered by its workers, each of which maps the file; see `grailbench.build`
    mmap    whether the file is mapped; else it is read into this process's memory, and what happens to the file then
            has no effect

    Raises InputError if there is no such file, or it is no index, of another version, damaged or of another graph, and
    MachineLacks if it needs a GPU that is missing, or the memory is too small. The first question checks the arrays,
    before anything reads them, and raises InputError if they are damaged, MachineLacks if an extra is missing.

    To replace an index under a server, save the new one to the same path, which replaces the file at once, and load
    that again; indexes that were loaded before go on answering of the old one. A mapped file must not be written to in
    place, as by `cp`: the index then refuses questions (`Index`). A question that is running at that moment, and
    single ones in the 10 ms after it, may get a wrong answer or crash the process, as by SIGBUS where the file was cut.
    A graph taken from the index is not watched. Load with `mmap=False` where others may write to the file.

    >>> import grailbench as gb
    >>> graph = gb.Graph.from_edges(["a", "b"], ["b", "c"])
    >>> gb.build(graph).save("letters.index")
    >>> gb.load("letters.index").reaches("a", "c")
    True
    """
    check_path(path)
    mmap = flag(mmap, "mmap")
    if not isinstance(graph, Graph | None):
        raise InputError(f"{shown(graph)} is no Graph")
    if client is not None and implementation is None:
        from grailbench.api import spread

        if not mmap:
            raise InputError("mmap=False: the workers of `client` map the file", remedy="leave out one of the two")
        return spread.loaded(client, path, graph)
    found = engine.load(path, graph, in_memory=not mmap)
    if implementation is None:
        return Index(*found.restored())
    own = found.params
    return build(found.graph, implementation, d=own.dim, seed=own.seed, filters=own.filters, client=client)


def _spread(index: Index, client: Client | None) -> Index:
    """The index, or the one that the workers of a client hold."""
    if client is None:
        return index
    from grailbench.api import spread

    return spread.built(client, index)
