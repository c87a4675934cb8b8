"""Compares a look-alike with the profile of the original graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.generate.profiles import Profile
from grailbench.graph.generate.reach import plain_graph, positive_rate, triangles

PAIRS = 100_000  # the papers' batch


@dataclass(frozen=True)
class Difference:
    """One quantity as wanted by the profile and as found in the generated graph.

    `relative` is generated / wanted - 1, or None if `wanted` is 0 or None.
    """

    quantity: str
    wanted: float | None
    generated: float

    @property
    def relative(self) -> float | None:
        return self.generated / self.wanted - 1 if self.wanted else None


def compare(profile: Profile, graph: Graph) -> list[Difference]:
    """Measures a look-alike and compares it with its profile.

    Vertices and edges include the super-root, its edges and duplicate edges, as in the thesis. 'vertices at another
    level' is the number of vertices that would have to change their level to make the numbers per level equal.
    """
    dag = condense(graph)
    plain = plain_graph(dag)
    ins = np.bincount(plain.targets, minlength=plain.vertices)
    outs = np.bincount(plain.sources, minlength=plain.vertices)
    levels = dag.levels[:-1] - 1
    spans = levels[plain.targets] - levels[plain.sources]
    wanted_span = float(np.average(np.arange(len(profile.spans)), weights=profile.spans)) if profile.edges else 0.0
    rows = [
        ("vertices", profile.printed[0], dag.vertices),
        ("edges", profile.printed[1], dag.printed_edges),
        ("distinct edges", profile.edges + profile.roots, dag.edges),
        ("roots", profile.roots, int(dag.roots.size)),
        ("sinks", profile.sinks, int((outs == 0).sum())),
        ("levels", len(profile.levels), dag.depth - 1),
        ("vertices at another level", 0, _moved(profile.levels, dag)),
        ("largest in-degree", profile.max_in_degree, int(ins.max(initial=0))),
        ("largest out-degree", profile.max_out_degree, int(outs.max(initial=0))),
        ("mean span of an edge", wanted_span, float(spans.mean()) if spans.size else 0.0),
        ("triangles", profile.triangles, triangles(plain)),
        ("positives in 100,000 pairs", _pairs(profile.positive_rate), _pairs(positive_rate(plain).value)),
    ]
    return [Difference(*row) for row in rows]


def _pairs(rate: float | None) -> float | None:
    return None if rate is None else PAIRS * rate


def _moved(wanted: np.ndarray, dag: Dag) -> int:
    found = np.bincount(dag.levels[:-1] - 1)
    depth = max(wanted.size, found.size)
    return int(np.abs(np.pad(wanted, (0, depth - wanted.size)) - np.pad(found, (0, depth - found.size))).sum() // 2)
