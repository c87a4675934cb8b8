"""Ways through the kernels that small graphs do not take by themselves: those of large and deep ones.

Each is a function of a digraph (`oracle_checks.Digraph`) that raises AssertionError where answers are wrong.
"""

from collections.abc import Callable
from unittest import mock

import numpy as np
import oracle_checks

MOST_FEW, SIMULATED_FEW = 2_000, 60  #: pairs asked where all are searched, on a GPU and in the simulator


def some_pairs(found: oracle_checks.Digraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some pairs, int32[k] each, as vertices of the condensed graph, and what is right."""
    from grailbench.cuda.gateway import simulated

    return oracle_checks.some_pairs(found, SIMULATED_FEW if simulated else MOST_FEW)


def one_index(found: oracle_checks.Digraph, **params) -> None:
    """An index of `gpu-fused`, from the condensed graph and from edges."""
    from grailbench.problems.reachability.gpu.fused.index import Fused
    from grailbench.problems.reachability.index import Params

    oracle_checks.check_index(found, Fused, Params(**{"dim": 2, "seed": found.number, **params}))


def narrow_queues():
    """Queues for one thread, a team and a block of which graphs of few edges use each."""
    from grailbench.cuda.frontier import Enterprise
    from grailbench.cuda.gateway import simulated

    return Enterprise(blocks=2, threads=4 if simulated else 64, lanes=4, small=3, large=6)


def on_the_grid(found: oracle_checks.Digraph) -> None:
    """As graphs that do not fit the shared memory of a block, with and without what is counted; in levels so wide that
    the whole grid takes them, and in others."""
    from grailbench.problems.reachability.gpu.fused import from_edges, grid, small

    with (
        mock.patch.object(small, "fits", return_value=False),
        mock.patch.object(from_edges, "_most_in_shared_memory", return_value=0),
    ):
        one_index(found)
        with mock.patch.object(grid.wide_levels, "__defaults__", (2,)):
            one_index(found, count=True, dim=1)


def of_deep_graphs(found: oracle_checks.Digraph) -> None:
    """As deep graphs, whose levels the host walks and labels."""
    from grailbench.cuda import graphs
    from grailbench.cuda.edges import build, rows, staging

    with (
        oracle_checks.condensing(True),
        mock.patch.object(graphs, "DEEP_LEVELS", 0),
        mock.patch.object(graphs, "DEEP_EDGES", 10**6),
    ):
        one_index(found)
    ends = found.graph.sources, found.graph.targets
    if found.graph.edges and found.dag.vertices == found.vertices + 1:  # without cycles
        build.walk_levels_on_host(
            found.vertices, rows.simple_rows(found.vertices, found.graph.edges, *staging.to_device(*ends))
        )


def of_wide_rows(found: oracle_checks.Digraph) -> None:
    """With places of edges in 64 bits, as from 2^31 edges on."""
    from grailbench.cuda.edges import rows

    with oracle_checks.condensing(True), mock.patch.object(rows, "WIDE", 0):
        one_index(found)


def in_small_tables(found: oracle_checks.Digraph) -> None:
    """Searches of pairs, with all filters and with none, in tables that they fill."""
    from fused import searcher_on

    from grailbench.cuda.gateway import simulated
    from grailbench.problems.reachability.gpu.fused.batch import SearchSizes
    from grailbench.problems.reachability.index import FILTERS, NoTimer, Params

    us, vs, right = some_pairs(found)
    room = (16, 32) if simulated else (64, 512)
    for budget, counting, filters in ((2, False, ()), (60, True, FILTERS), (10**6, False, ())):
        sizes = SearchSizes(warps=1 if simulated else 4, blocks=1 if simulated else 8, size=room[0], budget=budget,
                            late_blocks=1, late_size=room[1], late_budget=2 * budget, peeked=2)  # fmt: skip
        searcher = searcher_on(found.dag, Params(dim=1, filters=filters), sizes, counting)
        assert np.array_equal(searcher.search(us, vs, NoTimer()), right), f"searched with a budget of {budget}"


def of_long_fields(found: oracle_checks.Digraph) -> None:
    """An index of the core whose fields have 32 bits, with and without room for a closure."""
    from grailbench.problems.reachability.core import records
    from grailbench.problems.reachability.gpu.core.index import CoreGpu
    from grailbench.problems.reachability.index import Params

    with mock.patch.object(records, "SHORT", 0):
        for memory in (0, 1):
            oracle_checks.check_index(found, CoreGpu, Params(memory=memory, seed=found.number))


def of_the_oracle(found: oracle_checks.Digraph) -> None:
    """The oracle on the device."""
    from grailbench.cuda import oracle

    us, vs, right = some_pairs(found)
    answers, known = oracle.swept_answers(found.dag, us, vs)
    assert known.all()
    assert np.array_equal(answers, right)


def of_large_weights(found: oracle_checks.Digraph) -> None:
    """The thesis's labels where sizes reach the largest number, so that paths are compared; by teams of more, and of
    fewer, lanes than vertices have parents."""
    from grailbench.problems.reachability.gpu import pipeline
    from grailbench.problems.reachability.gpu.index import Thesis
    from grailbench.problems.reachability.index import Params

    with (
        mock.patch.object(pipeline.ThesisWork, "ceiling", np.uint64(4)),
        mock.patch.object(pipeline, "usual", narrow_queues),
    ):
        oracle_checks.check_index(found, Thesis, Params(dim=1, seed=found.number))


ALL: tuple[Callable[[oracle_checks.Digraph], None], ...] = (
    on_the_grid, of_deep_graphs, of_wide_rows, in_small_tables, of_long_fields, of_the_oracle,
    of_large_weights,
)  # fmt: skip
