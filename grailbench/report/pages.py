"""Markdown pages with numbers from runs: `grailbench report --into PAGE.md` renews every marked block.

A block begins with a comment that names it, `<!-- grailbench labels -->`, and ends with `<!-- end -->`; between them is
what is renewed. PAGE.toml beside the page has a table of each name, which describes the content:

    [labels]
    run = "fused"                        # a run in the page's folder, or any other by path or name; or several
    where = {dim = 2, queries = "random-100000"}      # required of all cells; of a list, the first that exists
    graphs = ["small-sparse", "uniprotenc_22"]        # sets and names; without it, those of the run
    [labels.columns]                     # headers, and expressions of `grailbench.report.values`
    "one core" = "sequential ready"
    "GPU" = "gpu-fused ready"
    "ratio" = "one core / GPU"

With `say` the block is that text instead of a table; `{ratio}` (least to most over the graphs), `{ratio.least}`,
`{ratio.most}`, `{ratio.mean}` (geometric), `{ratio.least_graph}`, `{ratio.most_graph}`, `{ratio.count}` and
`{ratio@kegg}` in it are replaced by values of the column. `groups` gives one line of geometric means per group of
graphs; `mean = true` adds a line over all graphs; `statistic` is 'median', 'mean' or 'least' of the trials.

`figure = "figures/labels"` draws the columns, one mark per graph, as `figures/labels.svg` beside the page, with
`title`, `caption` and `axis`; with `stacked = true` the columns but the last are parts of a bar, and the last stands at
its end. `limits = "limits"` is the folder of the ceilings that a column `gpu-fused floor` needs.
`table = "2.4"` inserts that table of the run's report, or of the report on several runs, of which later ones add what
the first has not; of `table = "claims-thesis"` a `figure` has a bar for print and for each run, of how many claims are
confirmed; `runs = [...]` lists runs with their cells, commits, and the commands that repeat them.

`records = "library/costs.jsonl"` in place of a run makes a table of a file beside the page with one JSON object a line:
`columns` are headers and fields, `where` has the values that fields must have. With `figure` it draws stacked bars: the
first column names them, the last is what stands at their ends, and those between are their parts. Of three columns,
of which the second is text, it draws marks: name, series and number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Literal

import pandas
from pydantic import BaseModel, ConfigDict, model_validator

from grailbench.data.locate import members
from grailbench.errors import InputError
from grailbench.harness.cells import Cell, Run, joined, of_machine, read
from grailbench.harness.folder import find_run, read_json
from grailbench.harness.limits.ceilings import Ceilings
from grailbench.report import document, draw
from grailbench.report.destination import save
from grailbench.report.figure import Axis, Bars, Figure, Mark, Marks, Panel
from grailbench.report.papers.claims import tally
from grailbench.report.recorded import additions, overview
from grailbench.report.render.markdown import compact
from grailbench.report.table import Footnotes, Table, marked
from grailbench.report.values import CPU, Expression, Lines, Source, Value, read_records, together
from grailbench.util import settings
from grailbench.util.files import read_text
from grailbench.util.words import BLANK, MARK, count, did_you_mean, listing

#: a code block, whose content is left alone, or a marked block; its group is the name
_MARKED = re.compile(r"^```.*?^```|^<!-- grailbench ([\w-]+) -->\n.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
Form = tuple[pandas.DataFrame, Marks | Bars]  #: the data of a figure, and what is drawn
_THREADS = re.compile(r"(one|\d+) (?:core|thread)s?\b")
_PAIRS = re.compile(r"\bd = (\d+)")
_OPEN = "Open marks: unstable times, fewer than ten trials, or answers checked by a sample."
_PLACE = re.compile(r"\{([^{}.@]+)(?:\.(\w+)|@([^{}]+))?\}")


class Block(BaseModel):
    """The keys of a marked block; the module's docstring explains them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str | list[str] = []
    where: dict[str, str | int | list[str]] = {}
    graphs: list[str] = []
    groups: dict[str, list[str]] = {}
    columns: dict[str, str] = {}
    statistic: Literal["median", "mean", "least"] = "median"
    problem: str = "reachability"
    mean: bool = False
    stacked: bool = False
    limits: str = ""
    head: str = "graph"
    say: str | None = None
    table: str = ""
    figure: str = ""
    title: str = ""
    caption: str = ""
    axis: str = ""
    runs: list[str] = []
    records: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Block:
        if sum(map(bool, (self.columns, self.table, self.runs))) != 1:
            raise ValueError("a block has one of 'columns', 'table' and 'runs'")
        if not (self.runs or self.run or self.records):
            raise ValueError("'columns' and 'table' need a 'run', or 'records'")
        if self.stacked and not (self.run and self.figure and len(self.columns) > 1):
            raise ValueError("'stacked' needs a 'run', a 'figure', and two 'columns' or more")
        if self.table and self.figure and not self.table.startswith("claims-"):
            raise ValueError("a 'table' with a 'figure' is one of a paper's claims, as 'claims-thesis'")
        return self

    @property
    def names(self) -> list[str]:
        """The names of its runs."""
        return [self.run] if isinstance(self.run, str) else self.run


