"""Every kernel on a GPU, launched on graphs that reach it: what memory and race checkers are run over.

    for tool in memcheck initcheck synccheck; do
        compute-sanitizer --tool $tool --error-exitcode 1 python tests/faults/kernels.py --most 128; done
    compute-sanitizer --tool racecheck --error-exitcode 1 --kernel-name-exclude kernel_substring=4many \
        python tests/faults/kernels.py --most 128

Kernels are found in the source: functions that `cuda.jit` compiles for launches. Which were launched is asked of the
compiler's own objects. Exit code 1 if a kernel was not launched by any graph, or an answer was wrong. What racecheck
says of `traversal.gpu.many` is harmless: all that write to one place write the same number, the level.
"""

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from time import monotonic
from unittest import mock

import click
import digraphs
import numpy as np
import oracle_checks

import grailbench

ROOT = Path(grailbench.__file__).parent
#: kernels that measure a machine, and no graph: `grailbench limits` launches them
OF_LIMITS = "harness/limits/"
#: not launched on purpose, with the reason
NEVER = {"cuda/launch.py:_untyped": "only its type is used"}
#: problems whose work grows with the cube of the vertices, and the most vertices for them, here and in the simulator
CUBIC, MOST_CUBIC, MOST_SIMULATED = ("apsp", "closure"), 700, 16
FEW_PAIRS = 130  #: pairs of implementations that search at most 64 at a time: two groups, and a part of one
MOST_FEW, SIMULATED_FEW = 2_000, 60  #: pairs asked where all are searched, on a GPU and in the simulator


def written() -> Iterator[str]:
    """'path:function' of each kernel in the source."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any(map(_launches, node.decorator_list)):
                yield f"{path.relative_to(ROOT).as_posix()}:{node.name}"


def _launches(decorator: ast.expr) -> bool:
    """Whether a decorator makes a kernel, and no device function."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    given = decorator.keywords if isinstance(decorator, ast.Call) else []
    name = ast.unparse(called)
    return name == "kernel_of" or (name == "cuda.jit" and all(each.arg != "device" for each in given))


def watch(noted: Callable[[str], object]) -> None:
    """Has `noted` called with the name of each kernel before it is launched, from now on."""
    from grailbench.cuda import launch
    from grailbench.cuda.gateway import cuda, simulated

    if simulated:
        kind = sys.modules[cuda.jit.__module__.replace(".api", ".kernel")].FakeCUDAKernel
        call = kind.__call__

        def called(self, *args):
            if not self._device:
                noted(_named(self.fn))
            return call(self, *args)

        kind.__call__ = called
        return
    kind, prepared = type(cuda.jit(lambda: None)), launch.Prepared
    configured, prepare = kind.__getitem__, prepared.__init__

    def shaped(self, shape):
        noted(_named(self.py_func))
        return configured(self, shape)

    def made(self, kernel, *args, **options):
        prepare(self, kernel, *args, **options)
        name, go = _named(kernel.py_func), self.launch
        self.launch = lambda: (noted(name), go())[1]

    kind.__getitem__, prepared.__init__ = shaped, made


def _named(function) -> str:
    path = Path(function.__code__.co_filename)
    return f"{path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name}:{function.__name__}"


def graphs(most: int) -> Iterator[tuple[str, int, np.ndarray, int]]:
    """Name, vertices, edges and number of graphs that together reach every kernel; those of digraphs have
    no more than `most` vertices.

    The number chooses parameters (`oracle_checks.params_of`); on graphs of odd ones the device condenses, however small
    they are, and queues and tables are so small that these graphs overflow them.
    """
    random = np.random.default_rng(23)
    for number in (1, 3, 4, 5, 6, 7):
        yield f"digraph {number}", *digraphs.drawn(number), number
    wide, long = most, min(most, 32)  # all pairs of a chain take a launch a pair
    yield "layers", wide, np.sort(random.integers(0, wide, (4 * wide, 2)), axis=1), 5
    yield "star", wide, np.stack([np.zeros(wide - 1, np.int64), np.arange(1, wide)], axis=1), 5
    yield "chain", long, np.stack([np.arange(long - 1), np.arange(1, long)], axis=1), 5
    yield "one component", wide, random.integers(0, wide, (8 * wide, 2)), 5
    yield "full table", *_full_table(), 5


def _full_table() -> tuple[int, np.ndarray]:
    """A vertex of 60 children: the last three are parents of the last vertex, with 25 more parents each; the others
    lead there by a longer path, which a deeper one joins. A search's table is full when its sides meet."""
    middle, last = 136, 141
    above = [(61 + 25 * i + j, 58 + i) for i in range(3) for j in range(25)]
    path = [(middle, 137), (137, last), (138, 139), (139, 140), (140, 137)]
    first = [(0, v) for v in range(1, 61)] + [(v, middle) for v in range(1, 58)]
    return last + 1, np.array(first + [(v, last) for v in (58, 59, 60)] + above + path)


