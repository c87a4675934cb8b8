"""What a name names: a graph of the registry, one that was imported or generated here, or one whose name says how to
generate it.

This is the one place that decides. It opens, fetches, generates and stores nothing; `library` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grailbench import paths
from grailbench.datasets import cache
from grailbench.datasets.registry import LISTED, Dataset, find, registry, sets
from grailbench.errors import InputError
from grailbench.words import did_you_mean

FOLDERS = {"synthetic": "generated", "imported": "imported"}  #: of the cache, by the kind of graph that each keeps


@dataclass(frozen=True)
class Location:
    """A graph by its one name.

    kind     'real' (of the registry), 'synthetic' (generated) or 'imported'
    dataset  its entry in the registry; None for a graph that is not real
    """

    name: str
    kind: Literal["real", "synthetic", "imported"]
    dataset: Dataset | None = None

    @property
    def path(self) -> Path:
        """Where its graph file lies, or would lie once it was fetched or generated."""
        if self.dataset is not None:
            return cache.local_file(self.dataset) or cache.graph_path(self.dataset, self.dataset)
        return paths.cache_dir() / FOLDERS[self.kind] / f"{self.name}.npz"

    @property
    def here(self) -> bool:
        """Whether that file is there, whatever its content."""
        return self.path.is_file()

    @property
    def vertices(self) -> int | None:
        """Vertices of the raw graph, without the super-root, as far as they are known before it is fetched, generated
        or read."""
        from grailbench.graph import generate
        from grailbench.graph.store import read_meta

        if self.dataset is not None:
            row = self.dataset.counted or self.dataset.printed(super_root=False)
            after = self.dataset.printed(super_root=True)
            return row.vertices if row is not None else after and after.vertices - 1
        if not self.here:
            return generate.expected_vertices(self.name)
        try:
            return read_meta(self.path)["vertices"]
        except (InputError, KeyError):
            return None  # opening it will say what is wrong


def locate(name: str) -> Location:
    """What a name names. Raises InputError with the nearest names when it names nothing."""
    if (found := look_up(name)) is not None:
        return found
    if Path(name).is_file():
        raise InputError("is a file, and graphs go by names", path=name, remedy=f"grailbench import {name} --name NAME")
    raise InputError(f"no graph is named {name!r}", remedy=did_you_mean(name, [*registry(), *available()], LISTED))


def look_up(name: str) -> Location | None:
    """What a name names, or None. An imported graph may bear an alias of a dataset, but no dataset's name.

    Raises InputError for the name of a graph that cannot be generated, such as 'path-0'.
    """
    if name in registry():
        return Location(name, "real", registry()[name])
    for kind in FOLDERS:
        if Path(name).name == name and Location(name, kind).here:
            return Location(name, kind)
    if (dataset := find(name)) is not None:
        return Location(dataset.name, "real", dataset)
    from grailbench.graph import generate

    made = generate.generated_name(name)
    return None if made is None else Location(made, "synthetic")


def dataset_named(name: str) -> Dataset:
    """The graph of the registry of that name or alias, however it is spelled. Raises InputError when there is none."""
    if (dataset := find(name)) is not None:
        return dataset
    found = locate(name)
    raise InputError(f"{found.name} is {found.kind}, so there is nothing to fetch", remedy="runs take it as it is")


def stored_here() -> list[str]:
    """Names of the graphs that were generated or imported on this machine, by folder and name."""
    found = [path.stem for folder in FOLDERS.values() for path in sorted((paths.cache_dir() / folder).glob("*.npz"))]
    return [name for name in found if name not in registry()]


def available() -> list[str]:
    """Names of graphs that can be opened now, real ones first; look-alikes among them, stored or not."""
    from grailbench.graph.generate import look_alikes

    real = [dataset.name for dataset in registry().values() if cache.local_file(dataset) is not None]
    return list(dict.fromkeys([*real, *stored_here(), *look_alikes()]))


def look_alike_of(name: str) -> str | None:
    """The name of a graph's look-alike; None when there is none."""
    from grailbench.graph.generate import look_alikes

    like = f"{name}-like"
    return like if like in look_alikes() else None


def choose(names=(), set_names=(), everything: bool = False) -> list[Dataset]:
    """The graphs of the registry that a user asked for, in printed order, each once.

    names       names or aliases
    set_names   sets, as in 'small-sparse'
    everything  all of them

    Without any of these, the graphs with a known checksum. Raises InputError on an unknown name or set.
    """
    known = registry()
    if everything:
        return list(known.values())
    wanted = {dataset_named(name).name for name in names}
    for name in set_names:
        if name not in sets():
            raise InputError(f"no set is named {name!r}", remedy=f"choose among {', '.join(sets())}")
        wanted |= {dataset.name for dataset in sets()[name]}
    if not wanted:
        wanted = {dataset.name for dataset in known.values() if dataset.sha256 is not None}
    return [dataset for dataset in known.values() if dataset.name in wanted]
