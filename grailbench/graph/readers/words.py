"""Reads edge lists of names: `source target [weight]` a line, words separated by blanks, or by tabs in a line with one.

    # a comment; '%' begins one too
    alice bob
    New York<TAB>alice

If all ids are numbers they stay numbers. The vertices are the ids that occur.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.readers.labelled import found_of
from grailbench.graph.readers.table import decoded, words_of
from grailbench.graph.readers.text import Found
from grailbench.graph.weights import of_values


def read_names(path: Path, text: np.ndarray) -> Found:
    """Reads a graph from an edge list of names (uint8[size]). Raises InputError if it is malformed."""
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    varied = 0
    for line, said in words_of(decoded(path, text)):
        words = [word.strip() for word in said]
        if words[0][:1] in ("#", "%"):
            continue
        if len(words) not in (2, 3) or not all(words):
            raise InputError(
                f"{len(words)} words, or an empty one: {' '.join(words)[:60]!r}", path=path, line=line,
                remedy="'source target [weight]'; in a line with a tab only tabs separate",
            )  # fmt: skip
        sources.append(words[0])
        targets.append(words[1])
        if len(words) == 3:
            weights.append(_weight(path, line, words[2]))
        if not varied and len(weights) not in (0, len(sources)):
            varied = line
    if not sources:
        raise InputError("the file holds no edge", path=path)
    found = found_of(path, sources, targets)
    if varied:
        said = f"not used: not every edge has one (line {varied} differs from those before)"
        return replace(found, weights=said)
    if not weights:
        return found
    usable, said = of_values(np.array(weights), "column 3")
    graph = found.graph
    return replace(found, graph=Graph(graph.vertices, graph.sources, graph.targets, usable), weights=said)


def _weight(path: Path, line: int, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InputError(
            f"{word[:60]!r} after the edge is no weight", path=path, line=line,
            remedy="names that hold blanks are separated by tabs; --format tsv --no-header --source 1 --target 3 "
            "reads tables of other columns",
        ) from None  # fmt: skip
