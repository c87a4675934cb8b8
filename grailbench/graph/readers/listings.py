"""Reads small formats of lines: Pajek, the Trivial Graph Format, Cytoscape's SIF, and N-Triples.

Pajek (`.net`): arcs are directed, edges lead both ways; lists of either and a matrix are read too, values are not. TGF:
vertices with labels, a line `#`, edges. In both, vertices are named by their labels if each has one of its own. SIF:
`source relation target target ...` a line, or a vertex alone; in a line with a tab only tabs separate. N-Triples and
N-Quads: an edge from subject to object for every triple whose object is no literal; its kind is the predicate, as the
relation is of SIF.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.cells import decoded, words_of
from grailbench.graph.readers.edges import UNSTATED
from grailbench.graph.readers.gather import Gathered, by_label
from grailbench.graph.readers.text import Found
from grailbench.util.files import REFETCH
from grailbench.util.words import count

_SECTIONS = ("vertices", "arcs", "edges", "arcslist", "edgeslist", "matrix")
_SECTION = re.compile(r"\*(\w+)\s*(\d{0,18})\s*(\d*)")
_VERTEX = re.compile(r'(\d+)(?:\s+(?:"([^"]*)"|(\S+)))?')
_NODE = r"(<[^<>]*>|_:\S+)"
_TRIPLE = re.compile(rf'{_NODE}\s*<([^<>]*)>\s*(?:{_NODE}|"(?:[^"\\]|\\.)*"[^\s"]*)(?:\s+{_NODE})?\s*\.\s*(?:#.*)?')


def read_pajek(text: np.ndarray) -> Found:
    """Reads a network of Pajek (uint8[size]). Raises InputError if it is malformed, has two modes, or is one of
    several in the file."""
    labels: dict[str, str | None] = {}
    edges: list[tuple[str, str, bool]] = []
    section, row = "", 0
    for line, content in _lines(text, "%"):
        if header := _SECTION.match(content):
            section = header[1].lower()
            if section == "vertices":
                labels = _numbered(line, labels, header[2], header[3], text.size)
            elif section not in (*_SECTIONS, "network"):
                raise InputError(f"a section *{header[1]}", line=line, remedy=f"one of *{', *'.join(_SECTIONS)}")
        elif section == "vertices":
            found = _VERTEX.match(content)
            number = found[1] if found else content[:20]
            labels[_known(line, number, labels)] = found and (found[2] or found[3])
        elif section in _SECTIONS:
            row += section == "matrix"
            ends = [_known(line, end, labels) for end in _ends(content, section, row)]
            edges += [(ends[0], end, section.startswith("edges")) for end in ends[1:]]
        else:
            raise InputError("a section such as *Vertices expected", line=line)
    return _labelled(labels, edges)


def _numbered(line: int, labels: dict, vertices: str, second: str, size: int) -> dict[str, str | None]:
    """The labels, none yet, of so many vertices. Raises InputError if a file of `size` bytes cannot have them."""
    if vertices and int(vertices) > max(UNSTATED, size):
        message = f"{int(vertices):,} vertices, too many for a file of {size:,} bytes"
        raise InputError(message, line=line, remedy=REFETCH)
    if labels or second or not vertices:
        what = "several networks" if labels else "a network of two modes" if second else "no number of vertices"
        raise InputError(what, line=line, remedy="*Vertices N: one network of one mode in a file")
    return {str(number): None for number in range(1, int(vertices) + 1)}


def _known(line: int, number: str, labels: Mapping) -> str:
    if number not in labels:
        raise InputError(f"{number!r} is no vertex from 1 to {len(labels)}", line=line)
    return number


def _ends(content: str, section: str, row: int) -> list[str]:
    """The source and the targets in a line of a section."""
    words = content.split()
    if section == "matrix":
        return [str(row), *(str(column) for column, value in enumerate(words, 1) if value.strip("0."))]
    return words[:2] if section in ("arcs", "edges") else words


def read_tgf(text: np.ndarray) -> Found:
    """Reads a graph in the Trivial Graph Format (uint8[size]). Raises InputError if it is malformed."""
    labels: dict[str, str | None] = {}
    edges: list[tuple[str, str, bool]] = []
    divided = False
    for line, content in _lines(text):
        words = content.split(maxsplit=1 + divided)
        if content == "#":
            divided = True
        elif not divided:
            labels[words[0]] = words[1] if len(words) > 1 else None
        elif len(words) < 2:
            raise InputError("'source target [label]' expected after the line '#'", line=line)
        else:
            labels.setdefault(words[0], None)
            labels.setdefault(words[1], None)
            edges.append((words[0], words[1], False))
    return _labelled(labels, edges)


def read_sif(text: np.ndarray) -> Found:
    """Reads a network of Cytoscape (uint8[size]). Raises InputError if it is malformed."""
    gathered = Gathered()
    for line, words in words_of(decoded(text)):
        if len(words) == 2:
            raise InputError("'source relation target', or a vertex alone, expected", line=line)
        gathered.vertex(words[0])
        for target in words[2:]:
            gathered.edge(words[0], target, kind=words[1])
    return gathered.found()


def read_ntriples(text: np.ndarray) -> Found:
    """Reads triples or quads (uint8[size]). Raises InputError if one is malformed."""
    gathered, literals = Gathered(), 0
    for line, content in _lines(text, "#"):
        if not (triple := _TRIPLE.fullmatch(content)):
            raise InputError(f"'<subject> <predicate> <object> .' expected, found {content[:60]!r}", line=line)
        if triple[3] is None:
            literals += 1
        else:
            gathered.edge(triple[1].strip("<>"), triple[3].strip("<>"), kind=triple[2])
    left_out = [f"{count(literals, 'triple')} with a literal left out"] if literals else []
    return gathered.found("edges go from subject to object", *left_out)


def _lines(text: np.ndarray, comment: str = "\n") -> Iterator[tuple[int, str]]:
    """The number and the content of each line that is neither blank nor a comment."""
    for line, content in enumerate(decoded(text).split("\n"), 1):
        if (content := content.strip()) and not content.startswith(comment):
            yield line, content


def _labelled(labels: dict[str, str | None], edges: Iterable[tuple[str, str, bool]]) -> Found:
    """The graph of vertices that have labels, and of edges between their ids."""
    gathered = Gathered()
    names, notes = by_label(labels)
    for name in names.values():
        gathered.vertex(name)
    for source, target, undirected in edges:
        gathered.edge(names[source], names[target], undirected)
    return gathered.found(*notes)
