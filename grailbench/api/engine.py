"""What answers the questions of a public index: an index of an implementation that was built, or is in a file.

An index file has a graph and its index as arrays (`graph.mapped`), and is mapped into memory, not read. Beside what
`reachability.stored` makes arrays of, its header has the checksum of the graph.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grailbench.api.graph import Graph
from grailbench.errors import InputError
from grailbench.graph import csr, mapped
from grailbench.graph.csr import Dag
from grailbench.graph.ids import Ids, from_stored
from grailbench.graph.kinds import STORED, Kinds
from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.core.index import SMALL, Core
from grailbench.problems.reachability.core.peel import peel
from grailbench.problems.reachability.cpu.grail import Parallel
from grailbench.problems.reachability.index import Implementation, Index, Params
from grailbench.problems.reachability.stored import caller_for, from_arrays, here, to_arrays
from grailbench.problems.reachability.supports.index import MOST_EDGES, Supports
from grailbench.problems.reachability.sweep.index import Sweep
from grailbench.util.outputs import atomic_file
from grailbench.util.words import count

if TYPE_CHECKING:
    from grailbench.distributed.spread import Spread

ROOM = SMALL  #: bytes that a closure may take for `core` to be chosen, on any machine
FEW = 512  #: pairs for which nothing is built: their sources go through the graph in one sweep


@dataclass
class Engine:
    """The index of an implementation.

    make   returns the index; it is called once, after `check`
    run    calls a function with arguments where the index lives: here, or on the thread of a GPU
    check  raises InputError if the file it was loaded from is damaged or was changed; it waits for the check to end
    raw    whether its queries are of vertices of the graph, in place of those of the condensed one
    spread  the workers that hold the index; None if it is in this process
    added  the new edges on top of another index, if there are some; `raw` is then of their own numbers of vertices
    """

    implementation: type[Implementation]
    params: Params
    make: Callable[[], Index]
    run: Callable[..., Any]
    check: Callable[[], None]
    raw: bool = False
    spread: Spread | None = None
    added: Added | None = None
    _making: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def index(self) -> Index:
        """The index. It is made when it is first needed, so that nothing follows an array of a file before the check.

        Raises InputError as `check` does, MachineLacks as `Implementation.restored` does.
        """
        self.check()
        with self._making:
            if "index" not in vars(self):  # no other thread was first
                vars(self)["index"] = self.run(self.make)
            made: Index = vars(self)["index"]
        return made


def built(
    implementation: type[Implementation], params: Params, graph: Graph, device: int | None,
    run: Callable[..., Any] | None = None,
) -> Engine:  # fmt: skip
    """Builds an index, on GPU number `device` if the implementation needs one, or where `run` does; from the edges, if
    they are in memory and the implementation condenses them itself. Raises MachineLacks."""
    run = run or caller_for(implementation, device)
    raw = graph.loaded and implementation.condenses(graph.raw, params)
    work, given = (implementation.ready, graph.raw) if raw else (implementation.build, graph.dag)
    graph.check()
    index = run(work, given, params, NoTimer())
    return Engine(implementation, params, lambda: index, run, graph.check, raw)


@dataclass(frozen=True)
class Added:
    """New edges on top of an index, and how vertices of the new graph are numbered in queries.

    graph, engine     the graph and the index without them
    sources, targets  int32[k]: their ends, vertices of the new graph
    kinds             those of the new edges; None if they have none
    component         int32[n]: the numbers in queries; None if each vertex has its own
    """

    graph: Graph
    engine: Engine
    sources: np.ndarray
    targets: np.ndarray
    kinds: Kinds | None
    component: np.ndarray | None


def chosen(params: Params, graph: Graph, pairs: int | None) -> Engine:
    """Builds the index that suits a graph: `core` where the closure of its core fits `Params.memory` bytes, by default
    `ROOM`; else `sweep`, which builds nothing, for at most `FEW` pairs in all (None: not known); else `supports`, or
    `parallel` with more than `MOST_EDGES` edges. Graph and parameters alone decide."""
    own = replace(params, memory=params.memory or ROOM)
    graph.check()
    index = Core.exact(graph.dag, peel(graph.dag), own)
    if index is not None:
        return Engine(Core, own, lambda: index, here, graph.check)
    if pairs is not None and pairs <= FEW:
        return built(Sweep, params, graph, None)
    return built(Supports if graph.dag.edges <= MOST_EDGES else Parallel, params, graph, None)


def write(graph: Graph, engine: Engine, path: Path) -> None:
    """Writes an index to a file, which appears whole or not at all, beside readers of an older one.

    Raises InputError if the implementation cannot store its index, OSError if the file cannot be written.
    """
    header, arrays = _described(graph, engine)
    with atomic_file(path, seeks=True, over=mapped.MAGIC, follow=True) as stream:  # an index may replace one
        mapped.write(stream, header, arrays)


@dataclass(frozen=True)
class Opened:
    """What a file holds: the graph, and what makes the index of it.

    dag    the condensed graph in the file
    check  raises InputError if an array is damaged, or the file was changed since
    """

    graph: Graph
    dag: Dag
    implementation: type[Implementation]
    params: Params
    stored: dict[str, np.ndarray]
    check: Callable[[], None]

    def restored(self, threads: int | None = None, device: int | None = None) -> tuple[Graph, Engine]:
        """The graph and the index, for queries on so many threads, None for those it was built with, and on the GPU of
        that number if it needs one, None for the first. Raises MachineLacks if the machine lacks what it needs."""
        params = self.params if threads is None else replace(self.params, threads=threads)
        run = caller_for(self.implementation, device)
        made = Engine(self.implementation, params, lambda: self.implementation.restored(self.dag, params, self.stored),
                      run, self.check)  # fmt: skip
        if "gpu" in self.implementation.needs:
            made.index  # noqa: B018 - raises now if there is no GPU
        return self.graph, made


def load(path: str | os.PathLike[str], graph: Graph | None = None, in_memory: bool = False) -> Opened:
    """Opens an index file, mapped or read into memory; see `grailbench.load`."""
    return _opened(mapped.content_of(path, in_memory), graph)


def packed(graph: Graph, engine: Engine) -> bytes:
    """An index as the bytes of its file, for pickle. Raises InputError as `save` does."""
    stream = io.BytesIO()
    mapped.write(stream, *_described(graph, engine))
    return stream.getvalue()


def unpacked(content: bytes) -> tuple[Graph, Engine]:
    """The index of `packed` bytes."""
    return _opened(mapped.Content(bytearray(content)), None).restored()


def _described(graph: Graph, engine: Engine) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the header says, and the arrays."""
    if engine.added is not None:
        message = f"{count(engine.added.sources.size, 'new edge')} on top of an index cannot be saved"
        raise InputError(message, remedy="index.rebuild() makes an index of all edges that can")
    stored = engine.run(engine.index.stored)
    if stored is None:
        raise InputError(
            f"{engine.implementation.name} keeps its index to itself, so it cannot be saved",
            remedy="gb.build(graph) makes one that can",
        )
    header, arrays = to_arrays(engine.implementation, engine.params, graph.dag, stored)
    numbering, ids = graph.ids.stored()
    if not graph.acyclic:
        arrays |= dict(zip(("rows/offsets", "rows/targets"), graph.rows, strict=True))
    arrays |= {f"ids/{name}": array for name, array in ids.items()}
    of = {"checksum": graph.checksum, "vertices": graph.vertices, "numbering": numbering}
    if graph.kinds and (kinds := graph.raw.kinds) is not None:
        of["kinds"] = kinds.names
        codes = kinds.codes.astype(STORED)
        arrays |= {"edges/sources": graph.raw.sources, "edges/targets": graph.raw.targets, "edges/kinds": codes}
    return header | {"graph": of}, arrays


