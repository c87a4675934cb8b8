"""Converts between the vertex ids of a file and the vertices 0..n-1 that are used internally.

Kernels use vertices only. Everything a user writes or reads (query files, messages, exported graphs) uses the ids of
the file. A mapping is `Counted` (n consecutive numbers), `Listed` (n different numbers) or `Named` (n different texts).
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from typing import IO, TYPE_CHECKING

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.arguments import GREATEST, LEAST
from grailbench.util.words import clip, count, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_NUMBER = re.compile(r"[0-9]+|-0*[1-9][0-9]*")
_BREAK = re.compile(r"[\t\r\n]")
_USUAL = re.compile(r"0|-?[1-9][0-9]*")
_LONGEST = len(str(LEAST))  # letters of a number of 64 bits
_FEW = 1000  # so many names are found by the dictionary, and so many pairs written, without pandas
_WRITTEN = 1 << 18  # pairs that are written at a time
_SOUGHT = 8  # names that are found among the bytes, before all are decoded for the dictionary
_SEARCHED = 5000  # names that are searched for one to suggest


class Ids(ABC):
    """A mapping between the ids of a file and the vertices 0..`vertices` - 1.

    digest   '' if every id equals its vertex, else hex digits that identify the mapping
    numeric  whether the ids are numbers of 64 bits with a sign, which `_place` and `_places_of` find; else they are
             text
    """

    vertices: int
    digest: str
    numeric: bool = True

    @abstractmethod
    def label_of(self, vertex: int) -> int | str:
        """The id of one vertex. The vertex must be in range."""

    @abstractmethod
    def labels_of(self, vertices: np.ndarray) -> np.ndarray:
        """The ids, int64[k] or object[k] of str, of vertices int[k]. The vertices must be in range."""

    @abstractmethod
    def extent(self) -> str:
        """The range of the ids, for example '1..5', '3 ids from 7 to 90' or "3 names such as 'ann' and 'bob'"."""

    @abstractmethod
    def stored(self) -> tuple[dict, dict[str, np.ndarray]]:
        """What `from_stored` needs to restore the mapping: a description for JSON, and arrays by name."""

    @abstractmethod
    def _place(self, label) -> int:
        """The vertex of one id, or -1. It is called for single words of a query file, so it has to be fast."""

    def _places_of(self, numbers: np.ndarray) -> np.ndarray:
        """The vertices, int64, of ids, int64 of any shape, which may be overwritten; -1 where there is none."""
        raise NotImplementedError

    def describe(self) -> str:
        """The range of the ids, and the vertices they are mapped to: '1..5, as in the file (inside 0 to 4)'."""
        inside = f" (inside 0 to {self.vertices - 1})" if self.digest else ""
        return f"{self.extent()}, as in the file{inside}" if self.vertices else "none"

    def vertices_of(self, labels: ArrayLike) -> np.ndarray:
        """The vertices, int64[k], of k ids; -1 where the file has no such id.

        `labels` is a list, an array or a column of pandas, of any shape: of numbers that fit int64, or of text, which
        may be the digits of a number. Raises ValueError if the ids are numbers, and these neither numbers nor text.
        """
        labels = np.asarray(labels)
        if labels.dtype.kind in "OUT" and all(isinstance(label, str) for label in labels.flat):
            return np.fromiter(map(self._find, labels.flat), np.int64, labels.size).reshape(labels.shape)
        if labels.size and (labels.dtype.kind not in "iu" or labels.dtype == np.uint64):
            raise ValueError(f"ids of {labels.dtype}, not whole numbers that fit int64")
        return self._places_of(labels.astype(np.int64))

    def vertex_of(self, label: str) -> int:
        """The vertex of an id given as text. Raises InputError if the file has no such id."""
        vertex = self._find(label)
        if vertex < 0:
            raise self.unknown(label)
        return vertex

    def _find(self, label: str) -> int:
        """The vertex of an id given as text, or -1."""
        return self._place(int(label)) if len(label) <= _LONGEST and self.is_label(label) else -1

    def is_label(self, text: str) -> bool:
        """Whether a word has the form of an id; the file need not have this id."""
        return _NUMBER.fullmatch(text) is not None

    def has(self, text: str) -> bool:
        """Whether the file itself has this id. Revisions other than full hashes count as absent."""
        return self._find(text) >= 0

    def unknown(self, label: str) -> InputError:
        """The error for an id that the file does not have."""
        return InputError(f"vertex {label[:60]} is out of range: the graph has {self.extent()}")


class Counted(Ids):
    """The consecutive ids `first`, `first` + 1, ..., `first` + `vertices` - 1."""

    def __init__(self, vertices: int, first: int = 0):
        self.vertices, self.first = vertices, first
        self.digest = f"from-{first}" if first else ""

    def label_of(self, vertex: int) -> int:
        return int(vertex) + self.first

    def labels_of(self, vertices: np.ndarray) -> np.ndarray:
        return vertices.astype(np.int64) + self.first

    def _places_of(self, numbers: np.ndarray) -> np.ndarray:
        found = np.subtract(numbers, self.first, out=numbers)  # what is out of range stays so if this overflows
        found[(found < 0) | (found >= self.vertices)] = -1
        return found

    def _place(self, number: int) -> int:
        return number - self.first if self.first <= number < self.first + self.vertices else -1

    def extent(self) -> str:
        return f"{self.first}..{self.first + self.vertices - 1}" if self.vertices else "no vertices"

    def stored(self) -> tuple[dict, dict[str, np.ndarray]]:
        return {"kind": "counted", "first": self.first}, {}


class Listed(Ids):
    """Arbitrary different ids; `labels` (int64[n]) holds that of each vertex."""

    def __init__(self, labels: np.ndarray):
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        self.vertices = int(self.labels.size)

    @cached_property
    def digest(self) -> str:
        """The first 16 hex digits of the sha256 of the ids."""
        return hashlib.sha256(self.labels.astype("<i8", copy=False)).hexdigest()[:16]

    @cached_property
    def _order(self) -> np.ndarray | None:
        """The vertices by ascending id, int64[n]; None if the ids ascend already."""
        return None if (self.labels[1:] > self.labels[:-1]).all() else np.argsort(self.labels, kind="stable")

    def label_of(self, vertex: int) -> int:
        return int(self.labels[vertex])

    def labels_of(self, vertices: np.ndarray) -> np.ndarray:
        return self.labels[vertices]

    def _places_of(self, numbers: np.ndarray) -> np.ndarray:
        if self.vertices == 0:
            return np.full(numbers.shape, -1, np.int64)
        place = np.searchsorted(self.labels, numbers, sorter=self._order)
        found = np.minimum(place, self.vertices - 1)
        if self._order is not None:
            found = self._order[found]
        return np.where(self.labels[found] == numbers, found, -1)

    @cached_property
    def _ascending(self) -> memoryview:
        """The ids in ascending order; a memoryview gives Python integers, which bisect compares fastest."""
        return memoryview(self.labels if self._order is None else self.labels[self._order])

    def _place(self, number: int) -> int:
        place = bisect_left(self._ascending, number)
        if place == self.vertices or self._ascending[place] != number:
            return -1
        return place if self._order is None else int(self._order[place])

    def extent(self) -> str:
        if self.vertices == 0:
            return "no vertices"
        return f"{self.vertices} ids from {self.labels.min()} to {self.labels.max()}"

    def stored(self) -> tuple[dict, dict[str, np.ndarray]]:
        return {"kind": "listed"}, {"labels": self.labels}


class Named(Ids):
    """Names: non-empty different texts.

    They are kept as UTF-8, `content` (uint8) and the end of each name in it (`ends`, int64[n]), and decoded when they
    are first asked for. If `repository` is given, the names are the hashes of its commits, and every revision that git
    knows there (HEAD~3, a tag, a branch, a short hash) is an id as well.
    """

    numeric = False
    _sought = 0  # names that were looked up before there was a dictionary

    def __init__(self, names: Iterable[str], repository: str | None = None):
        """Raises InputError unless all names are non-empty text and different."""
        names = [*names]
        if not all(isinstance(name, str) and name for name in names):
            wrong = next(at for at, name in enumerate(names) if not (isinstance(name, str) and name))
            raise InputError(f"the name of vertex {wrong} is {names[wrong]!r}; a non-empty text is expected")
        # the characters of members of an Enum; with None numpy makes no array of fixed-width text
        whole = np.array([*map(str.__str__, names), None], object)[:-1]
        encoded = [name.encode("utf-8", "surrogatepass") for name in whole]
        self.content = np.frombuffer(b"".join(encoded), np.uint8)
        self.ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        self.repository, self.vertices = repository, whole.size
        self.names = whole
        if len(self._places) < whole.size:
            twice = next(name for vertex, name in enumerate(whole) if self._places[name] != vertex)
            raise InputError(f"two vertices are named {_quoted(twice)}")

    @classmethod
    def of_bytes(cls, content: np.ndarray, ends: np.ndarray, repository: str | None = None) -> Named:
        """The mapping with these arrays (see the class). Raises ValueError if they hold an empty name or no UTF-8."""
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
        if (ends <= starts).any() or content.size != (ends[-1] if ends.size else 0):
            raise ValueError("its names do not fill their bytes")
        if not (repository is None or isinstance(repository, str)):
            raise ValueError("its repository is no text")
        made = cls.__new__(cls)
        made.content, made.ends, made.repository, made.vertices = content, ends, repository, int(ends.size)
        return made

    @cached_property
    def names(self) -> np.ndarray:
        """The name of each vertex, object[n] of str."""
        raw, start, names = self.content.tobytes(), 0, np.empty(self.vertices, object)
        for vertex, end in enumerate(self.ends.tolist()):
            names[vertex] = raw[start:end].decode("utf-8", "surrogatepass")
            start = end
        return names

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(zip(self.names, range(self.vertices), strict=True))

    @cached_property
    def _index(self):
        """A pandas Index, which finds many names at a time twice as fast as the dictionary."""
        import pandas as pd  # here, because a single name is found without it

        return pd.Index(self.names, dtype=object)

    @cached_property
    def digest(self) -> str:
        """The first 16 hex digits of the sha256 of the names."""
        digest = hashlib.sha256(np.ascontiguousarray(self.ends, "<i8"))
        digest.update(self.content)
        return digest.hexdigest()[:16]

    def label_of(self, vertex: int) -> str:
        if "names" in self.__dict__:
            return self.names[vertex]
        start = int(self.ends[vertex - 1]) if vertex else 0
        return self.content[start : int(self.ends[vertex])].tobytes().decode("utf-8", "surrogatepass")

    def labels_of(self, vertices: np.ndarray) -> np.ndarray:
        return self.names[vertices]

    def vertices_of(self, labels: ArrayLike) -> np.ndarray:
        labels = np.asarray(labels, object)
        if labels.size > _FEW:
            found = self._index.get_indexer(labels.ravel()).astype(np.int64).reshape(labels.shape)
        else:
            found = np.fromiter(map(self._place, labels.flat), np.int64, labels.size).reshape(labels.shape)
        if self.repository is not None and (found < 0).any():
            missing = (found < 0) & np.reshape([isinstance(label, str) for label in labels.flat], labels.shape)
            found[missing] = self._commits(labels[missing].tolist())
        return found

    def _place(self, label: object) -> int:
        if not isinstance(label, str):
            return -1
        if "_places" not in self.__dict__ and self._sought < _SOUGHT:
            self._sought += 1
            return self._in_content(label)
        return self._places.get(label, -1)

    def _in_content(self, label: str) -> int:
        """The vertex of a name, or -1, without decoding the others."""
        wanted, lengths = label.encode("utf-8", "surrogatepass"), np.diff(self.ends, prepend=0)
        vertices = np.flatnonzero(lengths == len(wanted))
        starts = self.ends[vertices] - len(wanted)
        for place in reversed(range(len(wanted))):  # names differ more at their ends
            same = self.content[starts + place] == wanted[place]
            vertices, starts = vertices[same], starts[same]
        return int(vertices[0]) if vertices.size else -1

    def _commits(self, revisions: list[str]) -> list[int]:
        """The vertex of each revision, or -1."""
        from grailbench.graph.revisions import resolved

        return [self._place(commit) for commit in resolved(self.repository, revisions)]

    def is_label(self, text: str) -> bool:
        return bool(text)

    def has(self, text: str) -> bool:
        return text in self._places

    def _find(self, label: str) -> int:
        vertex = self._place(label)
        if vertex < 0 and self.repository is not None:
            (vertex,) = self._commits([label])
        return vertex

    def unknown(self, label: str) -> InputError:
        if self.repository is not None:
            return InputError(
                f"{_quoted(label)} is no commit of this graph",
                remedy=f"a revision that git knows in {self.repository}; import the repository again for new commits",
            )
        near = {self.label_of(at).casefold(): self.label_of(at) for at in range(min(self.vertices, _SEARCHED))}
        remedy = did_you_mean(label, near, f"it has {self.extent()}", show=lambda name: _quoted(near[name]))
        return InputError(f"no vertex is named {_quoted(label)}", remedy=remedy)

    def extent(self) -> str:
        if self.vertices == 0:
            return "no vertices"
        if self.repository is not None:
            return f"{count(self.vertices, 'commit')}, and every revision of {self.repository}"
        such = " and ".join(_quoted(self.label_of(vertex)) for vertex in range(min(2, self.vertices)))
        return f"{count(self.vertices, 'name')} such as {such}"

    def stored(self) -> tuple[dict, dict[str, np.ndarray]]:
        description = {"kind": "named"} | ({} if self.repository is None else {"repository": self.repository})
        return description, {"name_bytes": self.content, "name_ends": self.ends}


def _quoted(name: str) -> str:
    """A name for a message: in quotes, cut, and without characters that cannot be printed."""
    return repr(clip(name, 60)).encode("utf-8", "backslashreplace").decode()


def is_number(text: str) -> bool:
    """Whether an id is a number of 64 bits as `str` writes it, so that it stays one: '7' and '-7', but not '07'."""
    usual = len(text) <= _LONGEST and _USUAL.fullmatch(text) is not None
    return usual and (len(text) < _LONGEST - 1 or LEAST <= int(text) <= GREATEST)


def ids_from(labels: np.ndarray) -> Ids:
    """The mapping with these ids (int64[n], all different): `Counted` if they are consecutive, else `Listed`."""
    first = int(labels[0]) if labels.size else 0
    if labels.size == 0 or (labels == np.arange(first, first + labels.size)).all():
        return Counted(int(labels.size), first)
    return Listed(labels)


def with_more(ids: Ids, labels: np.ndarray) -> Ids:
    """The mapping in which those of some ids (int64[k], or object[k] of str) that are new follow the others, in the
    order in which they first occur. Raises InputError for names among numbers, and numbers among names."""
    if labels.size and ids.numeric == (labels.dtype == object):
        kind, other = ("numbers", "names") if ids.numeric else ("names", "numbers")
        raise InputError(f"{other} cannot be added: the ids of this graph are {kind}")
    new = [*dict.fromkeys(labels[ids.vertices_of(labels) < 0].tolist())]
    if not new:
        return ids
    known = ids.labels_of(np.arange(ids.vertices))
    if isinstance(ids, Named):
        return Named([*known, *new], ids.repository)
    return ids_from(np.concatenate((known, np.array(new, np.int64))))


def from_stored(vertices: int, description: dict, arrays: dict[str, np.ndarray]) -> Ids:
    """Restores a mapping from what `Ids.stored` returned. Raises ValueError if that is not a valid mapping.

    Names are taken as they are: whether they differ was checked when they were stored.
    """
    kind, labels = description.get("kind"), arrays.get("labels")
    first = description.get("first")
    if kind == "counted" and isinstance(first, int) and LEAST <= first <= GREATEST - max(0, vertices - 1):
        return Counted(vertices, first)
    if kind == "listed" and labels is not None:
        if labels.shape != (vertices,) or labels.dtype.kind != "i" or np.unique(labels).size != vertices:
            raise ValueError("its ids are not one for each vertex")
        return Listed(labels)
    if kind == "named" and "name_bytes" in arrays and "name_ends" in arrays:
        if arrays["name_ends"].shape != (vertices,):
            raise ValueError("its names are not one for each vertex")
        return Named.of_bytes(arrays["name_bytes"], arrays["name_ends"], description.get("repository"))
    raise ValueError("it says nothing that is known of its ids")


def write_pairs(
    stream: IO[bytes], ids: Ids, sources: np.ndarray, targets: np.ndarray, answers: np.ndarray | None = None
) -> None:
    """Writes pairs of vertices, int[k] each, as lines `u v` of ids, with their answers (bool[k]) `u v 0|1`.

    `read_pairs` reads them back. Numbers are separated by a blank, names by a tab. Raises InputError as `as_line` does.
    """
    for first in range(0, sources.shape[0], _WRITTEN):
        part = slice(first, first + _WRITTEN)
        columns = [ids.labels_of(sources[part]), ids.labels_of(targets[part])]
        columns += [] if answers is None else [answers[part].astype(np.int8)]
        if ids.numeric and sources.shape[0] > _FEW:
            import pandas as pd  # here, because loading it takes longer than a few pairs

            table = pd.DataFrame(dict(enumerate(columns)))
            stream.write(table.to_csv(None, sep=" ", header=False, index=False).encode())
            continue
        found = zip(*(each.tolist() for each in columns), strict=True)
        lines = (" ".join(map(str, row)) + "\n" for row in found) if ids.numeric else map(as_line, found)
        stream.write("".join(lines).encode("utf-8", "surrogatepass"))


def as_line(row: Iterable) -> str:
    """A pair of names, and perhaps its answer, as a line that `read_pairs` reads.

    Raises InputError for a name with a tab or a line break, of blanks alone, or that begins with a byte order mark.
    """
    words = [str(word) for word in row]
    for word in words:
        if _BREAK.search(word) or not word.strip() or word[0] == "\ufeff":
            why = "holds a tab or a line break" if _BREAK.search(word) else "is blank or begins with a byte order mark"
            raise InputError(f"{word[:60]!r} {why}, so that it has no place in a line", remedy="--json where there is")
    return "\t".join(words) + "\n"
