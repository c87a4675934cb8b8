"""What readers of tables and of words share: decoding a text, its rows, which columns have the ends of an edge, and the
graph of edges between labels, which are texts or numbers.

The same rules hold for tables of edges and of pairs. Cells are separated by commas, or by semicolons if the first line
has no comma, or by what a first line `sep=;` says. A cell in double quotes may hold delimiters, line ends, and doubled
quotes for quotes, and keeps the blanks at its ends; blanks at the ends of other cells do not count.
"""

import csv
import importlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from types import ModuleType

import numpy as np

from grailbench.errors import GrailbenchError, InputError, MachineLacks, install
from grailbench.graph.csr import VERTEX, Graph
from grailbench.graph.ids import Ids, Named, ids_from, is_number
from grailbench.graph.kinds import Kinds
from grailbench.graph.readers.text import Found, check_memory, check_vertices
from grailbench.util.words import did_you_mean

#: words for the source and for the target of an edge: a column is named by one, perhaps with 'id', 'node' or 'vertex'
_ENDS = (
    ("source|src|from", "target|dst|dest|destination|to"),
    ("u", "v"),
    ("subject", "object"),
    ("parent", "child"),
    ("tail", "head"),
    ("citing", "cited"),
    ("start", "end"),
)
_BESIDE = "(?:id|node|vertex)*"
_NAMED = [
    tuple(re.compile(words if words in "uv" else f"{_BESIDE}(?:{words}){_BESIDE}") for words in ends) for ends in _ENDS
]
#: what neo4j-admin takes beside `:START_ID`: `person:START_ID(People){label:Person}`
_BESIDE_ID = re.compile(r"^[^:]*(?=:(?:START|END)_ID\b)|(?<=_ID)[({].*$", re.IGNORECASE)
_LINE_END = re.compile(rb"\r\n?|\n")
_FIRST_LINE = re.compile(r"\s*([^\r\n]*)")
_SEPARATOR = re.compile(r'[ \t]*"?sep=([^"\s]|\t)"?[ \t]*(?=[\r\n]|\Z)', re.IGNORECASE)


def decoded(text: np.ndarray) -> str:
    """A text (uint8[size]) as str, without a byte order mark. Raises InputError with the line if it is not UTF-8."""
    raw = text.tobytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(raw[: error.start])) + 1
        message = f"no UTF-8 text, at byte {error.start}: {error.object[error.start : error.start + 20]!r}"
        raise InputError(message, line=line, remedy="save it as UTF-8") from None


