"""Every question to an index, and its answers, which no thread, copy or damage may change."""

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import grailbench as gb

#: each asks of two columns of ids
QUESTIONS: dict[str, Callable[[gb.Index, list[Any], list[Any]], Any]] = {
    "reaches": lambda index, us, vs: [index.reaches(u, v) for u, v in zip(us, vs, strict=True)],
    "reaches_vertices": lambda index, us, vs: [index.reaches_vertices(at, 0) for at in range(len({*us, *vs}))],
    "reaches_many": lambda index, us, vs: index.reaches_many(us, vs).tolist(),
    "reaches_many_vertices": lambda index, us, vs: index.reaches_many_vertices(*np.zeros((2, 3), np.int32)).tolist(),
    "reaches_any": lambda index, us, vs: index.reaches_any(us[:3], vs[-2:]),
    "matrix": lambda index, us, vs: index.matrix(us[:9], vs).tolist(),
    "stream": lambda index, us, vs: [bits.tolist() for bits in index.stream((us, vs))],
    "descendants": lambda index, us, vs: [index.descendants(u).tolist() for u in us[:9]],
    "ancestors": lambda index, us, vs: [index.ancestors(v).tolist() for v in vs[-9:]],
    "count_descendants": lambda index, us, vs: index.count_descendants().tolist(),
    "count_ancestors": lambda index, us, vs: index.count_ancestors(vs[-3:]).tolist(),
    "estimate_descendants": lambda index, us, vs: [each.tolist() for each in index.estimate_descendants()],
    "common_ancestors": lambda index, us, vs: index.common_ancestors(us[0], vs[-1]).tolist(),
    "lowest_common_ancestors": lambda index, us, vs: index.lowest_common_ancestors(us[0], vs[-1]).tolist(),
    "path": lambda index, us, vs: [index.path(u, v) for u, v in zip(us[:9], vs[-9:], strict=True)],
    "explain": lambda index, us, vs: str(index.explain(us[0], vs[-1])),
    "graph": lambda index, us, vs: (repr(index), repr(index.graph), index.graph.edges, index.graph.checksum),
    "raw": lambda index, us, vs: (index.graph.raw.sources.tolist(), index.graph.raw.targets.tolist()),
    "ids": lambda index, us, vs: index.graph.ids_of(np.arange(index.graph.vertices)).tolist(),
    "nbytes": lambda index, us, vs: (index.nbytes, index.workers, index.implementation, index.params),
    "pickle": lambda index, us, vs: len(pickle.dumps(index)),
}


def answers(
    index: gb.Index, us: list[Any], vs: list[Any], names: Iterable[str] = QUESTIONS
) -> tuple[dict[str, Any], gb.InputError | None]:
    """The answer to each question that is answered, and the error of the first that is refused."""
    found, refused = {}, None
    for name in names:
        try:
            found[name] = QUESTIONS[name](index, us, vs)
        except gb.InputError as error:
            refused = refused or error
    return found, refused
