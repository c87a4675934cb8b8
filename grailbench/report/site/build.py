"""Writes a site over recorded runs: pages of HTML and files of data that need no network and no server.

The same runs give the same bytes. Runs are read one by one, and only their cells are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from grailbench.errors import NothingMeasured
from grailbench.harness.cells import Run
from grailbench.report import history
from grailbench.report.measured import detail
from grailbench.report.page.sections import Section
from grailbench.report.render.csv import of_frame
from grailbench.report.render.html import templates
from grailbench.report.site import board, folder, graphs, implementations, indexes, runs
from grailbench.report.site.entries import Entry, Source, entries
from grailbench.report.site.frame import CELLS, Frame, parted
from grailbench.report.site.runs import Described
from grailbench.util.words import count

TITLE = "Reachability benchmarks"
Page = tuple[str, bytes]  #: an address and the content


def build(
    sources: Iterable[Source], out: Path, title: str = TITLE, told: Callable[[str], None] = lambda address: None
) -> list[Path]:
    """Write the site of some runs to the folder `out`, whole or not at all. Returns the paths of its files, sorted.

    sources  is gone through once; of each run only the cells are kept
    told     is given the address of each file that was written

    Raises InputError if `out` has anything else than a site of ours, NothingMeasured without a run, and the errors of
    `sources`.
    """
    with folder.renewed(out) as site:
        kept: list[Described] = []
        for source in sources:
            site.write(runs.data_address(source), runs.data(source))
            told(runs.data_address(source))
            kept.append(runs.described(source))
        if not kept:
            raise NothingMeasured("no run has a row, so there is nothing to show")
        for address, content in pages(kept, title):
            site.write(address, content)
            told(address)
    return [Path(out) / address for address in sorted({*site.files, folder.MARK})]


def pages(found: list[Described], title: str = TITLE) -> Iterator[Page]:
    """The files of a site but those of the times of its runs."""
    sources = [each.source for each in found]
    frame = Frame(title, count(len(sources), "run"))
    all_entries = list(entries(sources))
    by_graph, by_implementation = indexes.by_graph(all_entries), indexes.by_implementation(all_entries)
    yield CELLS, _cells(sources)
    yield _index(frame, sources, all_entries)
    yield _history(frame, sources)
    yield _about(frame, sources)
    yield from board.files(all_entries).items()
    yield from _graphs(frame, by_graph, all_entries)
    yield from _implementations(frame, by_implementation, all_entries)
    yield from _runs(frame, found)


def _words(name: str, *values: object) -> tuple[str, object]:
    """A block of words that are not made of rows."""
    return "markup", getattr(templates().get_template("site/words.html").module, name)(*values)


def _index(frame: Frame, sources: list[Source], all_entries: list[Entry]) -> Page:
    machines = {runs.kind_of_machine(source.run) for source in sources}
    lead = _words("lead", "", frame.runs, count(len(all_entries), "cell"), count(len(machines), "kind"))
    sections = [
        Section("what", "What this is", [lead]),
        Section("leaderboard", "Leaderboard", [("markup", board.block(all_entries))]),
    ]
    description = f"Measured times of {frame.runs}; answers are checked before anything is timed."
    styles, scripts = [board.styles()], [board.script()]
    return "index.html", frame.page("index.html", frame.title, description, sections, styles=styles, scripts=scripts)


def _about(frame: Frame, sources: list[Source]) -> Page:
    files = [(source.name, runs.data_address(source)) for source in sources]
    sections = [
        Section("checked", "How answers are checked", [_words("checked")]),
        Section("times", "What a time is", [_words("times")]),
        Section("data", "The data", [_words("data", "", files, CELLS)]),
        Section("cite", "How to cite", [_words("cite", "")]),
    ]
    description = "What was timed, how answers were checked, where the data is."
    return "about.html", frame.page("about.html", "How it is measured", description, sections)


def _history(frame: Frame, sources: list[Source]) -> Page:
    description = "Each cell over the runs of one machine, and where its times or its work changed."
    runs_of = {id(run): (run, source) for source in sources for run in [_of_one_machine(source)]}
    blocks = history.blocks(
        [run for run, _ in runs_of.values()], link=lambda run, cell: Entry(runs_of[id(run)][1], cell).address
    )
    return "history.html", frame.page("history.html", "History", description, parted(blocks))


def _of_one_machine(source: Source) -> Run:
    """The run of a source under its name on the site, without its rows, and without the workers it had."""
    environment = {**source.run.environment, "workers": None}
    return source.run.rowless(folder=Path(source.name.replace("/", " ")), environment=environment, stored=None)


def _graphs(frame: Frame, found: dict[str, list[Entry]], all_entries: list[Entry]) -> Iterator[Page]:
    under = "graphs/index.html"
    description = f"{count(len(found), 'graph')}, each with what was measured on it."
    sections = [Section("graphs", "All graphs", graphs.index(all_entries, "../"))]
    yield under, frame.page(under, "Graphs", description, sections)
    for name, own in found.items():
        address = own[0].graph_address
        description = f"{count(len(own), 'cell')} of {count(len({e.cell.impl for e in own}), 'implementation')}."
        blocks = graphs.page(name, own, "../")
        yield address, frame.page(address, name, description, parted(blocks), under=under)


def _implementations(
    frame: Frame, found: dict[tuple[str, str], list[Entry]], all_entries: list[Entry]
) -> Iterator[Page]:
    under = "implementations/index.html"
    description = f"{count(len(found), 'implementation')}, each with what was measured of it."
    sections = [Section("implementations", "All implementations", implementations.index(all_entries, "../"))]
    yield under, frame.page(under, "Implementations", description, sections)
    for (problem, name), own in found.items():
        address = own[0].implementation_address
        there = count(len({entry.cell.dataset for entry in own}), "graph")
        description = f"{problem.capitalize()}: {count(len(own), 'cell')} on {there}."
        blocks = implementations.page(name, problem, all_entries, "../")
        yield address, frame.page(address, name, description, parted(blocks), under=under)


def _runs(frame: Frame, found: list[Described]) -> Iterator[Page]:
    under = "runs/index.html"
    description = f"{frame.runs.capitalize()}: machine, commit, and a page with every cell."
    sections = [Section("runs", "All runs", [("table", runs.table(found, "../"))])]
    yield under, frame.page(under, "Runs", description, sections)
    for each in found:
        source = each.source
        title, data = f"Run {source.name}", runs.data_address(source)
        yield (
            source.address,
            frame.page(source.address, title, runs.description(source), runs.page(each), under=under, data=data),
        )


def _cells(sources: Iterable[Source]) -> bytes:
    """Every cell and phase of all runs with its statistics, as CSV."""
    import pandas

    frames = []
    for source in sources:
        found = detail(source.run.cells)
        names = [runs.anchor(cell) for cell in source.run.cells for _ in range(len(cell.phases) or 1)]
        problems = [cell.problem for cell in source.run.cells for _ in range(len(cell.phases) or 1)]
        found.insert(0, "problem", problems)
        found.insert(0, "cell", names)
        found.insert(0, "run", source.name)
        frames.append(found.astype(object))
    return of_frame(pandas.concat(frames)).encode("utf-8")