def rows(text: str, delimiter: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """The line (from 1) and the cells of each row of a table that is not blank. Raises InputError if it is malformed.

    delimiter  None to find it in the first line

    The line of a row of several lines is the last.
    """
    if separator := _SEPARATOR.match(text):
        delimiter, text = separator[1], text[separator.end() :]
    elif delimiter is None:
        first = _FIRST_LINE.match(text)[1]
        delimiter = "," if "," in first or ";" not in first else ";"
    text, mark = _marked(text, delimiter)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                cells = [cell.strip() for cell in row]
                yield reader.line_num, [cell.strip(mark) for cell in cells] if mark else cells
    except csv.Error as error:
        message = f"no row of cells: {error}"
        remedy = "a cell with a quote stands in quotes, and the quote in it is doubled"
        raise InputError(message, line=reader.line_num, remedy=remedy) from None


def _marked(text: str, delimiter: str) -> tuple[str, str]:
    """The text with a character that it has nowhere else at both ends of each cell in quotes, and this character, so
    that blanks there are distinguished from those around a cell. The text as it is, and '', if no such cell has any."""
    if '"' not in text:
        return text, ""
    quoted = re.compile(rf'(?<![^{re.escape(delimiter)}\r\n])( *)"((?:[^"]|"")*+)"')
    if all(cell == cell.strip() for _, cell in quoted.findall(text)):
        return text, ""
    mark = next(chr(code) for code in range(0xE000, 0x110000) if chr(code) not in text)
    return quoted.sub(rf'\1"{mark}\2{mark}"', text), mark


def first_row(
    found: Iterator[tuple[int, list[str]]],
    header: bool = True,
    is_id: Callable[[str], bool] = lambda cell: False,
) -> tuple[int, list[str]]:
    """The line and the cells of the first row that is no comment; before a header that is recognised, '#' is left out.

    header  whether there may be one
    is_id   whether a cell that begins with '#' or '%' is an id, so that its row is no comment

    Raises InputError if there is none.
    """
    for line, cells in found:
        if cells[0][:1] not in ("#", "%") or is_id(cells[0]):
            return line, cells
        bare = [cells[0].lstrip("#% "), *cells[1:]]
        if header and readings(bare):
            return line, bare
    raise InputError("the file holds nothing but comments")


def readings(header: list[str]) -> list[tuple[int, int]]:
    """The places of the source and the target in a header, in every way in which it may be read; see `_ENDS`.

    Case and punctuation do not count. 'start' and 'end', which are times too, count if there are no others. 'head' may
    be the target, as of arcs, or the source, as of triples, unless 'tail' is before it.
    """
    names = [re.sub(r"[\W_]+", "", _BESIDE_ID.sub("", name)).casefold() for name in header]
    found: list[tuple[int, int]] = []
    for words, (sources, targets) in zip(_ENDS, _NAMED, strict=True):
        ends = ([place for place, name in enumerate(names) if end.fullmatch(name)] for end in (sources, targets))
        pairs = list(product(*ends))
        if words[0] == "start" and found:
            break
        found += pairs
        found += [(target, source) for source, target in pairs if words[0] == "tail" and target < source]
    return found


def ends_of(line: int | None, header: list[str], remedy: str) -> tuple[int, int] | None:
    """The places of the source and the target in a header; None if it does not say which they are.

    Raises InputError, with the remedy, if it may be read in several ways.
    """
    found = readings(header)
    if len(found) < 2:
        return found[0] if found else None
    shown = " or ".join(f"{header[source]!r} to {header[target]!r}" for source, target in found[:3])
    raise InputError(f"its edges may go from {shown}", line=line, remedy=remedy)


def unrecognised(line: int | None, header: list[str], remedy: str) -> InputError:
    """The error for a table of which it is not known which columns are the source and the target."""
    if len(header) < 2:
        return InputError(
            "one column; an edge needs two",
            line=line,
            remedy="commas or semicolons in csv, tabs in tsv, words in names (--format)",
        )
    more = ", ..." if len(header) > 6 else ""
    shown = ", ".join(repr(name[:40]) for name in header[:6]) + more
    return InputError(f"no columns that are named as source and target: {shown}", line=line, remedy=remedy)


def place_of(line: int | None, header: list[str], name: str) -> int:
    """The place of the column of that name, else of that name in another case. Raises InputError unless it is one."""
    places = [place for place, each in enumerate(header) if each == name]
    places = places or [place for place, each in enumerate(header) if each.casefold() == name.casefold()]
    if len(places) == 1:
        return places[0]
    if places:
        raise InputError(f"{len(places)} columns are named {name!r}", line=line)
    raise InputError(f"no column is named {name!r}", line=line, remedy=did_you_mean(name, header))


def words_of(text: str) -> Iterator[tuple[int, list[str]]]:
    """The line (from 1) and the words of each line, ended by LF or CRLF, that is not blank.

    Blanks separate words; in a line with a tab only tabs do, words may be empty, and blanks at their ends stay.
    """
    for line, content in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if words := content.split("\t") if "\t" in content.strip() else content.split():
            yield line, words


# ---------------------------------------------------------------------------------------- labels


def factorized(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of each label, int64[k], among the different ones, and these, in the order in which they first occur.

    labels  int64[k], or object[k] of str
    """
    import pandas as pd

    if labels.dtype == object and any("\0" in label for label in labels):
        # pandas before 3 ends a text at its first NUL, unless not all are text; it leaves out None
        codes, known = pd.factorize(np.append(labels, None))
        return codes[:-1], known
    return pd.factorize(labels)


def found_of(
    sources: Sequence | np.ndarray,
    targets: Sequence | np.ndarray,
    vertices: Sequence[str] = (),
    repository: str | None = None,
    kinds: Sequence[str] | None = None,
) -> Found:
    """The graph with these edges, from sources[i] to targets[i], and its ids.

    sources, targets  the labels of the ends of each edge: both str, or both numpy arrays of integers
    vertices          labels of vertices that need not have an edge
    repository        the git repository whose commits the vertices are, see `Named`
    kinds             the kind of each edge

    If all labels are numbers, the vertices are in their order and the ids are these; otherwise they are in the order of
    `vertices` and then of the file. Raises InputError if there are more than fit, and TooLittleMemory.
    """
    numeric = isinstance(sources, np.ndarray) and sources.dtype.kind in "iu"
    labels = np.empty(len(vertices) + 2 * len(sources), np.int64 if numeric else object)
    ends = labels[len(vertices) :]
    if len(vertices):
        labels[: len(vertices)] = vertices
    ends[0::2], ends[1::2] = sources, targets
    codes, known = factorized(labels)
    if not numeric and "" in known:
        raise InputError("an id is empty")
    check_vertices(known.size)
    check_memory(known.size, edges=len(sources))
    ids: Ids
    if numeric or all(map(is_number, known)):
        known = known.astype(np.int64)
        order = np.argsort(known)
        rank = np.empty(known.size, np.int64)
        rank[order] = np.arange(known.size)
        codes, ids = rank[codes], ids_from(known[order])
    else:
        ids = Named(known, repository)
    codes = codes[len(vertices) :].astype(VERTEX)
    graph = Graph(known.size, codes[0::2].copy(), codes[1::2].copy(), kinds=None if kinds is None else Kinds.of(kinds))
    return Found(graph, ids)


def needed(module: str, format: str) -> ModuleType:
    """Imports a library that a format needs. Raises MachineLacks if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a library's own, of what it uses of others
            return importlib.import_module(module)
    except ImportError as error:
        raise MachineLacks(f"{format} is read by {module}, which cannot be imported ({error}): "
                           f"{install('formats')}") from error  # fmt: skip


@contextmanager
def parsing(expected: str, remedy: str | None = None) -> Iterator[None]:
    """Turns every exception of a parsing library into one InputError: libraries raise all kinds for damaged files."""
    try:
        yield
    except (GrailbenchError, MemoryError):
        raise
    except RecursionError:
        raise InputError(f"{expected} expected; its parts are nested too deep", remedy=remedy) from None
    except Exception as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        line = getattr(error, "lineno", None) or next(iter(getattr(error, "position", ())), None)
        raise InputError(f"{expected} expected: {why}", line=line, remedy=remedy) from None
