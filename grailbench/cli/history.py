"""The command `grailbench history`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import options, printing
from grailbench.cli.printing import note, put_json
from grailbench.errors import InputError, NothingMeasured
from grailbench.util.words import count

if TYPE_CHECKING:
    from grailbench.compare.history import History
    from grailbench.harness.cells import Cell, Run


@click.command
@click.argument("runs", nargs=-1, type=options.RUN)
@options.many("--dataset", options.GRAPH, "Only this graph; may repeat.")
@options.many("--impl", options.IMPLEMENTATION, "Only this implementation; may repeat.")
@options.many("--cell", None, "Only configurations whose name has these words, as 'd=2 dfs'; may repeat.", "words",
              metavar="WORDS")  # fmt: skip
@options.many("--phase", options.METRIC,
              "Times of this phase, or label/NAME for a part; may repeat. [default: the gate's]")  # fmt: skip
@options.many("--metric", click.Choice(("time", "counters", "status")),
              "Mark only times, work counters, or cells lost and found; may repeat.", "kinds")  # fmt: skip
@options.gate
@click.option("--format", "form", type=click.Choice(("table", "markdown")), default="table", show_default=True,
              help="For people, or for a page.")  # fmt: skip
@click.option("--out", type=options.OUT_FOLDER, help="Write figure and data (SVG, PNG, CSV) into DIR.")
@click.option("--html", "page", type=options.Output(), is_flag=False, flag_value="history.html", metavar="[=FILE]",
              help="Write one HTML page. [default: history.html, in --out DIR if given]")  # fmt: skip
@options.as_json
def history(runs, dataset, impl, words, phase, kinds, gate_file, form, out, page, as_json):
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
    from grailbench.compare.runs import gate_of
    from grailbench.report import history as shown
    from grailbench.report.render.markdown import markdown, paragraph

    phrases = [{*each.split()} for each in words]

    def wanted(cell: Cell) -> bool:
        named = not phrases or any(phrase <= {*cell.name.split()} for phrase in phrases)
        return named and (not dataset or cell.dataset in dataset) and (not impl or cell.impl in impl)

    gate = gate_of(gate_file, metrics=list(phase))
    found = history.of_runs(_runs(runs), gate, kinds or history.KINDS, wanted, phase)
    if as_json:
        put_json(shown.records(found))
    elif form == "markdown":
        lines = "".join(f"- {paragraph(line)}\n" for line in shown.summary(found))
        parts = [f"# {shown.TITLE}\n", lines, *map(markdown, shown.tables(found))]
        click.echo("\n".join(parts), nl=False)
    else:
        printing.put([*shown.summary(found), *(part for table in shown.tables(found) for part in ("", table))])
    for path in _written(found, out, page):
        note(f"written: {path}")
    found.check()


def _runs(names: tuple[str, ...]) -> list[Run]:
    """The runs of these names, each once; or all stored ones, with a note on those that cannot be read.

    Raises InputError if a run that was named cannot be read, NothingMeasured if no run is stored.
    """
    from grailbench.harness import folder
    from grailbench.harness.cells import read

    if names:
        return [read(each) for each in {found.resolve(): found for found in map(folder.find_run, names)}.values()]
    runs = []
    for each in folder.runs():
        try:
            runs.append(read(each))
        except InputError as error:
            note(f"left out: {error}")
    if not runs:
        raise NothingMeasured("no run is stored: 'grailbench run' measures one, or name recorded ones by their folders")
    return runs


def _written(found: History, out: Path | None, page: str | None) -> Iterator[Path]:
    """Writes the page, and figure and data into a folder; gives their paths."""
    from grailbench.report import draw, history
    from grailbench.report.destination import save
    from grailbench.report.page import checked, whole
    from grailbench.report.page.sections import Section
    from grailbench.report.render.csv import csv

    if page is not None:
        path = checked(out / page if out is not None and page == "history.html" else Path(page))
        runs = sum(len(machine.runs) for machine in found.machines)
        sections = [Section("summary", "Each cell over runs", history.blocks(found))]
        lead = f"{count(runs, 'run')}, {count(len(found.marks), 'mark')}"
        yield save(path, whole(history.TITLE, lead, sections).encode())
    if out is not None:
        yield from draw.save([history.medians(found)], out, "; ".join(history.summary(found)))
        yield save(out / "marks.csv", csv([history.marks_table(found)]).encode())
