"""Which runs a site shows, how they are called there, and how they are read: one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness import machines, pack, provenance
from grailbench.harness.cells import of_machine, read
from grailbench.report.site.entries import OWN, RECORDED, SUBMITTED, Source
from grailbench.util import paths


class Chosen(NamedTuple):
    """A run that was asked for: its name on the site, its folder or pack, and where it comes from."""

    name: str
    folder: Path
    origin: str


def usual() -> list[Path]:
    """The folders of the runs of a site that names none: the recorded runs of a checkout, else the stored ones.

    Raises InputError if there is neither.
    """
    recorded = [provenance.baselines() / name for name in provenance.manifest()] if paths.checkout() else []
    if found := recorded or results.runs():
        return found
    raise InputError("no run is stored", remedy=f"runs lie in {paths.runs_dir()}; name folders of others")


def found(runs: Iterable[str]) -> list[Path]:
    """The folders of runs by name or place, and the files of packs. Raises InputError for a name that is neither."""
    return [pack.place_of(run) for run in runs]


def chosen(folders: Iterable[Path]) -> list[Chosen]:
    """The runs of these folders, each once. A recorded run is called as in the manifest, another one as its folder,
    with as many folders above it as tell it from the others."""
    unique = list({folder.resolve(): folder for folder in folders})
    recorded = {folder: _recorded_name(folder) for folder in unique}
    others = [folder for folder in unique if recorded[folder] is None]
    taken = {name for name in recorded.values() if name}
    parts = {each: (*each.parts[:-1], pack.name_of(each)) if each.is_file() else each.parts for each in others}
    names: list[str] = []
    for depth in range(1, 1 + max((len(folder.parts) for folder in others), default=0)):
        names = ["/".join(parts[folder][-depth:]) for folder in others]
        if len({*names, *taken}) == len(names) + len(taken):
            break
    own = dict(zip(others, names, strict=True))
    origins = {each: SUBMITTED if each.is_file() else OWN for each in others}
    return [Chosen(own.get(each) or recorded[each], each, origins.get(each, RECORDED)) for each in unique]


def sources(runs: Iterable[Chosen], note: Callable[[str], None] = lambda text: None) -> Iterator[Source]:
    """The sources of some runs, one run in memory at a time; a run of several machines is one source for each.

    note  is told of the runs that are left out because they have no row

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


def _recorded_name(folder: Path) -> str | None:
    """The name of a recorded run, None for another one."""
    if not provenance.is_recorded(folder):
        return None
    return folder.relative_to(provenance.baselines().resolve()).as_posix()
