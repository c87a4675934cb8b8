"""Writes graphs and pairs as the text that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

_AT_ONCE = 1 << 16  # lines in memory


class Format(NamedTuple):
    """A way to write a graph.

    header  the first lines; {vertices} and {edges} stand for their numbers
    line    a line for each edge ({u} and {v}) or, with {children}, for each vertex ({u}), whose children each have a
            blank behind them
    ids     the id of the first vertex
    """

    header: str
    line: str
    ids: int


FORMATS = {
    "gra": Format("graph_for_greach\n{vertices}\n", "{u}: {children}#\n", 0),
    "edges": Format("", "{u} {v}\n", 0),
    "adjacency": Format("{vertices} {edges}\n", "{u} {children}\n", 0),
    "metis": Format("{vertices} {edges}\n", "{children}\n", 1),
    "mtx": Format(
        "%%MatrixMarket matrix coordinate pattern general\n{vertices} {vertices} {edges}\n", "{u} {v}\n", 1
    ),
    "dimacs": Format("p sp {vertices} {edges}\n", "a {u} {v} 1\n", 1),
}  # fmt: skip


def write_graph(path: Path, how: Format, vertices: int, sources: np.ndarray, targets: np.ndarray) -> None:
    """Writes a graph. sources, targets: int32[m], ascending by source, vertices from 0."""
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(how.header.format(vertices=vertices, edges=sources.size))
        if "{children}" not in how.line:
            write_pairs(stream, how.line, sources, targets, how.ids)
            return
        starts = np.searchsorted(sources, np.arange(vertices + 1))
        for first in range(0, vertices, _AT_ONCE):
            ends = starts[first : first + _AT_ONCE + 1]
            row = (targets[ends[0] : ends[-1]] + how.ids).tolist()
            ends = (ends - ends[0]).tolist()
            lines = (
                how.line.format(u=u, children="".join([f"{v} " for v in row[ends[i] : ends[i + 1]]]))
                for i, u in enumerate(range(first + how.ids, first + how.ids + len(ends) - 1))
            )
            stream.write("".join(lines))


def write_pairs(stream, line: str, us: np.ndarray, vs: np.ndarray, ids: int) -> None:
    """Writes a line for each pair. line: with {u} and {v}; us, vs: int[k], from 0; ids: the id of the first vertex."""
    template = line.replace("%", "%%").replace("{u}", "%(u)d").replace("{v}", "%(v)d")
    for first in range(0, us.size, _AT_ONCE):
        part = ((ends[first : first + _AT_ONCE] + ids).tolist() for ends in (us, vs))
        stream.write("".join([template % {"u": u, "v": v} for u, v in zip(*part, strict=True)]))
