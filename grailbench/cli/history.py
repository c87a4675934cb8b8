"""`grailbench history`: each cell over the runs of one machine, and what `compare` marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import completion, options
from grailbench.cli.printing import note, put, put_json
from grailbench.errors import InputError, NothingMeasured
from grailbench.util.words import count

if TYPE_CHECKING:
    from grailbench.compare.history import History
    from grailbench.harness.cells import Cell, Run


@click.command("history")
@click.argument("runs", nargs=-1, type=completion.RUN)
@click.option("--dataset", multiple=True, type=completion.GRAPH, metavar="NAME", help="Only this graph; may repeat.")
@click.option("--impl", multiple=True, type=completion.IMPLEMENTATION, metavar="NAME",
              help="Only this implementation; may repeat.")  # fmt: skip
@click.option("--cell", "words", multiple=True, metavar="WORDS",
              help="Only configurations whose name has these words, as 'd=2 dfs'; may repeat.")  # fmt: skip
@click.option("--phase", multiple=True, type=completion.METRIC, metavar="PHASE",
              help="Times of this phase, or label/NAME for a part; may repeat. [default: the gate's]")  # fmt: skip
@click.option("--metric", "kinds", multiple=True, type=click.Choice(("time", "counters", "status")),
              help="Mark only times, work counters, or cells lost and found; may repeat.")  # fmt: skip
@click.option("--gate", "gate_file", type=completion.FILE, metavar="FILE",
              help="A gate file of 'grailbench compare': smaller changes are not marked.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(("table", "markdown")), default="table", show_default=True,
              help="For people, or for a page.")  # fmt: skip
@click.option("--out", metavar="DIR", type=options.Output(file_okay=False, path_type=Path),
              help="Write figure and data (SVG, PNG, CSV) into DIR.")  # fmt: skip
@click.option("--html", "page", type=options.Output(), is_flag=False, flag_value="history.html", metavar="[=FILE]",
              help="Write one HTML page. [default: history.html, in --out DIR if given]")  # fmt: skip
@options.as_json
def command(runs, dataset, impl, words, phase, kinds, gate_file, form, out, page, as_json):
    """Show each cell over runs: its medians in the order in which the runs began, and what 'grailbench compare' marks.

    RUNS are folders or names of runs; without any, all of results/runs. Runs of one machine make one history; those of
    unlike machines, or of one run on several, are never joined. Several runs of one commit, and of one code of a
    plug-in, are one point with its spread. Between two points something is marked if 'grailbench compare' finds it
    between each run of the one and each of the other: times beyond the gate, work counters, lost cells, other answers.
    What is marked is listed first, the worst on top, then each cell over runs.

    It only shows: 'grailbench compare' is the gate.

    \b
    Exit codes: 0 with and without marks, 2 bad input, 3 when no cell is in two runs of one machine.

    \b
    Examples:
      grailbench history
      grailbench history results/runs/* --impl sequential --phase query
      grailbench history FIRST SECOND THIRD --metric counters --json
      grailbench history --out history --html
    """
    from grailbench.compare import history
    from grailbench.compare import runs as compare
    from grailbench.report.history import records

    gate = compare.gate_of(gate_file, metrics=list(phase))
    found = history.of_runs(read(runs), gate, kinds or history.KINDS, wanted(dataset, impl, words), phase)
    if as_json:
        put_json(records(found))
    else:
        show(found, form)
    write(found, out, page)
    found.check()


def read(names: Iterable[str]) -> list[Run]:
    """The runs of these names, each once; or all stored ones, with a note on those that cannot be read.

    Raises InputError if a run that was named cannot be read, NothingMeasured if no run is stored.
    """
    from grailbench.harness import folder
    from grailbench.harness.cells import read as read_run

    if names := list(names):
        return [read_run(each) for each in {found.resolve(): found for found in map(folder.find_run, names)}.values()]
    runs = []
    for each in folder.runs():
        try:
            runs.append(read_run(each))
        except InputError as error:
            note(f"left out: {error}")
    if not runs:
        raise NothingMeasured("no run is stored: 'grailbench run' measures one, or name recorded ones by their folders")
    return runs


def wanted(datasets: Iterable[str], impls: Iterable[str], names: Iterable[str]) -> Callable[[Cell], bool]:
    """Whether a cell is one of these graphs, implementations and configurations; of all where none is given."""
    phrases = [{*name.split()} for name in names]

    def fits(cell: Cell) -> bool:
        named = not phrases or any(phrase <= {*cell.name.split()} for phrase in phrases)
        return named and (not datasets or cell.dataset in datasets) and (not impls or cell.impl in impls)

    return fits


def show(found: History, form: str) -> None:
    """Print a history on stdout."""
    from grailbench.report import history
    from grailbench.report.render.markdown import markdown, paragraph

    tables = history.tables(found)
    if form == "markdown":
        lines = "".join(f"- {paragraph(line)}\n" for line in history.summary(found))
        click.echo("\n".join([f"# {history.TITLE}\n", lines, *map(markdown, tables)]), nl=False)
    else:
        put([*history.summary(found), *(part for table in tables for part in ("", table))])


def write(found: History, out: Path | None, page: str | None) -> None:
    """Write figure and data into a folder, and the page, and print their names."""
    from grailbench.report import draw, history
    from grailbench.report.destination import save
    from grailbench.report.page import checked, whole
    from grailbench.report.page.sections import Section
    from grailbench.report.render.csv import csv

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
