"""The TOML file that describes a program: its command line, the files that it reads, and what it prints. Writes graphs
and pairs as the text that programs read.
"""

import re
import string
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from grailbench.errors import InputError, page
from grailbench.util import settings

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


MS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}  #: unit of a time -> milliseconds
BYTES = {"bytes": 1, "KB": 1e3, "MB": 1e6, "KiB": 2**10, "MiB": 2**20, "words": 4}  #: unit of a size -> bytes
PLACEHOLDERS = {"graph", "queries", "here", "dim", "threads", "seed"}  #: what a command may name in braces
_AXES = {"dim", "threads"}


def _with_a_group(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from None
    if groups != 1:
        raise ValueError(f"one group in parentheses is needed, around the number or word, not {groups}")
    return pattern


def _in_the_folder(name: str) -> str:
    if Path(name).name != name:
        raise ValueError(f"{name!r}: stdout, stderr, or the name of a file in the working folder of the program")
    return name


def _named(text: str) -> set[str]:
    """The names in braces in a text. Raises ValueError if braces are not in pairs."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _require_known(text: str, known: set[str], all_of_them: bool = False) -> None:
    named = _named(text)
    if unknown := sorted(named - known):
        raise ValueError(f"{{{unknown[0]}}} in {text!r}: choose among {', '.join(sorted(known))}")
    if all_of_them and (missing := sorted(known - named)):
        raise ValueError(f"{text!r} has no {{{missing[0]}}}")


_Pattern = Annotated[str, AfterValidator(_with_a_group)]
_Where = Annotated[str, AfterValidator(_in_the_folder)]
_Ids = Literal[0, 1]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Number(_Table):
    """A number that the program prints.

    match  a regular expression whose one group is the number; the last place that it fits counts
    where  'stdout', 'stderr', or a file that the program writes in its working folder
    """

    match: _Pattern
    where: _Where = "stdout"


class Time(Number):
    """A time, in a unit of `MS`."""

    unit: Literal[*MS]


class Size(Number):
    """A size, in a unit of `BYTES`."""

    unit: Literal[*BYTES]


class GraphFile(_Table):
    """How the graph is written: condensed, as all implementations get it, and without the super-root.

    format  one of `FORMATS`
    ids     the id of the first vertex; each format has a usual one
    header  the first lines, with {vertices} and {edges}, in place of those of the format
    """

    format: Literal[*FORMATS]
    ids: _Ids | None = None
    header: str | None = None

    @property
    def how(self) -> Format:
        """The format, with what replaces its own."""
        given = {"ids": self.ids, "header": self.header}
        return FORMATS[self.format]._replace(**{name: value for name, value in given.items() if value is not None})

    @model_validator(mode="after")
    def _known(self):
        _require_known(self.header or "", {"vertices", "edges"})
        return self


class QueryFile(_Table):
    """How the pairs are written.

    line          a pair, with {u} and {v}. A third column is a constant: no program is told the answer
    ids           the id of the first vertex
    header        the first lines, with {count}
    last_newline  whether the last line ends as the others do
    """

    line: str = "{u} {v}"
    ids: _Ids = 0
    header: str = ""
    last_newline: bool = True

    @model_validator(mode="after")
    def _known(self):
        _require_known(self.line, {"u", "v"}, all_of_them=True)
        _require_known(self.header, {"count"})
        return self


class Times(_Table):
    """The times that the program prints, of building its index (phase `label`) and of all queries (`query`)."""

    build: Time
    query: Time


class Answers(_Table):
    """How the answers are read: `count`, or `yes` and `no`.

    count    the number of reachable pairs: all that can then be checked
    yes, no  the words that answer a pair, one pair a line in the order of the queries; lines of no such word are
             skipped
    match    a regular expression whose one group is such a word, for lines with more on them
    where    as in `Number`
    """

    where: _Where = "stdout"
    count: Number | None = None
    yes: list[str] = []
    no: list[str] = []
    match: _Pattern | None = None

    @model_validator(mode="after")
    def _one_way(self):
        if (self.count is None) != bool(self.yes and self.no) or (self.count and (self.yes or self.no or self.match)):
            raise ValueError("either 'count', or both 'yes' and 'no', each a list of words")
        if both := set(self.yes) & set(self.no):
            raise ValueError(f"{min(both)!r} is both yes and no")
        return self


class Description(_Table):
    """The whole file. docs/how-to/adding-a-program.md explains it.

    name      of the implementation, which is 'program:NAME'; the name of the file by default
    about     a line, then what it does; `grailbench info` shows it
    source    paper, project
    command   the words of the command line, with {graph}, {queries}, {here} (the folder of this file), {dim}, {threads}
              and {seed}. The first word is looked for on PATH
    variable  an environment variable that, if it is set, holds the path of the program
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    about: str = "A program, described by a TOML file."
    source: str = ""
    command: Annotated[list[str], Field(min_length=1, description="the words of the command line")]
    variable: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")] | None = None
    graph: Annotated[GraphFile, Field(description="a table that says how the graph is written")]
    queries: QueryFile = QueryFile()
    times: Annotated[Times, Field(description="a table that says how 'build' and 'query' are read")]
    answers: Annotated[Answers, Field(description="a table that says how answers are read")]
    index: Size | None = None

    @property
    def axes(self) -> frozenset[str]:
        """The axes that the command line names."""
        return frozenset(_AXES & {name for word in self.command for name in _named(word)})

    @model_validator(mode="after")
    def _places(self):
        _require_known(self.command[0], {"here"})
        for word in self.command:
            _require_known(word, PLACEHOLDERS)
        for name in ("graph", "queries"):
            if not any(name in _named(word) for word in self.command):
                raise ValueError(f"the command line needs a {{{name}}}: the file is put in its place")
        return self


def read(path: Path) -> Description:
    """The description of a program. Raises InputError, naming file, line and key."""

    def prepare(raw: dict) -> None:
        raw.setdefault("name", path.stem.lower())
        if "experiment" in raw:
            raise InputError("describes a run, not a program", path=path, remedy="give it with --config")

    return settings.read(path, Description, prepare, remedy=f"{page('how-to/adding-a-program')} explains these files")