class _Blocks(BaseModel):
    """PAGE.toml: tables of any names."""

    model_config = ConfigDict(extra="allow")


class Runs:
    """What pages have in common: runs that were read, and the tables of reports on them."""

    def __init__(self) -> None:
        self.read = lru_cache(2)(lambda folder: of_machine(read(folder)))  # rows take most of the memory of a run
        self.rowless = cache(lambda folder: self.read(folder).rowless())
        self._tables: dict[tuple[Path, ...], tuple[dict[str, Table], list[str]]] = {}

    def tables(self, folders: tuple[Path, ...]) -> tuple[dict[str, Table], list[str]]:
        """The tables of the report on some runs together, by name, and what is to be said below each."""
        if folders not in self._tables:
            runs = [self.read(folder) for folder in folders]
            self._tables[folders] = {table.name: table for table in document.make(joined(runs)).shown}, additions(runs)
        return self._tables[folders]


class Page:
    """A Markdown page and the runs that its blocks name.

    unstable  whether numbers of unstable times may be written, each with `words.MARK`
    runs      those of other pages too, if they are not to be read for each
    """

    def __init__(self, path: Path, unstable: bool = False, runs: Runs | None = None):
        self.path, self.unstable = path, unstable
        self._shaky: list[int] = []  # lines of the blocks that have such
        self._hints = ""  # of the figure of the block that is made
        self.figures: dict[Path, Figure] = {}  #: figures to draw, by path; complete after `renewed`
        self._runs = runs or Runs()

    @cached_property
    def text(self) -> str:
        """The page as it is on disk. Raises InputError if it cannot be read."""
        try:
            return read_text(self.path)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read: {error}", path=self.path) from None

    @cached_property
    def renewed(self) -> str:
        """The page with every block renewed. Raises InputError if there is no block, if the page and PAGE.toml do not
        have the same ones, or, with its line, for a block that cannot be made."""
        names = [found[1] for found in _MARKED.finditer(self.text) if found[1]]
        if not names:
            raise InputError("no marked block", path=self.path, remedy="'grailbench report --help' shows one")
        if other := {*names} ^ {*self.blocks}:
            said = f"{listing(sorted(other))}: only in one of the page and {self.path.with_suffix('.toml').name}"
            raise InputError(said, path=self.path)
        return _MARKED.sub(self._again, self.text)

    def write(self) -> bool:
        """Write the renewed page and its figures, each atomically. Returns False if nothing changed. Raises InputError
        if numbers are of unstable times and `unstable` does not allow it."""
        if self.current:
            return False
        if self._shaky and not self.unstable:
            what = f"{count(len(self._shaky), 'block')} with numbers of unstable times"
            remedy = f"measure again on a quiet machine; --unstable writes them, each with {MARK}"
            raise InputError(what, path=self.path, line=self._shaky[0], remedy=remedy)
        for path, figure in self.figures.items():
            drawing = next(content for _, content in draw.files(figure, "", "svg"))
            save(path, drawing.rstrip() + b"\n" + stamp(figure) + b"\n")
        save(self.path, self.renewed.encode(), over=b"")
        return True

    @property
    def current(self) -> bool:
        """True if the page and its figures agree with the runs."""
        return self.renewed == self.text and not self.figures

    @cached_property
    def blocks(self) -> dict[str, object]:
        """The tables of PAGE.toml, not checked yet. Raises InputError if it cannot be read."""
        return settings.read(self.path.with_suffix(".toml"), _Blocks).model_extra or {}

    def _again(self, found: re.Match) -> str:
        if (name := found[1]) is None:
            return found[0]
        line = self.text.count("\n", 0, found.start()) + 1
        self._hints = ""
        try:
            body = self._made(settings.check(Block, self.blocks[name]))
        except InputError as error:
            raise InputError(f"{name}: {error}", path=self.path, line=line) from None
        self._shaky += [line] if MARK in body + self._hints else []
        return f"<!-- grailbench {name} -->\n{body.rstrip()}\n<!-- end -->"

    def _made(self, block: Block) -> str:
        if block.runs:
            return compact(overview(map(self._run, block.runs)))
        if block.table and block.figure:
            tables = {name: self._reported(block.model_copy(update={"run": name})) for name in block.names}
            return self._drawn(block, tally(tables).bars())
        if block.table:
            return compact(self._reported(block))
        if block.records:
            lines = read_records(self.path.parent / block.records, block.columns, block.where)
            named = len(block.columns) == 3 and all(isinstance(line[1], str) for line in lines.values)
            form = block.figure and (lines.marks(block.axis) if named else lines.bars())
            return self._drawn(block, form) if form else compact(lines.table(block.title))
        limits = block.limits and read_json(self.path.parent / block.limits / "limits.json")
        cells = [cell for name in block.names for cell in self._run(name).cells if cell.problem == block.problem]
        made = _Values(block, cells, Ceilings.of_gpu(limits) if limits else None)
        if block.figure:
            return self._drawn(block, made.bars() if block.stacked else made.marks())
        return compact(made.table()) if block.say is None else made.text()

    def _drawn(self, block: Block, data: Form) -> str:
        """The link to a figure. If the data of its file have changed, `write` draws it again."""
        file = self.path.parent / f"{block.figure}.svg"
        form = data[1]
        parts = (part for panel in form.panels for item in panel.items for part in getattr(item, "parts", (item,)))
        self._hints = "".join(part.hint for part in parts)
        some_open = isinstance(form, Marks) and any(mark.open for panel in form.panels for mark in panel.items)
        caption = f"{block.caption} {_OPEN}" if some_open else block.caption
        figure = Figure(Path(block.figure).name, *data, words=(block.title, caption))
        if file.is_file() and file.read_bytes().rstrip().endswith(stamp(figure)):
            self.figures.pop(file, None)
        else:
            self.figures[file] = figure
        return f"![{block.title}]({block.figure}.svg)"

    def _reported(self, block: Block) -> Table:
        """The table of the report on the run that the block names, or on its runs together."""
        known, text = self._runs.tables(tuple(map(self._folder, block.names)))
        if block.table not in known:
            raise InputError(f"the report has no table {block.table!r}", remedy=did_you_mean(block.table, known))
        return replace(known[block.table], notes=[*known[block.table].notes, *text])

    def _run(self, name: str) -> Run:
        return self._runs.rowless(self._folder(name))

    def _folder(self, name: str) -> Path:
        places = (self.path.parent / name, Path(name))
        return next((place for place in places if place.is_dir()), None) or find_run(name)


