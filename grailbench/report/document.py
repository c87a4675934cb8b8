"""A run's report: the tables chosen, made from its cells, shown and written beside it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from grailbench.compare import answer, stability
from grailbench.compare.measures import grouped
from grailbench.errors import InputError, NothingMeasured
from grailbench.harness.cells import Cell, Run, load, of_machine
from grailbench.harness.folder import spoken
from grailbench.problems.contract import USUAL
from grailbench.report import break_even, measured, published, rankings
from grailbench.report.destination import recorded, save
from grailbench.report.papers import Part, Place, parts, thesis
from grailbench.report.papers.beside import Filled
from grailbench.report.render import terminal
from grailbench.report.render.csv import csv
from grailbench.report.render.latex import latex
from grailbench.report.render.markdown import markdown, paragraph, text
from grailbench.report.table import Table
from grailbench.util.words import count, machine

FOLDER = "report"
MOST = 40  #: lines of a table that a summary shows
MOST_OF_ALL = 150  #: and of all tables together


#: the parts of a report on reachability that are of no paper, before those of papers
GENERAL = (
    Part("rivals", lambda report: rankings.rivals(report.cells), place=Place.FIRST, title="Everybody in one ranking"),
    Part("pays", lambda report: break_even.against_sweep(report.cells), place=Place.FIRST,
         title="From how many pairs an index pays"),
    Part("tradeoffs", lambda report: [] if report.run.mixed else break_even.tables(report.cells), place=Place.FIRST,
         title="Trade-offs", figures="tradeoff-"),
    Part("workers", lambda report: rankings.workers(report.cells), place=Place.FIRST),
    Part(measured.NAME, lambda report: [measured.table(report.cells, verdicts=report.verdicts)], place=Place.FIRST),
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """The tables of a run, whatever problems it has cells of.

    names     of the tables that were asked for: then the report has only those, with every printed row; none for all
    verdicts  on the stability of the run's cells, by key
    """

    run: Run
    names: tuple[str, ...] = ()
    verdicts: Mapping[tuple, stability.Verdict] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """False if tables were asked for by name."""
        return not self.names

    @property
    def title(self) -> str:
        return self.run.title

    @property
    def machine(self) -> str:
        """The machine, in one line."""
        return machine(self.run.environment)

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells of reachability."""
        return self.run.of(USUAL)

    @cached_property
    def answer(self) -> list[str]:
        """Who is fastest, in sentences."""
        return answer.sentences(self.run.cells) if self.whole else []

    @cached_property
    def tables(self) -> list[Filled]:
        """The published tables that the run's cells fit, with its graphs, or those that were asked for."""
        asked = [thesis.build(name, self.cells) for name in self.names if name in thesis.NAMES]
        return thesis.of_run(self.cells) if self.whole else asked

    @cached_property
    def parts(self) -> dict[Part, list[Table]]:
        """The tables of each part that has some, in the order in which they are shown."""
        given = self.run.problems
        if set(self.names) & set(thesis.NAMES):
            given = [USUAL, *given]
        chosen = [part for part in (*GENERAL, *parts()) if set(part.problems) & set(given)]
        if self.names and set(self.names) <= set(thesis.NAMES):
            chosen = [part for part in chosen if part.name == "printed"]
        elif rest := set(given) - {USUAL, *(name for p in chosen if p.place == Place.PROBLEMS for name in p.problems)}:
            chosen += [Part(name, partial(_all_cells, name), (name,), Place.PROBLEMS) for name in given if name in rest]
        chosen.sort(key=lambda part: (part.place, min(given.index(name) for name in part.problems if name in given)))
        found = {part: [each for each in part.tables(self) if each.name in (self.names or (each.name,))]
                 for part in chosen}  # fmt: skip
        return {part: tables for part, tables in found.items() if tables}

    def part(self, name: str) -> list[Table]:
        """The tables of the part with this name."""
        return next((tables for part, tables in self.parts.items() if part.name == name), [])

    @cached_property
    def shown(self) -> list[Table]:
        """Every table except `details`, in the order in which they are shown."""
        return [table for tables in self.parts.values() for table in tables]

    @cached_property
    def details(self) -> Table:
        """One line per cell and phase, with the statistics of its trials; its CSV has the cells of reachability."""
        return measured.details(self.run.cells, self.verdicts)

    def status_counts(self) -> str:
        """'24 cells: 23 ok, 1 failed'."""
        statuses = measured.statuses(cell.status for cell in self.run.cells)
        return f"{count(len(self.run.cells), 'cell')}: {statuses}"

    @property
    def header(self) -> list[str]:
        """The lines on machines, statistics and the meaning of a ratio."""
        return [f"Measured on: {self.machine}", *self.unstable, *self._printed(), self.status_counts()]

    @cached_property
    def unstable(self) -> list[str]:
        """Warnings of times that cannot be trusted, with the remedy; none if all are stable."""
        name = "" if recorded(self.run.folder) else spoken(self.run.folder)
        return stability.warnings(self.run.cells, name, self.verdicts or None)

    def _printed(self) -> list[str]:
        """What the printed numbers are and how to compare with them; nothing if the report shows none."""
        if not self.tables:
            return []
        paper = any(table.name in published.PAPER_TABLES for table in self.tables)
        printed = "; ".join([published.THESIS, *([published.COMPUTATION] if paper else [])])
        return [
            f"Printed: {printed}, on {published.PRINTED_MACHINE}.",
            "Beside print, times are means over the trials, as print shows them. A ratio is measured / printed and "
            "CROSSES MACHINES: below 1 says no more than that this code on this machine took less time.",
        ]


