"""What `grailbench history` reads, shows and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from grailbench.cli.views import note
from grailbench.compare.history import History
from grailbench.errors import InputError, NothingMeasured
from grailbench.harness import folder
from grailbench.harness.cells import Cell, Run
from grailbench.harness.cells import read as read_run
from grailbench.report import draw, history
from grailbench.report.destination import save
from grailbench.report.page import checked, whole
from grailbench.report.page.sections import Section
from grailbench.report.render import terminal
from grailbench.report.render.csv import csv
from grailbench.report.render.markdown import markdown, paragraph
from grailbench.util import screen
from grailbench.util.words import count


def read(names: Iterable[str]) -> tuple[list[Run], list[str]]:
    """The runs of these names, each once, or all stored ones that can be read; and why others were left out.

    Raises InputError if a run that was named cannot be read, NothingMeasured if no run is stored.
    """
    if names := list(names):
        found = {each.resolve(): each for each in map(folder.find_run, names)}
        return [read_run(each) for each in found.values()], []
    runs, left = [], []
    for each in folder.runs():
        try:
            runs.append(read_run(each))
        except InputError as error:
            left.append(f"left out: {error}")
    if not runs:
        raise NothingMeasured("no run is stored: 'grailbench run' measures one, or name recorded ones by their folders")
    return runs, left


def left_out(lines: Iterable[str]) -> None:
    """Say on stderr what was left out."""
    for line in lines:
        note(line)


def wanted(datasets: Iterable[str], impls: Iterable[str], names: Iterable[str]) -> Callable[[Cell], bool]:
    """Whether a cell is one of these graphs, implementations and configurations; of all where none is given."""
    datasets, impls, phrases = set(datasets), set(impls), [name.split() for name in names]

    def fits(cell: Cell) -> bool:
        own = cell.name.split()
        named = not phrases or any(all(word in own for word in phrase) for phrase in phrases)
        return named and (not datasets or cell.dataset in datasets) and (not impls or cell.impl in impls)

    return fits


def put(found: History, form: str) -> None:
    """Print a history on stdout."""
    shown = history.tables(found)
    if form == "markdown":
        lines = "".join(f"- {paragraph(line)}\n" for line in history.summary(found))
        click.echo("\n".join([f"# {history.TITLE}\n", lines, *map(markdown, shown)]), nl=False)
        return
    screen.put(history.summary(found))
    for table in shown:
        screen.put(["", *terminal(table)])


def write(found: History, out: Path | None, page: str | None) -> None:
    """Write figure and data into a folder, and the page, and say so."""
    files: list[tuple[Path, bytes]] = []
    if out is not None:
        source = "; ".join(history.summary(found))
        drawn = [each for each in history.figures(found) if each.drawable]
        files += [(out / name, data) for each in drawn for name, data in draw.files(each, source)]
        files.append((out / "marks.csv", csv([history.marks_table(found)]).encode()))
    if page is not None:
        path = out / page if out is not None and page == "history.html" else Path(page)
        sections = [Section("summary", "Each cell over runs", history.blocks_of(found))]
        runs = sum(len(machine.runs) for machine in found.machines)
        lead = f"{count(runs, 'run')}, {count(len(found.marks), 'mark')}"
        files.append((checked(path), whole(history.TITLE, lead, sections).encode()))
    for path, data in files:
        note(f"written: {save(path, data)}")