class _Values:
    """The values of a block's columns on its graphs, or on its groups of graphs."""

    def __init__(self, block: Block, measured: list[Cell], ceilings: Ceilings | None = None):
        self.block = block
        there = list(dict.fromkeys(cell.dataset for cell in measured))
        groups = {name: _graphs(names, there) for name, names in block.groups.items()}
        self.graphs = _graphs(block.graphs, there) or list(dict.fromkeys(chain(*groups.values()))) or there
        self.groups = groups or {graph: [graph] for graph in self.graphs}
        where = {key: value if isinstance(value, list) else str(value) for key, value in block.where.items()}
        self.of: dict[str, dict[str, Value | None]] = {}
        for name, text in block.columns.items():
            expression = Expression.parse(text, block.columns)
            try:
                of_graph = {graph: expression.of(Source([c for c in measured if c.dataset == graph], where,
                                                        block.statistic, ceilings), graph)
                            for graph in self.graphs}  # fmt: skip
            except InputError as error:
                raise InputError(f"{text!r}: {error}") from None
            if not any(of_graph.values()):
                raise InputError(f"column {name!r}, {text!r}: {expression.unmet(measured)}")
            _check_name(name, of_graph, set() if block.say else {cell.impl for cell in measured})
            self.of[name] = of_graph

    def table(self) -> Table:
        """A table with one line per graph or group."""
        foot, lines = Footnotes(), []
        for name, graphs in (self.groups | ({"geometric mean": self.graphs} if self.block.mean else {})).items():
            values = [together(of_graph[graph] for graph in graphs) for of_graph in self.of.values()]
            notes = [value.notes for value in values if value is not None]
            shared = [note for note in (notes[0] if notes else ()) if all(note in each for each in notes)]
            line = [name + foot.mark(shared)]
            for value in values:
                own = [] if value is None else [note for note in value.notes if note not in shared]
                line.append((BLANK if value is None else str(value)) + foot.mark(own))
            lines.append(line)
        notes = [*foot.lines(), *marked(lines)]
        return Table("values", "", [self.block.head, *self.of], lines, frozenset(self.of), notes=notes)

    def bars(self) -> Form:
        """A stacked bar per graph."""
        of_graph = {graph: [found[graph] for found in self.of.values()] for graph in self.graphs}
        values = [[graph, *(None if v is None else v.number for v in own)] for graph, own in of_graph.items()]
        return Lines(["graph", *self.of], values, [[graph, *map(str, own)] for graph, own in of_graph.items()]).bars()

    def marks(self) -> Form:
        """One mark per graph and column, with its interval."""
        marks = [
            Mark(column, value.number, graph, f"{graph}, {column}: {value}", *value.interval,
                 open=bool(value.mark) or any(not note.startswith(CPU) for note in value.notes))
            for column, found in self.of.items() for graph, value in found.items() if value is not None
        ]  # fmt: skip
        frame = pandas.DataFrame([(mark.y, mark.series, mark.x, mark.low, mark.high) for mark in marks],
                                 columns=["graph", "series", "value", "low", "high"])  # fmt: skip
        form = Marks((Panel("", tuple(marks)),), tuple(self.of), Axis(self.block.axis), Axis(scale="names"), across=1)
        return frame, form

    def text(self) -> str:
        """The text of `say` with its places filled."""
        notes: dict[str, None] = {}
        text = _PLACE.sub(lambda place: self._word(*place.groups(), notes), self.block.say.strip())
        fastest = [note.removeprefix(CPU) for note in notes if note.startswith(CPU)]
        said = [
            *([CPU + "; ".join(fastest)] if fastest else []),
            *(note for note in notes if not note.startswith(CPU)),
            *(note.partition(":")[0] for note in marked([[text]])),
        ]
        return text + f" ({'; '.join(said)})" * bool(said)

    def _word(self, name: str, what: str | None, graph: str | None, notes: dict[str, None]) -> str:
        if name not in self.of:
            raise InputError(f"'say' has {{{name}}}", remedy=f"columns are {', '.join(self.of)}")
        found = {key: value for key, value in self.of[name].items() if value is not None and graph in (None, key)}
        if not found:
            raise InputError(f"'say' has {{{name}@{graph}}}, which was not measured")
        notes |= dict.fromkeys(note for value in found.values() for note in value.notes)
        least, most = (pick(found, key=lambda key: found[key].number) for pick in (min, max))
        words = {"least": found[least], "most": found[most], "mean": together(found.values()), "count": len(found),
                 "least_graph": least, "most_graph": most,
                 None: " to ".join(dict.fromkeys(str(found[end]) for end in (least, most)))}  # fmt: skip
        if what not in words:
            raise InputError(f"'say' has {{{name}.{what}}}", remedy=f"there are {', '.join(filter(None, words))}")
        return str(words[what])


