"""What a site shows: runs that are read one after the other, their cells, and the addresses of the pages of these.

Addresses are relative to the site's folder and made of names that any file system and web server takes, so that a site
works from a folder as from a server. The same name always gives the same address.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from grailbench.compare.measures import grouped
from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness import machines, pack, provenance
from grailbench.harness.cells import Cell, Run, of_machine, read
from grailbench.problems.contract import PROBLEMS, USUAL
from grailbench.report.table import Column, Table, of_rows
from grailbench.util import paths, words

_SAFE = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,58}[a-z0-9])?")
_OTHERS = re.compile(r"[^a-z0-9]+")
RECORDED, SUBMITTED, OWN = "recorded", "submitted", "own"  #: where a run of a site comes from


class Machine(NamedTuple):
    """The machine of a run, or the run itself where none is known; cells are compared within one alone."""

    name: str
    title: str


@dataclass(frozen=True, eq=False)
class Source:
    """A run of a site: cells of one machine.

    name    unique in the site: 'h200/fused', or the name of the run's folder
    run     the run, as `cells.of_machine` gives it
    origin  one of `RECORDED`, `SUBMITTED` and `OWN`
    """

    name: str
    run: Run
    origin: str = OWN

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"runs/{slug(self.name)}.html"

    @property
    def data_address(self) -> str:
        """The address of the CSV file with every time of it."""
        return f"data/runs/{slug(self.name)}.csv"

    @property
    def hardware(self) -> str:
        """Processor, cores and GPUs."""
        return words.machine({**self.run.environment, "commit": None}, whole=False)

    @cached_property
    def machine(self) -> Machine | None:
        """Its machine; None if it was measured on several, so that it is in no comparison."""
        if self.run.mixed:
            return None
        if self.run.fingerprint is None:
            return Machine(f"run {self.name}", f"{self.hardware} (run {self.name})")
        return Machine(self.run.fingerprint, self.hardware)

    @cached_property
    def entries(self) -> list[Entry]:
        """Its cells, in the order of their first rows."""
        return [Entry(self, cell) for cell in self.run.cells]


@dataclass(frozen=True, eq=False)
class Entry:
    """A cell of a run of a site."""

    source: Source
    cell: Cell

    @property
    def address(self) -> str:
        """The address of its rows: an anchor on the page of its run."""
        return f"{self.source.address}#{anchor(self.cell)}"

    @property
    def graph_address(self) -> str:
        return graph_address(self.cell.dataset)

    @property
    def implementation_address(self) -> str:
        return implementation_address(self.cell.impl, self.cell.problem)


def name_machines(sources: Iterable[Source]) -> None:
    """Gives the machines of some sources names that people chose: of recorded runs that of their folder, 'h200', of
    others their hardware. Where several have the same, as where the software differs, the later ones are numbered."""
    known = grouped((each for each in sources if each.machine), lambda each: each.machine.name)
    taken: dict[str, int] = {}
    for own in known.values():
        folders = [each.name.partition("/")[0] for each in own if each.origin == RECORDED and "/" in each.name]
        name = max(dict.fromkeys(folders), key=folders.count) if folders else own[0].hardware
        taken[name] = taken.get(name, 0) + 1
        number = f", setup {taken[name]}" if taken[name] > 1 else ""
        title = f"{name}{number}: {own[0].hardware}" if folders else name + number
        for each in own:
            each.__dict__["machine"] = Machine(each.machine.name, title)  # in place of what `machine` says


def entries(sources: Iterable[Source]) -> list[Entry]:
    """The cells of all runs, run by run."""
    return [entry for source in sources for entry in source.entries]


def by_graph(found: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries by graph, in alphabetical order."""
    return dict(sorted(grouped(found, lambda entry: entry.cell.dataset).items()))


def by_implementation(found: Iterable[Entry]) -> dict[tuple[str, str], list[Entry]]:
    """The entries by problem and implementation, in the order of the problems and then in alphabetical order."""
    groups, problems = grouped(found, lambda entry: (entry.cell.problem, entry.cell.impl)), list(PROBLEMS)
    return dict(sorted(groups.items(), key=lambda each: (problems.index(each[0][0]), each[0][1])))


