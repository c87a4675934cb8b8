"""Generates synthetic graphs: look-alikes of published graphs, random DAGs, citations and networks, all from a seed.

A look-alike ('kegg-like') has exactly the vertices, edges, roots, levels, degrees and edges between levels of the
original, and nearly its positive rate; `compare` measures the difference. `dag_01-like` to `dag_11-like` are random
DAGs of the sizes in Computation 2020, table 2, which has no dag_07. `shapes` has the kinds of graphs of the closure
report ('erdos-renyi-1000-0.1'), and `networks` has graphs for traversals. `catalogue` has graphs on which an index is
needed, in sets of their own. Graphs are raw: without a super-root, and with as many duplicate edges as the original
file has.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.generate import catalogue
from grailbench.graph.generate.models import citations, parse_citations
from grailbench.graph.generate.networks import NETWORKS, network
from grailbench.graph.generate.profiles import Difference, Profile, compare, load, profiles_dir
from grailbench.graph.generate.shapes import Shape, parse_shape
from grailbench.graph.generate.uniform import parse_random, random_dag
from grailbench.util import paths
from grailbench.util.words import did_you_mean

GENERATOR = 1  # increase it when the arrays of any seed change
HOME_MADE = {  # vertices and edges from Computation 2020, table 2, which has no dag_07
    "dag_01": (250_000, 12_518_774),
    "dag_02": (250_000, 24_987_505),
    "dag_03": (500_000, 24_959_258),
    "dag_04": (500_000, 49_918_815),
    "dag_05": (750_000, 37_552_465),
    "dag_06": (750_000, 75_003_619),
    "dag_08": (1_000_000, 50_009_975),
    "dag_09": (1_000_000, 99_934_520),
    "dag_10": (1_500_000, 75_024_132),
    "dag_11": (1_500_000, 149_989_194),
}
_SUFFIX = "-like"


@cache
def look_alikes() -> list[str]:
    """The names that `like` accepts: look-alikes such as 'kegg-like', the home-made DAGs, the networks and the
    graphs of the catalogue."""
    profiled = sorted(path.stem for path in profiles_dir().glob("*.json"))
    return [*(name + _SUFFIX for name in (*profiled, *HOME_MADE)), *NETWORKS, *catalogue.graphs()]


def profile_of(name: str) -> Profile | None:
    """The profile of a look-alike, or None for any other graph. Raises InputError on an unknown name."""
    base = _base(name)
    return None if base in HOME_MADE or name in NETWORKS or name in catalogue.graphs() else load(base)


def like(name: str, seed: int = 1) -> Graph:
    """Generates the raw graph with that name ('kegg-like') and seed. Raises InputError if one of them is invalid."""
    from grailbench.graph.generate.alike import alike

    base, seed = _base(name), checked_seed(seed)
    if name in NETWORKS:
        return network(name, seed)
    if name in catalogue.graphs():
        return catalogue.graphs()[name].graph(seed)
    if base in HOME_MADE:
        vertices, edges = HOME_MADE[base]
        return random_dag(vertices, edges / vertices, seed)
    return alike(load(base), seed)


def differences(name: str, graph: Graph) -> list[Difference]:
    """Compares a look-alike with what is known about the original graph."""
    profile = profile_of(name)
    if profile is not None:
        return compare(profile, graph)
    vertices, edges = expected(name)
    return [Difference("vertices", vertices, graph.vertices), Difference("edges", edges, graph.edges)]


def expected(name: str) -> tuple[int, int]:
    """Vertices and edges of a home-made DAG, a network or a graph of the catalogue.

    Both directions of a network's edges are counted; 0 edges means that their number depends on the seed. The edges of
    a graph of the catalogue are those of seed 1.
    """
    if name in catalogue.graphs():
        return catalogue.graphs()[name].measured.vertices, catalogue.graphs()[name].measured.edges
    if name in NETWORKS:
        return NETWORKS[name].vertices, 2 * (NETWORKS[name].edges or 0)
    return HOME_MADE[_base(name)]


@dataclass(frozen=True)
class Recipe:
    """How a graph is generated.

    name      the name that it is stored under
    spec      what its stored file says of how it was made
    vertices  their number; None for look-alikes, whose profiles say it
    make      generates the raw graph; raises InputError if a number is out of range
    """

    name: str
    spec: dict
    vertices: int | None
    make: Callable[[], Graph]


def of_look_alike(name: str, seed: int = 1) -> Recipe:
    """A graph that `like` knows. A seed other than 1 is part of the stored name: 'kegg-like-seed2'."""
    stored = name if seed == 1 else f"{name}-seed{seed}"
    return Recipe(stored, {"like": name, "seed": seed}, None, lambda: like(name, seed))


def of_shape(shape: Shape) -> Recipe:
    """A graph of the closure report."""
    return Recipe(shape.name, {"shape": shape.name}, shape.vertices, shape.graph)


def of_random(vertices: int, degree: float, seed: int, name: str) -> Recipe:
    """A uniform random DAG."""
    spec = {"random": {"vertices": vertices, "degree": degree}, "seed": seed}
    return Recipe(name, spec, vertices, lambda: random_dag(vertices, degree, checked_seed(seed)))


def of_citations(vertices: int, degree: float, window: int, seed: int, name: str) -> Recipe:
    """Synthetic citations."""
    spec = {"citations": {"vertices": vertices, "degree": degree, "window": window}, "seed": seed}
    return Recipe(name, spec, vertices, lambda: citations(vertices, degree, window, checked_seed(seed)))


def recipe_of(name: str) -> Recipe | None:
    """How the graph is made that a name describes completely: a look-alike, a graph of the closure report, a random DAG
    or citations; None for any other name. Raises InputError if a number in it is out of range."""
    if name in look_alikes():
        return of_look_alike(name)
    if (shape := parse_shape(name)) is not None:
        return of_shape(shape)
    if (sizes := parse_citations(name)) is not None:
        return of_citations(*sizes, name)
    if (sizes := parse_random(name)) is not None:
        return of_random(*sizes, name)
    return None


def made(recipe: Recipe) -> tuple[Path, Graph]:
    """Generates a graph and stores it in `cache/generated`; returns its path and the graph.

    The file's meta describes how it was made. Raises InputError if a number is out of range, or if the name is that of
    another graph: an imported one, one that was generated otherwise, or one that can be.
    """
    from grailbench.graph.store import Damaged, read_meta, require_free, save_graph

    name, graph = recipe.name, recipe.make()
    path, imported = (paths.cache_dir() / folder / f"{name}.npz" for folder in ("generated", "imported"))
    spec, known = {**recipe.spec, "generator": GENERATOR}, recipe_of(name)

    def check() -> None:
        if known is not None and known.spec != recipe.spec:
            raise InputError(f"{name!r} is the name of another graph that can be generated", remedy="another --name")
        require_free(name, "imported", f"another name, or delete {imported}")
        with suppress(Damaged):
            before = read_meta(path).get("spec", {}) if path.exists() else {}
            if before and before | {"generator": GENERATOR} != spec:
                remedy = f"another name, or delete {path}"
                raise InputError(f"{name!r} was generated before, with other parameters", remedy=remedy)

    about = {"name": name, "kind_of": "synthetic", "spec": spec, "by_name": known is not None}
    save_graph(path, graph, about, check=check)
    return path, graph


def generated_name(name: str) -> str | None:
    """The canonical spelling of a name that `recipe_of` knows; None for any other name. Raises InputError if a number
    in it is out of range."""
    found = recipe_of(name)
    return None if found is None else found.name


def expected_vertices(name: str) -> int | None:
    """The number of vertices of the graph that a name describes completely; None for any other name."""
    found = recipe_of(name)
    if found is None or found.vertices is not None:
        return found and found.vertices
    profile = profile_of(name)
    return expected(name)[0] if profile is None else profile.vertices


def _base(name: str) -> str:
    if name in look_alikes():
        return name.removesuffix(_SUFFIX)
    hint = did_you_mean(name, look_alikes(), "'grailbench generate --list' shows them")
    raise InputError(f"no look-alike is named {name!r}", remedy=hint)


def checked_seed(seed: int) -> int:
    """Returns the seed. Raises InputError if it is out of range."""
    if not 0 <= seed < 2**63:
        raise InputError(f"seed {seed}: a number from 0 to 2**63 - 1")
    return seed