def _opened(content: mapped.Content, graph: Graph | None) -> Opened:
    """What is in the content of a file. No array is read here: what is made of one is made after the check."""
    path = content.path
    header, start = mapped.header(content.buffer, path)
    try:
        of = header["graph"]
        if graph is not None and graph.checksum != of["checksum"]:
            raise InputError(
                f"it is the index of another graph, of {of['vertices']:,} vertices with checksum "
                f"{of['checksum'][:12]}; this one has {graph.vertices:,} and {graph.checksum[:12]}",
                path=path, remedy=mapped.AGAIN,
            )  # fmt: skip
        arrays = mapped.arrays_of(content.buffer, header, start)
        check = mapped.Check(arrays, header, content)
        found, params, dag, own = from_arrays(header, arrays, path)
        rows = mapped.named(arrays, "rows/")
        if graph is None:

            def ids() -> Ids:
                check()
                return from_stored(of["vertices"], of["numbering"], mapped.named(arrays, "ids/"))

            def edges() -> csr.Graph:
                check()
                found = mapped.named(arrays, "edges/")
                kinds = Kinds.restored(found["kinds"], of["kinds"])
                return csr.Graph.from_edges(of["vertices"], found["sources"], found["targets"], kinds=kinds)

            graph = Graph.of_parts(
                dag, (rows["offsets"], rows["targets"]) if rows else None, ids, of["checksum"], check,
                edges if "kinds" in of else None, of.get("kinds", ()),
            )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise mapped.damaged(path, f"its header does not hold together ({type(error).__name__}: {error})") from None
    return Opened(graph, dag, found, params, own, check)