@contextmanager
def tight(small: bool) -> Iterator[None]:
    """Sizes of queues and tables that small graphs overflow; the simulator always has some of them."""
    from grailbench.cuda import oracle
    from grailbench.cuda.edges import walk
    from grailbench.cuda.gateway import simulated
    from grailbench.problems.reachability.gpu import pipeline
    from grailbench.problems.reachability.gpu.fused import batch
    from grailbench.problems.traversal.gpu import fused as searches
    from grailbench.problems.traversal.gpu import levels, nearfar

    tables = batch.SearchSizes(blocks=2, size=64, budget=60, late_blocks=2, late_size=512, late_budget=200, peeked=2)
    rules = {
        searches.Rule: searches.Rule(chunk=2, large=1, alone=2, alpha=100, beta=2),
        nearfar.Rule: nearfar.Rule(chunk=2, width=40, share=4, room=2),
    }
    with ExitStack() as stack:
        if small:
            for kind, rule in rules.items():
                stack.enter_context(mock.patch.object(kind.__new__, "__defaults__", tuple(rule)))
            narrow = 2, *walk.walk_levels.__defaults__[1:]
            stack.enter_context(mock.patch.object(walk.walk_levels, "__defaults__", narrow))
        if small and not simulated:
            for module in (pipeline, levels):
                stack.enter_context(mock.patch.object(module, "usual", narrow_queues))
            stack.enter_context(mock.patch.object(batch, "usual", return_value=tables))
            stack.enter_context(mock.patch.object(oracle, "LONG", 4))
        yield


# ------------------------------------------------------------------ ways that small graphs do not take by themselves


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
    from grailbench.problems.reachability.gpu.fused import columns, grid, small

    with mock.patch.object(small, "fits", return_value=False), mock.patch.object(columns, "suit", return_value=False):
        one_index(found)
        with mock.patch.object(grid.wide_levels, "__defaults__", (2,)):
            one_index(found, count=True, dim=1)


def in_columns(found: oracle_checks.Digraph) -> None:
    """As graphs of which one column of the labels fits the shared memory of a block."""
    from grailbench.problems.reachability.gpu.fused import small

    with mock.patch.object(small, "fits", return_value=False):
        one_index(found)
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


PATHS: tuple[Callable[[oracle_checks.Digraph], None], ...] = (
    on_the_grid, in_columns, of_deep_graphs, of_wide_rows, in_small_tables, of_long_fields, of_the_oracle,
    of_large_weights,
)  # fmt: skip


# ------------------------------------------------------------------ launching


def launch_all(name: str, vertices: int, ends: np.ndarray, number: int, only: tuple[str, ...]) -> list[str]:
    """Runs all implementations on one graph. Returns faults."""
    from grailbench.cuda.gateway import simulated

    found, faults = oracle_checks.Digraph(name, number, vertices, ends), []
    most_cubic = MOST_SIMULATED if simulated else MOST_CUBIC
    with (
        oracle_checks.condensing(number % 2 == 1),
        tight(number % 2 == 1),
        mock.patch.object(oracle_checks, "FEW_PAIRS", FEW_PAIRS),
    ):
        for problem, label, implementation in oracle_checks.implementations(True, only):
            if problem.name in CUBIC and vertices > most_cubic:
                continue
            try:
                params = oracle_checks.params_of(problem, implementation, number)
                oracle_checks.check(found, problem, implementation, params)
            except Exception as error:
                faults.append(f"{name}, {problem.name}/{label}: {type(error).__name__}: {error}")
        for path in PATHS if not only and vertices and number % 2 == 1 else ():
            try:
                path(found)
            except Exception as error:
                faults.append(f"{name}, {path.__name__}: {type(error).__name__}: {error}")
    return faults


def run(
    most: int, only: tuple[str, ...] = (), chosen: tuple[str, ...] = (), until: float = float("inf")
) -> tuple[set[str], list[str]]:
    """Launches all implementations on all graphs, or the chosen ones, until the clock shows `until`. Returns the
    kernels that were launched, and faults."""
    launched, faults = set(), []
    watch(launched.add)
    for name, vertices, ends, number in graphs(most):
        if (chosen and name not in chosen) or monotonic() > until:
            continue
        began = monotonic()
        faults += launch_all(name, vertices, ends, number, only)
        print(f"{name}: {vertices} vertices, {len(ends)} edges, {monotonic() - began:.0f} s", flush=True)
    return launched, faults


@cache
def wanted() -> frozenset[str]:
    """The kernels that graphs are to launch."""
    return frozenset(kernel for kernel in written() if kernel not in NEVER and not kernel.startswith(OF_LIMITS))


@click.command(help=__doc__.partition("\n")[0])
@click.option("--most", default=1_200, show_default=True, help="Vertices of the largest graph.")
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION; may repeat.")
@click.option("--graphs", "chosen", multiple=True, help="The name of a graph; may repeat. [default: all]")
@click.option("--seconds", type=float, default=float("inf"), help="Begin no graph after so long.")
def main(most, only, chosen, seconds):
    launched, faults = run(most, only, chosen, monotonic() + seconds)
    missing = sorted(wanted() - launched)
    for line in faults:
        print(f"WRONG: {line}")
    for kernel in missing:
        print(f"NOT LAUNCHED: {kernel}")
    print(f"{len(wanted())} kernels, {len(missing)} not launched, {len(faults)} faults", flush=True)
    sys.exit(int(bool(missing or faults)))


if __name__ == "__main__":
    main()
