"""Resolving the name of a graph: of the registry, imported, generated, or one that can be generated from its name; and
the path of a file or folder that was imported.

Nothing is opened, fetched, generated or stored here; `library` does that.
"""

import os
import re
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

from grailbench.data import cache
from grailbench.data.registry import LISTED, Dataset, find, registry, sets
from grailbench.errors import InputError
from grailbench.graph.store import Damaged, read_meta
from grailbench.util import paths
from grailbench.util.files import opened
from grailbench.util.visible import quoted
from grailbench.util.words import did_you_mean, listing

FOLDERS = {"synthetic": "generated", "imported": "imported"}  #: folders of the cache by the kind of their graphs
_GENERATED = re.compile(r"\w+-[\w-]+(?:\.[\d-]\S*)?", re.ASCII)  # every name of a graph that can be generated


@dataclass(frozen=True)
class Location:
    """A graph by its canonical name.

    kind     'real' (in the registry), 'synthetic' (generated) or 'imported'
    dataset  its entry in the registry; None for a graph that is not real
    """

    name: str
    kind: Literal["real", "synthetic", "imported"]
    dataset: Dataset | None = None

    @property
    def path(self) -> Path:
        """The path of its graph file, whether the file exists or not."""
        if self.dataset is not None:
            return cache.local_file(self.dataset) or cache.graph_path(self.dataset, self.dataset)
        return paths.cache_dir() / FOLDERS[self.kind] / f"{self.name}.npz"

    @property
    def here(self) -> bool:
        """Whether the graph file exists. Its content is not checked."""
        return self.path.is_file()

    @property
    def vertices(self) -> int | None:
        """Number of vertices of the raw graph, without the super-root; None if it is not known before the graph is
        fetched, generated or read."""
        if self.dataset is not None:
            row = self.dataset.counted or self.dataset.printed(super_root=False)
            after = self.dataset.printed(super_root=True)
            return row.vertices if row is not None else after and after.vertices - 1
        if not self.here:
            return _generate().expected_vertices(self.name)
        try:
            return read_meta(self.path)["vertices"]
        except (InputError, KeyError):
            return None  # opening the file reports what is wrong

    @property
    def meta(self) -> dict | None:
        """The metadata of a graph that was stored here; None if there is none, or it is damaged."""
        try:
            return read_meta(self.path) if self.path.exists() else None
        except Damaged:
            return None


def locate(name: str) -> Location:
    """As `look_up`. Raises InputError with similar names when there is no such graph."""
    if (found := look_up(name)) is not None:
        return found
    if Path(name).is_file():
        raise InputError(
            "is a file; graphs are opened by name", path=name, remedy=f"grailbench import {quoted(name)} --name NAME"
        )
    known = [*registry(), *stored_here(), *_generate().look_alikes()]
    raise InputError(f"no graph is named {name!r}", remedy=did_you_mean(name, known, LISTED))


def look_up(name: str) -> Location | None:
    """The graph of that name, or that was imported from the file or folder of that path; None if there is none.

    Raises InputError as `of_name`, and when a file was imported under several names, or changed since it was imported.
    """
    if (found := of_name(name)) is not None or not os.path.exists(name):
        return found
    if not (mine := imported_from(name)):
        return None
    same = [own for own, meta in mine.items() if is_content_of(name, meta)]
    if len(same) == 1:
        return Location(same[0], "imported")
    if same:
        raise InputError(f"was imported as {listing(same)}", path=name, remedy="name one of them")
    remedy = f"grailbench import {quoted(name)} --name {next(iter(mine))} --replace"
    raise InputError(f"changed since it was imported as {listing(mine)}", path=name, remedy=remedy)


def of_name(name: str) -> Location | None:
    """The graph of that name, or None. The name of an imported graph may be an alias of a dataset, but not its name.

    Raises InputError for the name of a graph that cannot be generated, such as 'path-0'.
    """
    if name in registry():
        return Location(name, "real", registry()[name])
    for kind in FOLDERS:
        if Path(name).name == name and Location(name, kind).here:
            return Location(name, kind)
    if (dataset := find(name)) is not None:
        return Location(dataset.name, "real", dataset)
    made = _generate().generated_name(name) if _GENERATED.fullmatch(name) else None
    return None if made is None else Location(made, "synthetic")


def imported_from(path: str) -> dict[str, dict]:
    """The metadata of each graph that was imported from a file or folder, which need not be there any more, by name."""
    origin = os.path.realpath(path)
    places = (
        Location(each.stem, "imported") for each in sorted((paths.cache_dir() / FOLDERS["imported"]).glob("*.npz"))
    )
    return {place.name: meta for place in places if (meta := place.meta) is not None and meta.get("source") == origin}


def is_content_of(path: str, meta: dict) -> bool:
    """Whether a file or folder has the content that a graph with this metadata was imported from. Raises InputError if
    it cannot be read."""
    opening = opened(path) if os.path.isfile(path) else nullcontext()
    if os.path.isdir(path):
        from grailbench.graph import readers

        opening = readers.opened(path, meta["format"]) if meta["format"] in readers.FOLDERS else opening
    with opening as source:
        return source is not None and source.sha256 == meta["source_sha256"]


def dataset_named(name: str) -> Dataset:
    """The graph of the registry with that name or alias, in any spelling. Raises InputError when there is none."""
    if (dataset := find(name)) is not None:
        return dataset
    found = locate(name)
    raise InputError(f"{found.name} is {found.kind}, so there is nothing to fetch", remedy="runs use it as it is")


def stored_here() -> list[str]:
    """Names of the graphs that were generated or imported on this machine, sorted by folder and name."""
    found = [path.stem for folder in FOLDERS.values() for path in sorted((paths.cache_dir() / folder).glob("*.npz"))]
    return [name for name in found if name not in registry()]


def look_alike_of(name: str) -> str | None:
    """The name of a graph's look-alike; None when there is none."""
    like = f"{name}-like"
    return like if like in _generate().look_alikes() else None


def members() -> dict[str, list[str]]:
    """The graphs of every set by name: the sets of the registry, then those of the catalogue of generated graphs."""
    real = {name: [dataset.name for dataset in found] for name, found in sets().items()}
    return real | {name: list(found.names) for name, found in _generate().catalogue.sets().items()}


def choose(names=(), set_names=(), everything: bool = False) -> list[Dataset]:
    """The selected graphs of the registry, in printed order, each once.

    names       names or aliases
    set_names   names of sets, such as 'small-sparse'
    everything  whether to select all graphs

    Without any of these, the graphs with a known checksum. Raises InputError for an unknown name or set, and for a set
    of generated graphs only.
    """
    known = registry()
    if everything:
        return list(known.values())
    wanted = {dataset_named(name).name for name in names}
    for name in set_names:
        if name not in members():
            raise InputError(f"no set is named {name!r}", remedy=f"choose among {', '.join(sets())}")
        real = {graph for graph in members()[name] if graph in known}
        if not real:
            raise InputError(f"the graphs of {name} are generated: nothing to fetch", remedy="runs generate them")
        wanted |= real
    if not wanted:
        wanted = {dataset.name for dataset in known.values() if dataset.sha256 is not None}
    return [dataset for dataset in known.values() if dataset.name in wanted]


def _generate() -> ModuleType:
    """The generators; they are not imported, with numba, for a graph that is here."""
    from grailbench.graph import generate

    return generate