def _check_name(name: str, of_graph: Mapping[str, Value | None], known: set[str]) -> None:
    """Raises InputError if the name of a column says on how many cores or threads its values were measured, with how
    many label pairs, or of which of the known implementations, and one is of others."""
    named = {*re.findall(r"`([^`]+)`", name), name.split(",")[0]} & known
    threads = {1 if number == "one" else int(number) for number in _THREADS.findall(name)}
    pairs = {int(number) for number in _PAIRS.findall(name)}
    for graph, value in of_graph.items():
        for axis, words, said in (("threads", "{} threads", threads), ("dim", "d = {}", pairs), ("impl", "{}", named)):
            there = {at for its, at in value.axes if its == axis} if value is not None else set()
            if said and there and not (said <= there if axis == "impl" else there <= said):
                found = words.format(listing(sorted(there)))
                raise InputError(f"column {name!r}: its value on {graph} is of {found}",
                                 remedy=f"choose the cells with {axis}=..., or name the column otherwise")  # fmt: skip


def stamp(figure: Figure) -> bytes:
    """A comment for the end of a figure's file, with a hash of its title, caption and data."""
    text = "\n".join((figure.title, figure.caption, figure.csv))
    return f"<!-- data {sha256(text.encode()).hexdigest()[:16]} -->".encode()


def _graphs(names: Iterable[str], there: list[str]) -> list[str]:
    """The measured graphs of some names and sets, in that order. Raises InputError for an unknown name."""
    found: list[str] = []
    for name in names:
        if name not in there and name not in members():
            raise InputError(f"no graph or set {name!r}", remedy=f"the run has {', '.join(there)}")
        found += [name] if name in there else [each for each in members()[name] if each in there]
    return list(dict.fromkeys(found))
