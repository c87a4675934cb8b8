"""Writes a site over recorded runs: pages of HTML and files of data that need no network and no server.

The same runs give the same bytes. A process a core reads runs one by one, and only their cells stay in memory.
"""

import gc
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas

from grailbench.compare.history import of_runs
from grailbench.errors import NothingMeasured
from grailbench.harness.folder import rows_path
from grailbench.report import cite, history
from grailbench.report.page import asset, rendered
from grailbench.report.page.sections import Block, Section
from grailbench.report.render.csv import of_frame
from grailbench.report.render.html import data_url, templates
from grailbench.report.site import board, folder, graphs, home, implementations, runs
from grailbench.report.site.entries import (
    Chosen,
    Entry,
    Source,
    by_graph,
    by_implementation,
    entries,
    name_machines,
    sources_of,
)
from grailbench.util.cores import usable_cores
from grailbench.util.words import count

TITLE = "Reachability benchmarks"
GRAPHS, IMPLEMENTATIONS, RUNS = "graphs/index.html", "implementations/index.html", "runs/index.html"
#: titles and addresses of the pages that every page leads to
NAV = (("Home", "index.html"), ("Leaderboard", "leaderboard.html"), ("Graphs", GRAPHS),
       ("Implementations", IMPLEMENTATIONS), ("Runs", RUNS),
       ("History", "history.html"), ("How it is measured", "about.html"))  # fmt: skip
#: a mark of two vertices and an edge, for the tab of a browser
ICON = data_url('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M4 12 12 4" stroke="#14599b" '
                'stroke-width="2"/><circle cx="4" cy="12" r="3" fill="#14599b"/><circle cx="12" cy="4" r="3" '
                'fill="#c2500a"/></svg>', "image/svg+xml")  # fmt: skip
CELLS = "data/cells.csv"  #: the address of the file of all cells
FEW_RUNS, FEW, CHUNK = 8, 40, 8  #: runs and graphs of a site that one process is for, and graphs of a task
Page = tuple[str, bytes]  #: an address and the content
Made = TypeVar("Made")
_tasks: list[Callable[[], Any]] = []


def build(
    chosen: Iterable[Chosen], out: Path, title: str = TITLE, note: Callable[[str], None] = lambda text: None,
    written: Callable[[str], None] = lambda address: None,
) -> list[Path]:  # fmt: skip
    """Write the site of some runs to the folder `out`, whole or not at all. Returns the paths of its files, sorted.

    note     is called with a sentence for each run that is left out because it has no row
    written  is called with the address of each file that was written

    Raises InputError if `out` has anything else than a site of ours, NothingMeasured without a run, and the errors of
    `entries.sources_of`.
    """
    largest_first = sorted(enumerate(chosen), key=lambda each: -_bytes(each[1]))  # none is left to one process
    with folder.renewed(out) as site:
        found: dict[int, list[runs.Described]] = {}
        tasks = [partial(_read, each) for _, each in largest_first]
        for number, (described, files, notes) in _done(tasks, len(tasks) > FEW_RUNS):
            found[largest_first[number][0]] = described
            for text in notes:
                note(text)
            for address, content in files:
                site.write(address, content)
                written(address)
        in_order = [each for number in sorted(found) for each in found[number]]
        if not in_order:
            raise NothingMeasured("no run has a row, so there is nothing to show")
        for address, content in pages(in_order, title):
            site.write(address, content)
            written(address)
    return [Path(out) / address for address in sorted({*site.files, folder.MARK})]


def _bytes(chosen: Chosen) -> int:
    """The size of a pack, or of a run's file of rows; 0 for none, which reading refuses."""
    path = chosen.folder if chosen.folder.is_file() else rows_path(chosen.folder)
    return path.stat().st_size if path.is_file() else 0


def _read(chosen: Chosen) -> tuple[list[runs.Described], list[Page], list[str]]:
    """The sources of a run, the files of their times, and what is to be noted."""
    found: list[runs.Described] = []
    files: list[Page] = []
    notes: list[str] = []
    for source in sources_of([chosen], notes.append):
        files.append((source.data_address, b"".join(runs.data(source))))
        found.append(runs.described(source))
    return found, files, notes


