"""Generated graphs with names of their own, in sets: one TOML file a set in `datasets/generated/`.

A file states what a set stands for, its sources, and for each graph the generator, its parameters, and what was
measured. The set `hard` has no graphs of its own; its members are those of the other sets whose core has `HARD`
vertices or more, so that its closure does not fit the memory of an ordinary machine, not even without chains
(`docs/results/reductions.jsonl`).
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.generate.models import chain, comb, commits, layers, papers, releases
from grailbench.graph.generate.uniform import random_dag, random_digraph
from grailbench.util import paths, settings

HARD = 1_000_000  #: vertices of a core whose packed closure, k^2 / 16 bytes, takes 62.5 GB
MODELS: dict[str, Callable[..., Graph]] = {
    "random": random_dag, "papers": papers, "commits": commits, "releases": releases, "layers": layers,
    "chain": chain, "comb": comb, "digraph": random_digraph,
}  # fmt: skip


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Measured(_Model):
    """What was measured of the graph of seed 1, without the super-root.

    vertices, edges   of the generated graph; a DAG has no duplicate edges
    giant             vertices of the largest strong component; None for a DAG
    levels            vertices on the longest path of the condensed graph
    core              vertices left when sources with at most one child are peeled, repeatedly, then sinks with at most
                      one parent, of the condensed graph
    """

    vertices: int = Field(gt=0)
    edges: int = Field(ge=0)
    giant: int | None = Field(default=None, gt=1)
    levels: int = Field(gt=0)
    core: int = Field(ge=0)


class Made(_Model):
    """A graph of the catalogue.

    model       its generator, one of `MODELS`
    parameters  what the generator takes, without the seed
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    title: str
    model: Literal["random", "papers", "commits", "releases", "layers", "chain", "comb", "digraph"]
    parameters: dict[str, Any]
    measured: Measured

    def graph(self, seed: int = 1) -> Graph:
        """Generates the raw graph."""
        return MODELS[self.model](**self.parameters, seed=seed)


class Set(_Model):
    """A set of generated graphs: its own `graphs`, or `members` of other sets by name; and `real` graphs beside them.

    about    what its graphs stand for and why they are hard
    sources  where the model and its parameters come from
    real     names of graphs of the registry, which are fetched
    """

    set: str
    title: str
    position: int
    about: str
    sources: tuple[str, ...] = ()
    graphs: tuple[Made, ...] = ()
    members: tuple[str, ...] = ()
    real: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the graphs of the set, in its order."""
        return (*(graph.name for graph in self.graphs), *self.members, *self.real)


def folder() -> Path:
    """The folder of the files."""
    return paths.shipped("datasets") / "generated"


def sets() -> dict[str, Set]:
    """The sets by name, in their order. Raises InputError for a faulty file."""
    return read(folder())


def graphs() -> dict[str, Made]:
    """All graphs by name, in the order of the sets."""
    return {graph.name: graph for found in sets().values() for graph in found.graphs}


def set_of(name: str) -> str | None:
    """The set that describes a graph; None for a graph that is not in the catalogue."""
    return next((found.set for found in sets().values() if any(graph.name == name for graph in found.graphs)), None)


def title_of(name: str) -> str:
    """The title of a graph; its name if it is not in the catalogue."""
    made = graphs().get(name)
    return name if made is None else made.title


@cache
def read(where: Path) -> dict[str, Set]:
    """The sets of a folder. Raises InputError naming a file that is faulty, uses a name twice or names an unknown
    member."""
    found = sorted(((settings.read(path, Set), path) for path in where.glob("*.toml")), key=lambda one: one[0].position)
    known: set[str] = set()
    for each, path in found:
        for graph in each.graphs:
            if graph.name in known:
                raise InputError(f"a second graph is named {graph.name!r}", path=path)
            known.add(graph.name)
    for each, path in found:
        for name in each.members:
            if name not in known:
                raise InputError(f"member {name!r}: no set describes it", path=path)
    return {each.set: each for each, _ in found}
