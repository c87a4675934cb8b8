"""Readers of graphs in plain Python, written from the formats and not from grailbench's code: what its fast readers are
held against. They are slow, and hold all that they read in lists."""

import gzip
import re
import zlib
from decimal import Decimal, InvalidOperation

Edges = list[tuple[int, int]]
_VERTEX_LINE = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]*:([0-9 \t]*)#[ \t]*")
_STATED = re.compile(rb"[#%]\s*Nodes:?\s*([0-9]+)[,;\s]+Edges:?\s*([0-9]+)\s*", re.IGNORECASE)
_KONECT = re.compile(rb"%\s*(sym|asym)\s+\w+", re.IGNORECASE)
_COUNTS = re.compile(rb"%\s*([0-9]+)\s+([0-9]+)\s+([0-9]+)\s*")
MOST_WEIGHT = 2**30 - 1


class Refused(Exception):
    """A text that is no graph of the format."""


def plain(data: bytes) -> bytes:
    """The text of a file: unpacked if it is gzip data, and without the byte order mark of UTF-8."""
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise Refused(str(error)) from None
    return data.removeprefix(b"\xef\xbb\xbf")


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file, which end in LF, CRLF or CR."""
    return re.split(rb"\r\n|\r|\n", plain(data))


def gra(data: bytes) -> tuple[int, Edges]:
    """The number of vertices and the edges of a .gra, in its order. Raises Refused."""
    lines = lines_of(data)
    for turn in range(2):
        while lines and not lines[0].strip():
            del lines[0]
        if lines and lines[0].strip() == b"graph_for_greach" and turn == 0:
            del lines[0]
    if not lines or not re.fullmatch(rb"[0-9]{1,18}", lines[0].strip()):
        raise Refused("no vertex count")
    vertices, edges, seen = int(lines[0]), [], set()
    for line in lines[1:]:
        if not line.strip(b" \t"):
            continue
        found = _VERTEX_LINE.fullmatch(line)
        if not found:
            raise Refused(f"no vertex line: {line!r}")
        vertex, children = int(found[1]), found[2].split()
        if vertex in seen or vertex >= vertices:
            raise Refused(f"vertex {vertex}")
        seen.add(vertex)
        for child in children:
            if len(child) > 18 or int(child) >= vertices:
                raise Refused(f"child {child!r}")
            edges.append((vertex, int(child)))
    if len(seen) != vertices:
        raise Refused("vertices without a line")
    return vertices, edges


class EdgeList:
    """The lines of an edge list: what its header states, the edges in its ids, and the columns after them."""

    def __init__(self, data: bytes):
        self.stated: int | None = None
        self.konect = self.undirected = False
        self.edges: Edges = []
        self.columns: list[list[bytes]] = []
        before = True  # any edge
        for line in lines_of(data):
            words = re.split(rb"[ \t]+", line.strip(b" \t"))
            if words == [b""]:
                continue
            if words[0][:1] in (b"#", b"%"):
                if before:
                    self._header(line.strip())
                continue
            before = False
            if len(words) < 2 or not all(re.fullmatch(rb"[0-9]{1,18}", word) for word in words[:2]):
                raise Refused(f"no edge: {line!r}")
            self.edges.append((int(words[0]), int(words[1])))
            self.columns.append(words[2:])

    def counted(self) -> bool:
        """Takes a first line `vertices edges` off, if as many edges follow whose ids are 0 to vertices - 1 or 1 to
        vertices; whether there was one."""
        if self.konect or self.undirected or self.stated is not None or len(self.edges) < 2 or self.columns[0]:
            return False
        (vertices, edges), *others = self.edges
        ends = {end for edge in others for end in edge}
        if edges != len(others) or not (max(ends) < vertices or (min(ends) > 0 and max(ends) <= vertices)):
            return False
        self.stated, self.edges, self.columns = vertices, others, self.columns[1:]
        return True

    def _header(self, line: bytes) -> None:
        if found := _STATED.fullmatch(line):
            self.stated = int(found[1])
        elif re.match(rb"[#%]\s*Undirected graph\b", line, re.IGNORECASE):
            self.undirected = True
        elif found := _KONECT.match(line):
            self.konect, self.undirected = True, found[1].lower() == b"sym"
        elif self.konect and (found := _COUNTS.fullmatch(line)):
            self.stated = int(found[2])

    def weights(self) -> list[int] | None:
        """The weights of the edges, if every edge has one and all are whole numbers of 1 to `MOST_WEIGHT`."""
        found = [_weight(columns[0]) for columns in self.columns if columns]
        return None if len(found) < len(self.edges) or None in found else found

    def both_ways(self, values: list) -> list:
        """Values of edges, followed by those of the reverse edges if the list is of an undirected graph."""
        if not self.undirected:
            return values
        return values + [value for value, (u, v) in zip(values, self.edges, strict=True) if u != v]

    @property
    def all_edges(self) -> Edges:
        """The edges, and their reverses if the list is of an undirected graph."""
        return self.edges + [(v, u) for u, v in self.edges if u != v] if self.undirected else self.edges


def is_zero(word: bytes) -> bool:
    """Whether a word is a number of value 0."""
    try:
        return Decimal(word.decode("ascii")) == 0
    except (InvalidOperation, UnicodeDecodeError):
        return False


def _weight(word: bytes) -> int | None:
    """The weight that a word of a line is; None for none that can be used."""
    try:
        value = Decimal(word.decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError):
        return None
    if not value.is_finite() or not 0 < value <= MOST_WEIGHT or value.adjusted() < 0:
        return None
    return int(value) if value == value.to_integral_value() else None
