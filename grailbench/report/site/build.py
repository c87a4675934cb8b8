"""Writes a site over recorded runs: pages of HTML and files of data that need no network and no server.

The same runs give the same bytes. Runs are read one by one, and only their cells stay in memory.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas

from grailbench.compare.history import of_runs
from grailbench.errors import NothingMeasured
from grailbench.report import history
from grailbench.report.measured import detail
from grailbench.report.page import asset, rendered
from grailbench.report.page.sections import Block, Section
from grailbench.report.render.csv import of_frame
from grailbench.report.render.html import templates
from grailbench.report.site import board, folder, graphs, implementations, runs
from grailbench.report.site.entries import Entry, Source, anchor, by_graph, by_implementation, entries
from grailbench.util.words import count

TITLE = "Reachability benchmarks"
GRAPHS, IMPLEMENTATIONS, RUNS = "graphs/index.html", "implementations/index.html", "runs/index.html"
#: titles and addresses of the pages that every page leads to
NAV = (("Leaderboard", "index.html"), ("Graphs", GRAPHS), ("Implementations", IMPLEMENTATIONS), ("Runs", RUNS),
       ("History", "history.html"), ("How it is measured", "about.html"))  # fmt: skip
CELLS = "data/cells.csv"  #: the address of the file of all cells
Page = tuple[str, bytes]  #: an address and the content


def build(
    sources: Iterable[Source], out: Path, title: str = TITLE, written: Callable[[str], None] = lambda address: None
) -> list[Path]:
    """Write the site of some runs to the folder `out`, whole or not at all. Returns the paths of its files, sorted.

    sources  is read once; of each run only the cells stay in memory
    written  is called with the address of each file that was written

    Raises InputError if `out` has anything else than a site of ours, NothingMeasured without a run, and the errors of
    `sources`.
    """
    with folder.renewed(out) as site:
        found: list[runs.Described] = []
        for source in sources:
            site.write(source.data_address, runs.data(source))
            written(source.data_address)
            found.append(runs.described(source))
        if not found:
            raise NothingMeasured("no run has a row, so there is nothing to show")
        for address, content in pages(found, title):
            site.write(address, content)
            written(address)
    return [Path(out) / address for address in sorted({*site.files, folder.MARK})]


def pages(found: list[runs.Described], title: str = TITLE) -> Iterator[Page]:
    """The files of a site but those of the times of its runs."""
    sources = [each.source for each in found]
    frame, every = Frame(title, count(len(sources), "run")), entries(sources)
    yield CELLS, _cells(sources)
    yield _index(frame, sources, every)
    yield _history(frame, sources)
    yield _about(frame, sources)
    yield from _graphs(frame, every)
    yield from _implementations(frame, every)
    yield from _runs(frame, found)


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
        crumbs = [("Leaderboard", "index.html"), *(item for item in NAV if item[1] == under)] if under else []
        return address, rendered(
            "site/layout.html", (asset("site/site.css"), *styles), (asset("site/site.js"), *scripts), title=title,
            description=description, sections=[each for each in sections if each.blocks], address=address, under=under,
            up="../" * address.count("/"), nav=NAV, crumbs=crumbs, data=data, site=self.title, runs=self.runs,
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


def _index(frame: Frame, sources: list[Source], every: list[Entry]) -> Page:
    machines = count(len({source.hardware for source in sources}), "kind")
    lead = _words("lead", "", frame.runs, count(len(every), "cell"), machines)
    leaderboard = Section("leaderboard", "Leaderboard", [("markup", board.block(every))])
    description = f"Measured times of {frame.runs}; answers are checked before anything is timed."
    return frame.page("index.html", frame.title, description, [Section("what", "What this is", lead), leaderboard],
                      styles=[asset("site/board.css")], scripts=[board.script()])  # fmt: skip


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


def _graphs(frame: Frame, every: list[Entry]) -> Iterator[Page]:
    found = by_graph(every)
    description = f"{count(len(found), 'graph')}, each with what was measured on it."
    yield frame.page(GRAPHS, "Graphs", description, [Section("graphs", "All graphs", graphs.index(every))])
    for name, own in found.items():
        description = f"{count(len(own), 'cell')} of {count(len({e.cell.impl for e in own}), 'implementation')}."
        yield frame.page(own[0].graph_address, name, description, sections_of(graphs.page(name, own)), under=GRAPHS)


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


def _cells(sources: Iterable[Source]) -> bytes:
    """Every cell and phase of all runs with its statistics, as CSV."""
    frames = []
    for source in sources:
        found = detail(source.run.cells)
        cells = [cell for cell in source.run.cells for _ in range(len(cell.phases) or 1)]
        for name, values in (("problem", [cell.problem for cell in cells]), ("cell", list(map(anchor, cells))),
                             ("run", source.name)):  # fmt: skip
            found.insert(0, name, values)
        frames.append(found.astype(object))
    return of_frame(pandas.concat(frames)).encode("utf-8")
