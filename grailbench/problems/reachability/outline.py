"""Measures the outline of a graph (`graph.outline`)."""

from __future__ import annotations

import numpy as np

from grailbench.data.library import BenchGraph
from grailbench.graph.outline import Outline, bits, level_bins
from grailbench.graph.profile import component_sizes, structure
from grailbench.problems.reachability.core.peel import peel
from grailbench.problems.reachability.profile import reach


def outline(graph: BenchGraph) -> Outline:
    """The outline of an opened graph, the same on every machine.

    Raises InputError if its file is no longer the one that was opened.
    """
    raw, dag = graph.raw, graph.dag
    found = structure(raw, dag)
    peeled = peel(dag)
    reached = reach(dag) if found.vertices else None
    cuts = level_bins(found.depth)
    return Outline(
        name=graph.name, kind=graph.kind, sha256=graph.sha256,
        vertices=found.vertices, edges=found.edges, duplicates=found.duplicates, loops=found.loops,
        components=found.components, largest=found.largest, cyclic=found.cyclic, weak=found.weak,
        dag_edges=found.dag_edges, roots=found.roots, sinks=found.sinks,
        depth=found.depth, widest=int(found.widths.max(initial=0)),
        above=peeled.above, below=peeled.below, core=int(peeled.core.shape[0]),
        rate=reached and _rounded(reached.rate), rate_error=reached and _rounded(reached.rate_error),
        levels=tuple(np.diff(np.concatenate(([0], np.cumsum(found.widths)))[cuts]).tolist()),
        incoming=bits(np.bincount(raw.targets, minlength=raw.vertices)),
        outgoing=bits(np.bincount(raw.sources, minlength=raw.vertices)),
        strong=bits(component_sizes(dag)),
    )  # fmt: skip


def _rounded(value: float) -> float:
    """To six digits, so that sums in another order give the same."""
    return float(f"{value:.6g}")