def pages(found: list[runs.Described], title: str = TITLE) -> Iterator[Page]:
    """The files of a site but those of the times of its runs."""
    sources = [each.source for each in found]
    name_machines(sources)
    frame, every = Frame(title, count(len(sources), "run")), entries(sources)
    of_graph = by_graph(every)
    names = list(of_graph)
    tasks: list[Callable[[], list[Page]]] = [
        lambda: [(CELLS, _cells(found))],
        lambda: [_home(frame, sources, every), _leaderboard(frame, every), _about(frame, sources)],
        lambda: [_history(frame, sources)],
        lambda: [_all_graphs(frame, of_graph, every)],
        *(partial(_graphs, frame, of_graph, names[at : at + CHUNK]) for at in range(0, len(names), CHUNK)),
        lambda: list(_implementations(frame, every)),
        lambda: list(_runs(frame, found)),
    ]
    for _, made in _done(tasks, len(names) > FEW):
        yield from made


def _done(tasks: Sequence[Callable[[], Made]], many: bool) -> Iterator[tuple[int, Made]]:
    """The numbers and results of tasks, as each is done; many are shared out to a process a core."""
    cores = usable_cores() if many and "fork" in multiprocessing.get_all_start_methods() else 1
    if cores == 1:
        for number, task in enumerate(tasks):
            yield number, task()
        return
    _tasks[:] = tasks  # what is forked has them, and all cells
    gc.freeze()  # so that no process looks through these cells for garbage
    with ProcessPoolExecutor(cores, multiprocessing.get_context("fork")) as pool:
        made = {pool.submit(_made, number): number for number in range(len(tasks))}
        try:
            for each in as_completed(made):  # so that the caller hears of files while a long task goes on
                yield made.pop(each), each.result()
        finally:
            for each in made:
                each.cancel()
            gc.unfreeze()
            _tasks.clear()


def _made(number: int) -> Any:
    return _tasks[number]()


@dataclass(frozen=True)
class Frame:
    """What all pages of one site have: its title, and how many runs it shows, in words."""

    title: str
    runs: str

    def page(
        self, address: str, title: str, description: str, sections: Iterable[Section], *,
        under: str = "", data: str = CELLS, styles: Iterable[str] = (), scripts: Iterable[str] = (),
    ) -> Page:  # fmt: skip
        """A page of the site.

        address          of the page, relative to the site
        description      a sentence below the title, which search engines show too
        under            the address in `NAV` of the page that this one belongs to, '' for a page of `NAV`
        data             the address of the CSV file of what it shows
        styles, scripts  CSS and JavaScript of this page alone
        """
        crumbs = [("Home", "index.html"), *(item for item in NAV if item[1] == under)] if under else []
        return address, rendered(
            "site/layout.html", (asset("site/site.css"), *styles), (asset("site/site.js"), *scripts), title=title,
            description=description, sections=[each for each in sections if each.blocks], address=address, under=under,
            up="../" * address.count("/"), nav=NAV, crumbs=crumbs, data=data, site=self.title, runs=self.runs,
            icon=ICON, papers=cite.links(),
        ).encode("utf-8", "replace")  # fmt: skip


def sections_of(blocks: Iterable[Block], first: str = "Summary") -> list[Section]:
    """Blocks as sections: each heading begins one; what stands before the first is the section `first`."""
    found = [Section("summary", first, [])]
    for kind, content in blocks:
        if kind == "heading":
            found.append(Section(f"part-{len(found)}", str(content), []))
        else:
            found[-1].blocks.append((kind, content))
    return found


def _words(name: str, *values: object) -> list[Block]:
    """A block of words that are not made of rows."""
    return [("markup", getattr(templates().get_template("site/words.html").module, name)(*values))]