def of_run(run: str | None, names: Iterable[str] = (), machine: str | None = None) -> Report:
    """The report on a run (a folder, a name or its beginning; None: the latest), or on what one machine measured of it.

    Raises InputError if there is no such run, or if workers on unlike machines measured it and none is chosen, and the
    errors of `make`.
    """
    return make(of_machine(load(run), machine), names)


def check_measured(report: Report) -> None:
    """Raises NothingMeasured if no cell of the run has a sound time."""
    if not any(cell.sound for cell in report.run.cells):
        raise NothingMeasured(f"{report.title}: no cell was measured ({report.status_counts()})")


def make(run: Run, names: Iterable[str] = ()) -> Report:
    """The report on a run.

    `names` are the tables to show: published ones, with every printed row, or any other that the whole report has.
    Without names the report has everything that was measured, and those published tables that a cell of the run fits,
    with the graphs of the run only. Raises NothingMeasured if there are no rows, InputError for an unknown table.
    """
    if not run.cells:
        raise NothingMeasured(f"{run.title}: the run has no rows")
    report, names = Report(run, verdicts=stability.verdicts(run.cells)), tuple(dict.fromkeys(names))
    if unknown := [name for name in names if name not in thesis.NAMES]:
        known = list(dict.fromkeys([*thesis.NAMES, *(table.name for table in report.shown)]))
        if absent := [name for name in unknown if name not in known]:
            raise InputError(f"no report of table {absent[0]!r}", remedy=f"choose among {', '.join(known)}")
    return replace(report, names=names)


def _all_cells(problem: str, report: Report) -> list[Table]:
    """The table of all cells of a problem that has no part."""
    return [measured.table(report.run.of(problem), problem, report.verdicts)]


def show(report: Report, details: bool = False, everything: bool = True) -> Iterator:
    """Lines and tables for the screen: the header, the answer, each table with its notes, and with `details` the
    statistics of every cell. Without `everything`, tables beyond `MOST` and `MOST_OF_ALL` lines are named alone."""
    yield from report.header
    if report.answer:
        yield from ("", f"{answer.TITLE}:", *report.answer)
    left = MOST_OF_ALL
    for table in [*report.shown, *([report.details] if details else [])]:
        yield ""
        if everything or len(table.lines) <= min(MOST, left):
            left -= len(table.lines)
            yield from terminal(table)
        else:
            lines = count(len(table.lines), "line")
            yield f"{table.title}: {lines} (--all shows them, --table {table.name} these alone)"


def as_markdown(report: Report) -> str:
    """The whole report as one Markdown page, with the statistics of all cells at its end."""
    parts = [f"# {text(report.title)}\n", _listed(report.header)]
    if report.answer:
        parts.append(f"## {answer.TITLE}\n\n{_listed(report.answer)}")
    return "\n".join([*parts, *map(markdown, report.shown), markdown(report.details)])


def _listed(lines: Iterable[str]) -> str:
    """Lines as a list of Markdown; those that begin with a space are a list below the one above."""
    return "".join(f"{'  ' * line.startswith(' ')}- {paragraph(line.strip())}\n" for line in lines)


def write(report: Report, out: str | Path, form: str = "both", added: Iterable[Table] = ()) -> list[Path]:
    """Write the report's files into the folder `out`, atomically, and return their paths.

    form   'markdown' (`report.md`), 'csv' or 'latex' (a file a table), or 'both' (Markdown and CSV)
    added  tables that get files too, but are not in `report.md`
    """
    return [save(Path(out) / name, text.encode()) for name, text in files(report, form, added).items()]


def files(report: Report, form: str = "both", added: Iterable[Table] = ()) -> dict[str, str]:
    """The text of each file of a report, by its name; see `write`."""
    found: dict[str, str] = {}
    if form == "markdown" or (form == "both" and report.whole):
        found["report.md"] = as_markdown(report)
    if form == "latex":
        source = f"{report.title}, on {machine(report.run.environment, whole=False)}"
        found |= _files(
            [*report.shown, *added],
            "tex",
            lambda tables: "\n".join(latex(each, source, report.run.name) for each in tables),
        )
    else:
        shown = [*report.shown, *([report.details] if report.whole else [])] if form in ("csv", "both") else []
        found |= _files((table for table in (*shown, *added) if table.data is not None), "csv", csv)
    return found


def _files(tables: Iterable[Table], ending: str, text: Callable[[list[Table]], str]) -> dict[str, str]:
    """The text of each file, by its name; several tables may share a file."""
    groups = grouped(tables, lambda table: f"{table.file or table.name}.{ending}")
    return {name: text(group) for name, group in groups.items()}
