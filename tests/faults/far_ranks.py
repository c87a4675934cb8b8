"""Ranks that end at 2^31 - 2, as in a graph of as many vertices as there may be.

The labels of a small DAG are made twice: as ever, and by code that begins to count ranks so late. All ranks of the
second must be those of the first and as much more, and the answers by them the same. A rank that is kept in fewer bits,
or added to another in 32, comes out as another one.
"""

import inspect
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from unittest import mock

import numpy as np
from dags import between_trees
from oracle_checks import Digraph, some_pairs

LAST = 2**31 - 2  #: the greatest rank that a graph can have
#: module -> where its code begins to count, and the same with another beginning
BEGINS: dict[str, dict[str, str]] = {
    "problems.reachability.cpu.traverse": {"rank = np.int32(0)": "rank = np.int32({})"},
    "problems.reachability.core.peel": {
        "free = np.int32(0)": "free = np.int32({})",
        "    _place_below(order, above, core": "    _place_below(order, above + {}, core",
    },
}
DIM, MOST_PAIRS = 2, 64
Report = Callable[[str, bool], None]  #: gets what was compared, and whether it is as expected


def begun(name: str, number: int) -> types.ModuleType:
    """A module of grailbench whose code counts from `number` on, if one of `BEGINS`. Raises ValueError if its code no
    longer begins as that says."""
    module = import_module(f"grailbench.{name}")
    code = inspect.getsource(module)
    for text, late in BEGINS[name].items():
        if code.count(text) != 1:
            raise ValueError(f"{name} has {text!r} {code.count(text)} times, not once")
        code = code.replace(text, late.format(number))
    found = types.ModuleType(module.__name__)
    found.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    exec(compile(re.sub(r"cache=True,? ?", "", code), module.__file__, "exec"), found.__dict__)  # not kept on the disk
    return found


def _labels_of_cpu(found: Digraph, number: int, report: Report) -> None:
    from grailbench.problems.reachability.cpu import grail
    from grailbench.problems.reachability.index import FILTERS, NoTimer, Params
    from grailbench.problems.reachability.labels import columns

    params = Params(dim=DIM, filters=FILTERS)
    near = grail.Sequential.build(found.dag, params, NoTimer())
    with mock.patch.object(grail, "label_pair", begun("problems.reachability.cpu.traverse", number).label_pair):
        far = grail.Sequential.build(found.dag, params, NoTimer())
    report("problems.reachability.cpu.traverse:label_pair", _later(columns(near.labels), columns(far.labels), number))
    cut = slice(2 * DIM + 1, 3 * DIM + 1)
    near_cuts, far_cuts = (index.labels.lanes.reshape(found.dag.vertices, -1)[:-1, cut] for index in (near, far))
    report("problems.reachability.cpu.traverse:label_pair, cuts", _later((near_cuts,), (far_cuts,), number))
    report("problems.reachability.cpu.search:answer_blocks", _answers(found, far.query_batch))


def _labels_of_levels(found: Digraph, number: int, report: Report) -> None:
    from grailbench.graph.leveled import by_level
    from grailbench.outofcore import labels
    from grailbench.problems.reachability.gpu.fused import host
    from grailbench.problems.reachability.gpu.fused.host import STEPS_OF_ROWS, salts

    graph, salt = by_level(found.dag), salts(5, range(1))
    n, roots = found.dag.vertices, int(graph.level_starts[2])
    deep, rows = (graph.deep_starts, graph.deep_targets), (graph.starts, graph.targets)
    none, made = (np.zeros(n + 1, np.int64), np.empty(0, np.int32)), []
    for first in (0, number):
        parent, size, base = np.zeros(n, np.int32), np.ones(n, np.int32), np.zeros(n, np.int32)
        base[0] = first
        host._plant(*deep, *salt, STEPS_OF_ROWS, parent, size, base)
        parents, sizes, bases = np.full((n, 1), -1, np.int32), np.ones((n, 1), np.int32), np.zeros((n, 1), np.int32)
        parents[1:roots], bases[0] = 0, first
        labels._take_parents(0, *deep, salt, parents)
        labels._sum_sizes(parents, sizes)
        labels._place(0, *deep, salt, STEPS_OF_ROWS, parents, sizes, bases)
        ends = np.stack([bases[:, 0] + 1, -(bases[:, 0] + sizes[:, 0])], axis=1)
        labels._widen(0, *rows, *none, ends, np.empty(0, np.uint64))
        made.append((_positive(host._repaired(*rows, base, size)), _positive(tuple(ends[1:].T))))
    near, far = made
    report("problems.reachability.gpu.fused.host:_repaired", _later(near[0], far[0], number))
    report("outofcore.labels:_widen", _later(near[1], far[1], number))
    report("host and streamed", all(map(np.array_equal, [each[1:] for each in far[0][:2]], far[1])))


def _places_of_core(found: Digraph, number: int, report: Report) -> None:
    from grailbench.problems.reachability.core import index, records
    from grailbench.problems.reachability.core.peel import Peeled, peel
    from grailbench.problems.reachability.index import NoTimer, Params

    dag, near = found.dag, peel(found.dag)
    far = Peeled(**vars(begun("problems.reachability.core.peel", number).peel(dag)))
    places = [(peeled.position[:-1], peeled.end[:-1]) for peeled in (near, far)]  # but for the super-root's, the last
    report("problems.reachability.core.peel:peel", _later(*places, number))
    with mock.patch.object(index, "PLAIN", dag.vertices**2):  # the closure as bits
        arrays = dict(index.Core.build(dag, Params(), NoTimer()).arrays)
    far = replace(far, above=far.above + number)
    arrays["sources"], arrays["targets"] = records.records(far)
    arrays["shape"] = np.array([far.above, far.core.shape[0]], np.int64)
    report("problems.reachability.core.records:answer_wide",
         _answers(found, index.CoreIndex(dag, Params(), arrays).query_batch))  # fmt: skip


def _positive(columns: tuple) -> tuple:
    """Columns of starts and of negated ends in turns, as starts and ends."""
    return tuple(-each if number % 2 else each for number, each in enumerate(columns))


def _later(near: tuple, far: tuple, number: int) -> bool:
    return all(np.array_equal(np.asarray(one, np.int64) + number, other) for one, other in zip(near, far, strict=True))


def _answers(found: Digraph, ask: Callable) -> bool:
    from grailbench.problems.reachability.index import NoTimer

    us, vs, right = some_pairs(found, MOST_PAIRS)
    return np.array_equal(ask(us, vs, NoTimer()), right)


def digraphs() -> Iterator[Digraph]:
    """Two trees about a core that is dense, and a DAG of many edges."""
    vertices, edges = between_trees()
    yield Digraph("trees", 1, vertices, np.array(edges))
    ends = np.random.default_rng(31).integers(0, 12, (30, 2))
    yield Digraph("edges", 2, 12, np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1))


CPU = (_labels_of_cpu, _labels_of_levels, _places_of_core)


def compare(comparisons: tuple, last: int = LAST) -> tuple[dict[str, int], list[str]]:
    """How often each kernel was compared, and what came out otherwise, with ranks that end at `last`."""
    tried: dict[str, int] = {}
    faults: list[str] = []

    def report(what: str, right: bool) -> None:
        tried[what] = tried.get(what, 0) + 1
        if not right:
            faults.append(f"{what}: other results where ranks end at {last:,}")

    for found in digraphs():
        for compared in comparisons:
            compared(found, last - found.dag.vertices, report)
    return tried, faults