def _home(frame: Frame, sources: list[Source], every: list[Entry]) -> Page:
    machines = count(len({source.hardware for source in sources}), "kind")
    lead = _words("lead", "", frame.runs, count(len(every), "cell"), machines)
    first = Section("who", "Who is fastest", [("markup", home.block(every))])
    description = (
        "Is there a path from u to v in a directed graph? Which programs answer that fastest; all answers were checked."
    )
    return frame.page("index.html", frame.title, description, [first, Section("what", "What this is", lead)],
                      styles=home.styles(), scripts=home.scripts())  # fmt: skip


def _leaderboard(frame: Frame, every: list[Entry]) -> Page:
    sections = [Section("leaderboard", "Every cell", [("markup", board.block(every))])]
    description = f"{count(len(every), 'cell')} of {frame.runs}, to filter and sort."
    return frame.page("leaderboard.html", "Leaderboard", description, sections,
                      styles=board.styles(), scripts=board.scripts())  # fmt: skip


def _about(frame: Frame, sources: list[Source]) -> Page:
    files = [(source.name, source.data_address) for source in sources]
    sections = [
        Section("checked", "How answers are checked", _words("checked")),
        Section("times", "What a time is", _words("times")),
        Section("data", "The data", _words("data", "", files, CELLS)),
        Section("cite", "How to cite", _words("cite", "")),
    ]
    description = "What was timed, how answers were checked, where the data is."
    return frame.page("about.html", "How it is measured", description, sections)


def _history(frame: Frame, sources: list[Source]) -> Page:
    description = "Each cell over the runs of one machine, and where its times or its work changed."
    found = [
        (source.run.rowless(folder=Path(source.name.replace("/", " ")), stored=None,
                            environment={**source.run.environment, "workers": None}), source)
        for source in sources
    ]  # fmt: skip
    source_of = {id(run): source for run, source in found}
    blocks = history.blocks(of_runs(run for run, _ in found), lambda run, cell: Entry(source_of[id(run)], cell).address)
    return frame.page("history.html", "History", description, sections_of(blocks))


def _all_graphs(frame: Frame, found: dict[str, list[Entry]], every: list[Entry]) -> Page:
    description = f"{count(len(found), 'graph')}, each with what was measured on it."
    return frame.page(GRAPHS, "Graphs", description, [Section("graphs", "All graphs", graphs.index(every))])


def _graphs(frame: Frame, found: dict[str, list[Entry]], names: Iterable[str]) -> list[Page]:
    pages = []
    for name in names:
        own = found[name]
        description = f"{count(len(own), 'cell')} of {count(len({e.cell.impl for e in own}), 'implementation')}."
        sections = sections_of(graphs.page(name, own), first=graphs.PICTURE)
        pages.append(frame.page(own[0].graph_address, name, description, sections, under=GRAPHS))
    return pages


def _implementations(frame: Frame, every: list[Entry]) -> Iterator[Page]:
    found, rounds = by_implementation(every), implementations.rounds(every)
    description = f"{count(len(found), 'implementation')}, each with what was measured of it."
    listed = Section("implementations", "All implementations", implementations.index(every, rounds))
    yield frame.page(IMPLEMENTATIONS, "Implementations", description, [listed])
    for (problem, name), own in found.items():
        there = count(len({entry.cell.dataset for entry in own}), "graph")
        description = f"{problem.capitalize()}: {count(len(own), 'cell')} on {there}."
        blocks = implementations.page(name, problem, own, rounds.get((problem, name), []))
        yield frame.page(own[0].implementation_address, name, description, sections_of(blocks), under=IMPLEMENTATIONS)


def _runs(frame: Frame, found: list[runs.Described]) -> Iterator[Page]:
    description = f"{frame.runs.capitalize()}: machine, commit, and a page with every cell."
    yield frame.page(RUNS, "Runs", description, [Section("runs", "All runs", [("table", runs.table(found))])])
    for each in found:
        source = each.source
        yield frame.page(source.address, f"Run {source.name}", runs.description(source), runs.page(each), under=RUNS,
                         data=source.data_address)  # fmt: skip


def _cells(found: Iterable[runs.Described]) -> bytes:
    """Every cell and phase of all runs with its statistics, as CSV."""
    return of_frame(pandas.concat([each.statistics for each in found])).encode("utf-8")