def first_named(entry: Entry) -> tuple[str, str]:
    """The order of equally fast entries: by configuration and run."""
    return entry.cell.label, entry.source.name


def linked_table(name: str, title: str, columns: list[Column], things: list, **more: Any) -> Table:
    """A table of a page with a line for each thing; columns with a `text` are of numbers."""
    return of_rows(name, title, columns, [{}] * len(things), things, records=[], **more)


# ------------------------------------------------------------------ addresses


def slug(name: str) -> str:
    """A file name for any text: the text itself where it is one already (lower case letters, digits, '.', '_', '-'),
    else what is left of it and eight hex digits of its hash, so that no two texts have the same."""
    if _SAFE.fullmatch(name) and name != "index":
        return name
    left = _OTHERS.sub("-", name.lower()).strip("-")[:40].strip("-")
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{left}-{digits}" if left else digits


def anchor(cell: Cell) -> str:
    """The name of a cell on the page of its run, which depends on its problem, graph and configuration alone."""
    return f"c{hashlib.sha256(repr(cell.key).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def link(address: str) -> str:
    """An address of the site as its pages in folders have it."""
    return f"../{address}"


def graph_address(name: str) -> str:
    """The address of the page of a graph."""
    return f"graphs/{slug(name)}.html"


def implementation_address(name: str, problem: str = USUAL) -> str:
    """The address of the page of an implementation; the same name may stand for other things in other problems."""
    return f"implementations/{slug(name if problem == USUAL else f'{problem}-{name}')}.html"


# ------------------------------------------------------------------ which runs


class Chosen(NamedTuple):
    """A run of the command line: its name on the site, its folder or pack, and where it comes from."""

    name: str
    folder: Path
    origin: str


def chosen(runs: Iterable[str | Path]) -> list[Chosen]:
    """The runs of a site, each once: by name, folder or file of a pack; if none is named, the recorded runs of a
    checkout, else the stored ones. A recorded run is called as in the manifest, another one as its folder, with as many
    folders above it as it takes to differ from the others.

    Raises InputError for a name that is none of these, and if no run is named or stored.
    """
    folders = [run if isinstance(run, Path) else pack.place_of(run) for run in runs] or _usual()
    unique = list({folder.resolve(): folder for folder in folders})
    recorded = {each: each.relative_to(provenance.baselines().resolve()).as_posix()
                for each in unique if provenance.is_recorded(each)}  # fmt: skip
    others = [folder for folder in unique if folder not in recorded]
    parts = [(*each.parts[:-1], pack.name_of(each)) if each.is_file() else each.parts for each in others]
    names: list[str] = []
    for depth in range(1, 1 + max(map(len, parts), default=0)):
        names = ["/".join(each[-depth:]) for each in parts]
        if len({*names, *recorded.values()}) == len(unique):
            break
    own = {each: Chosen(name, each, SUBMITTED if each.is_file() else OWN)
           for each, name in zip(others, names, strict=True)}  # fmt: skip
    return [own.get(each) or Chosen(recorded[each], each, RECORDED) for each in unique]


def _usual() -> list[Path]:
    recorded = [provenance.baselines() / name for name in provenance.manifest()] if paths.checkout() else []
    if found := recorded or results.runs():
        return found
    raise InputError("no run is stored", remedy=f"runs lie in {paths.runs_dir()}; name folders of others")


def sources_of(runs: Iterable[Chosen], note: Callable[[str], None] = lambda text: None) -> Iterator[Source]:
    """The sources of some runs, one run in memory at a time; a run of several machines is one source for each.

    note  is called with a sentence for each run that is left out because it has no row

    The folder of a source from a pack is gone once the next one is asked for. Raises InputError, which names file and
    line, for a run that is damaged, and for a file that is no whole pack.
    """
    for name, place, origin in runs:
        with pack.folder_of(place) as folder:
            run = read(folder)
            if not run.rows:
                note(f"left out, as it has no row: {name}")
                continue
            stored = run.environment if run.stored is None else run.stored
            on = [machines.named(each) for each in machines.by_machine(stored, run.rows)]
            if len(on) == 1:
                yield Source(name, of_machine(run), origin)
                continue
            for machine in on:
                yield Source(f"{name} on {machine}", of_machine(run, machine), origin)
