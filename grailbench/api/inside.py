"""What a public index holds: the index of an implementation, where it runs, and whether its file is whole."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from grailbench.graph.csr import Dag
from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.core.index import SMALL, Core
from grailbench.problems.reachability.core.peel import peel
from grailbench.problems.reachability.cpu.grail import Parallel, Sequential
from grailbench.problems.reachability.index import Implementation, Index, Params
from grailbench.problems.reachability.stored import caller_for, here
from grailbench.problems.reachability.sweep.index import Sweep

if TYPE_CHECKING:
    from grailbench.api.graph import Graph
    from grailbench.distributed.spread import Spread

ROOM = SMALL  #: bytes that a closure may take for `core` to be chosen, on any machine
FEW = 512  #: pairs for which nothing is built: their sources go through the graph in one sweep


@dataclass
class Inside:
    """The index of an implementation.

    make   returns the index; it is called once, after `check`
    run    calls a function with arguments where the index lives: here, or on the thread of a GPU
    check  raises InputError if the file it was loaded from is damaged or was changed; it waits for the check to end
    raw    whether its queries are of vertices of the graph, in place of those of the condensed one
    spread  the workers that hold the index; None if it is in this process
    """

    implementation: type[Implementation]
    params: Params
    make: Callable[[], Index]
    run: Callable[..., Any]
    check: Callable[[], None]
    raw: bool = False
    spread: Spread | None = None
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


def built(implementation: type[Implementation], params: Params, graph: Graph, device: int | None) -> Inside:
    """Builds an index, on GPU number `device` if the implementation needs one; from the edges, if they are in memory
    and the implementation condenses them itself. Raises MachineLacks."""
    run = caller_for(implementation, device)
    raw = graph.loaded and implementation.condenses(graph.raw, params)
    work, given = (implementation.ready, graph.raw) if raw else (implementation.build, graph.dag)
    graph.check()
    index = run(work, given, params, NoTimer())
    return Inside(implementation, params, lambda: index, run, graph.check, raw)


def chosen(params: Params, graph: Graph, pairs: int | None) -> Inside:
    """Builds the index that suits a graph: `core` where the closure of its core fits `Params.memory` bytes, by default
    `ROOM`; else `sweep`, which builds nothing, for at most `FEW` pairs in all (None: not known); else `parallel`, or
    `sequential` if there is one thread. Graph and parameters alone decide."""
    own = replace(params, memory=params.memory or ROOM)
    graph.check()
    index = Core.exact(graph.dag, peel(graph.dag), own)
    if index is not None:
        return Inside(Core, own, lambda: index, here, graph.check)
    if pairs is not None and pairs <= FEW:
        return built(Sweep, params, graph, None)
    return built(Parallel if params.workers > 1 else Sequential, params, graph, None)


def restored(
    implementation: type[Implementation],
    params: Params,
    dag: Dag,
    arrays: dict[str, Any],
    check: Callable[[], None],
    device: int | None = None,
) -> Inside:
    """Makes an index again from stored arrays, on GPU number `device` if it needs one. Raises MachineLacks if the
    machine lacks that."""
    run = caller_for(implementation, device)
    found = Inside(implementation, params, lambda: implementation.restored(dag, params, arrays), run, check)
    if "gpu" in implementation.needs:
        found.index  # noqa: B018 - what its GPU lacks is said now
    return found
