"""The outline of a graph: its sizes, levels and degrees in few numbers, for pages about graphs that are not at hand.

`results/published/graph-profiles.jsonl` has one for each graph of the recorded runs that could be had, a JSON line a
graph; `grailbench profile --record` writes it (`reachability.outline` measures).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from grailbench.errors import InputError
from grailbench.util import paths, settings
from grailbench.util.files import read_text
from grailbench.util.outputs import replaced

FILE = "graph-profiles.jsonl"
BINS = 64  #: most bins of the levels


class Outline(BaseModel):
    """The outline of a graph.

    sha256               as rows have it (`Cell.graph_sha256`)
    vertices, edges      of the file; `duplicates` and `loops` of its edges repeat another, or join a vertex to itself
    components, largest  strong components; vertices of the largest of them
    cyclic               vertices in components of more than one vertex
    weak                 weak components
    dag_edges            edges between strong components, each once
    roots, sinks         components without parents, and without children
    depth, widest        levels of the condensed graph by longest path from a root; components on the widest
    above, below, core   components in the trees at the sources' end, in those at the sinks' end, and between them
    rate, rate_error     share of the ordered pairs of vertices, (v, v) included, with a path; its standard error
    levels               components in each of `level_bins(depth)`, whose sum is `components`
    incoming, outgoing   vertices by in- and out-degree in the file, every edge counted: [k] those with a degree of k
                         bits, that is 0, 1, 2 to 3, 4 to 7, ...
    strong               strong components by number of vertices: [k] those with k bits; [0] is always 0
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    kind: str
    sha256: str
    vertices: int
    edges: int
    duplicates: int
    loops: int
    components: int
    largest: int
    cyclic: int
    weak: int
    dag_edges: int
    roots: int
    sinks: int
    depth: int
    widest: int
    above: int
    below: int
    core: int
    rate: float | None
    rate_error: float | None
    levels: tuple[int, ...]
    incoming: tuple[int, ...]
    outgoing: tuple[int, ...]
    strong: tuple[int, ...]

    @property
    def density(self) -> float | None:
        """Edges a vertex; None without vertices."""
        return self.edges / self.vertices if self.vertices else None

    @property
    def in_trees(self) -> float | None:
        """Share of the components that lie in the trees at the ends; None without vertices."""
        return (self.above + self.below) / self.components if self.components else None


def level_bins(depth: int) -> np.ndarray:
    """int64[bins + 1]: where the bins of `depth` levels begin and end, counted from 0; at most `BINS`, of about the
    same number of levels each."""
    return np.linspace(0, depth, min(BINS, depth) + 1).round().astype(np.int64)


def bits(values: np.ndarray) -> tuple[int, ...]:
    """How many of some numbers >= 0, int[k], have each number of bits, from 0 on; empty without numbers."""
    return tuple(np.bincount(np.frexp(values.astype(np.float64))[1]).tolist()) if values.size else ()


def bit_range(bits: int) -> tuple[int, int]:
    """The least and the largest number of so many bits."""
    return (1 << bits) >> 1, (1 << bits) - 1


@cache
def recorded() -> dict[str, Outline]:
    """The outlines that come with the program, by name of the graph. Raises InputError for a wrong line."""
    return read(paths.published_dir() / FILE)


def read(path: Path) -> dict[str, Outline]:
    """The outlines of a file, by name; none if there is no such file. Raises InputError, with the line, for a line
    that is no outline, or the second of a graph."""
    try:
        lines = read_text(path).splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise InputError("is not text", path=path, remedy="a file that --record wrote") from None
    found: dict[str, Outline] = {}
    for number, line in enumerate(lines, 1):
        try:
            one = settings.check(Outline, json.loads(line))
        except (ValueError, RecursionError):
            raise InputError("is no JSON", path=path, line=number) from None
        except InputError as error:
            raise InputError(f"no profile of a graph: {error}", path=path, line=number) from None
        if one.name in found:
            raise InputError(f"a second line of graph {one.name!r}", path=path, line=number)
        found[one.name] = one
    return found


def text(outlines: Iterable[Outline]) -> str:
    """The lines of a file, sorted by name."""
    dumped = (json.dumps(one.model_dump(), separators=(",", ":")) for one in sorted(outlines, key=lambda o: o.name))
    return "".join(f"{line}\n" for line in dumped)


def write(path: Path, outlines: Iterable[Outline]) -> None:
    """Writes a file of outlines, which replaces the one there when it is whole. Raises InputError if it cannot."""
    with replaced(path, over=b"") as stream:
        stream.write(text(outlines).encode())
