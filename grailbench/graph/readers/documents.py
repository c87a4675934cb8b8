"""Reads graphs in JSON, and what package managers lock.

JSON: node-link of NetworkX and d3, JSON Graph Format, Cytoscape.js, the dependencies of a CycloneDX or SPDX bill of
materials, and npm's package-lock.json. Lock files in TOML: Cargo's, uv's and Poetry's. An edge goes from a package to
one that it depends on, and its kind is what the file says of that: `devDependencies`, the type of a relationship, the
scope of the component that is needed. Packages are named alone if they are locked in one version, else as
`name@version`.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.cells import decoded, parsing
from grailbench.graph.readers.gather import Gathered, counted
from grailbench.graph.readers.text import Found
from grailbench.util.files import REFETCH
from grailbench.util.words import count

_LINKS = ("links", "edges")
_DEPENDENCIES = ("dependencies", "optionalDependencies", "devDependencies", "peerDependencies")
_LOCKED = ("dependencies", "optional-dependencies", "dev-dependencies")
_TO_DEPENDENCY = "edges go from a package to what it depends on"


def read_json(text: np.ndarray, kind: str | None = None) -> Found:
    """Reads a graph in JSON (uint8[size]). Raises InputError if it is malformed or of no kind that is read.

    kind  the attribute of edges that is their kind; None for a relation, an interaction, or the kind of a dependency
    """
    with parsing("JSON", REFETCH):
        whole = json.loads(decoded(text))
    top = whole if isinstance(whole, dict) else {}
    top = top["sbom"] if isinstance(top.get("sbom"), dict) else top  # as GitHub's interface gives SPDX
    read = next((read for keys, read in _READERS.items() if all(key in top for key in keys)), None)
    if read is None:
        keys = ", ".join(list(top)[:6]) or type(whole).__name__
        remedy = (
            "nodes with links or edges, graph, elements, or a bill of materials; package-lock.json of npm 7 or newer"
        )
        raise InputError(f"JSON of no kind that is read: {keys[:80]}", remedy=remedy)
    if kind is not None and read in (_cyclonedx, _spdx, _npm):
        raise InputError(f"--kind {kind[:60]}: {read.__doc__} has kinds of its own", remedy="leave out --kind")
    gathered = Gathered(kind)
    with parsing(f"a graph in JSON ({read.__doc__})"):
        return gathered.found(*read(top, gathered))


def _node_link(top: dict, gathered: Gathered) -> Iterable[str]:
    """node-link"""
    nodes, links = top["nodes"], next(top[key] for key in _LINKS if key in top)
    names = [_text(node.get("id", node.get("name")) if isinstance(node, dict) else node) for node in nodes]
    directed = top.get("directed", True)
    for name in names:
        gathered.vertex(name)
    ends = [(_end(link, "source", "from"), _end(link, "target", "to")) for link in links]
    places = {str(place): name for place, name in enumerate(names)}
    by_place = any(_text(end) not in gathered.vertices for pair in ends for end in pair)
    if by_place and not all(_text(end) in places for pair in ends for end in pair):
        unknown = next(_text(end) for pair in ends for end in pair if _text(end) not in gathered.vertices)
        raise InputError(f"a link has the end {unknown[:60]!r}, which is no node")
    for link, pair in zip(links, ends, strict=True):
        source, target = (places[_text(end)] if by_place else _text(end) for end in pair)
        gathered.edge(source, target, not directed, link.get(gathered.kind))
    return ["ends of links are places of nodes, from 0"] if by_place else []


def _json_graph(top: dict, gathered: Gathered) -> Iterable[str]:
    """JSON Graph Format"""
    graphs = top["graphs"] if "graphs" in top else [top["graph"]]
    for graph in graphs:
        nodes = graph.get("nodes", {})
        for name in nodes if isinstance(nodes, dict) else (node["id"] for node in nodes):
            gathered.vertex(_text(name))
        for edge in graph.get("edges", ()):
            directed = edge.get("directed", graph.get("directed", True))
            kind = edge.get(gathered.kind or "relation", edge.get("metadata", {}).get(gathered.kind))
            gathered.edge(_text(edge["source"]), _text(edge["target"]), not directed, kind)
    return counted(len(graphs))


def _cytoscape(top: dict, gathered: Gathered) -> Iterable[str]:
    """Cytoscape.js"""
    found = top["elements"]
    elements = found if isinstance(found, list) else [*found.get("nodes", ()), *found.get("edges", ())]
    for data in (element["data"] for element in elements):
        if "source" in data:
            gathered.edge(_text(data["source"]), _text(data["target"]), kind=data.get(gathered.kind or "interaction"))
        else:
            gathered.vertex(_text(data["id"]))
    return []


def _cyclonedx(top: dict, gathered: Gathered) -> Iterable[str]:
    """CycloneDX"""
    scopes: dict[str, str | None] = {}
    for component in _components(top):
        if "bom-ref" in component:
            gathered.vertex(name := _text(component["bom-ref"]))
            scopes[name] = component.get("scope")
    usual = "required" if any(scopes.values()) else None  # as the format says of a component without a scope
    for dependency in top["dependencies"]:
        gathered.vertex(source := _text(dependency["ref"]))
        for target in map(_text, dependency.get("dependsOn", ())):
            gathered.edge(source, target, kind=scopes.get(target) or usual)
    return [_TO_DEPENDENCY]


def _components(part: dict) -> Iterator[dict]:
    """The components of a bill of materials, and those inside them."""
    for component in part.get("components", ()):
        yield component
        yield from _components(component)


def _spdx(top: dict, gathered: Gathered) -> Iterable[str]:
    """SPDX"""
    left_out: Counter[str] = Counter()
    for package in top.get("packages", ()):
        gathered.vertex(_text(package["SPDXID"]))
    for relation in top["relationships"]:
        kind = relation["relationshipType"]
        ends = _text(relation["spdxElementId"]), _text(relation["relatedSpdxElement"])
        if kind == "DEPENDS_ON":
            gathered.edge(*ends, kind=kind)
        elif kind.endswith("DEPENDENCY_OF"):
            gathered.edge(*reversed(ends), kind=kind)
        else:
            left_out[kind] += 1
    others = ", ".join(f"{times} {kind}" for kind, times in left_out.items())
    return [_TO_DEPENDENCY, *([f"relationships left out: {others}"] if others else [])]


def _npm(top: dict, gathered: Gathered) -> Iterable[str]:
    """package-lock.json"""
    packages = top["packages"]
    labels = {path: (each.get("name") or path.rpartition("node_modules/")[2] or "root", each.get("version"))
              for path, each in packages.items()}  # fmt: skip
    names = _versioned(labels)
    for path, package in packages.items():
        gathered.vertex(names[path])
        for kind, wanted in ((key, name) for key in _DEPENDENCIES for name in package.get(key, ())):
            if (found := _installed(path, wanted, packages)) is not None:
                gathered.edge(names[path], names[found], kind=kind)
    return [_TO_DEPENDENCY]


def _installed(path: str, wanted: str, packages: Mapping) -> str | None:
    """The path of the package that one at a path loads by a name: in its own node_modules or in those above."""
    while True:
        found = f"{path}/node_modules/{wanted}".lstrip("/")
        if found in packages:
            return packages[found].get("resolved", found) if packages[found].get("link") else found
        if not path:
            return None  # an optional one that is not installed
        path = path.rpartition("node_modules/")[0].rstrip("/") if "node_modules/" in path else ""


_READERS: dict[tuple[str, ...], Callable[[dict, Gathered], Iterable[str]]] = {
    ("bomFormat", "dependencies"): _cyclonedx,
    ("spdxVersion", "relationships"): _spdx,
    ("lockfileVersion", "packages"): _npm,
    ("nodes", "links"): _node_link,
    ("nodes", "edges"): _node_link,
    ("graph",): _json_graph,
    ("graphs",): _json_graph,
    ("elements",): _cytoscape,
}


def read_lock(text: np.ndarray) -> Found:
    """Reads a lock file in TOML (uint8[size]). Raises InputError if it is malformed or locks no package."""
    gathered, lacking = Gathered(), 0
    with parsing("a lock file in TOML", "of Cargo, uv or Poetry"):
        packages = tomllib.loads(decoded(text))["package"]
        labels = {place: (each["name"], each.get("version")) for place, each in enumerate(packages)}
        names = _versioned(labels)
        places: dict[str, list[int]] = {}
        for place, (name, version) in labels.items():
            for key in (name, f"{name} {version}"):
                places.setdefault(_folded(key), []).append(place)
        for place, package in enumerate(packages):
            gathered.vertex(names[place])
            for wanted, kind in _dependencies(package):
                ends = places.get(_folded(wanted), ())
                lacking += not ends
                for found in ends:
                    gathered.edge(names[place], names[found], kind=kind)
    if {*gathered.kinds} == {"dependencies"}:  # as of Cargo, which does not say more
        gathered.kinds = [None] * len(gathered.kinds)
    left_out = [f"{count(lacking, 'dependency')} left out, as the file does not lock them"] if lacking else []
    return gathered.found(_TO_DEPENDENCY, *left_out)


def _dependencies(package: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a package depends on, and how. Cargo lists 'name version (source)', uv tables, also by groups and extras;
    Poetry has a table of names, some optional."""
    for kind in _LOCKED:
        wanted = package.get(kind, ())
        if isinstance(wanted, Mapping) and kind == "dependencies":
            for name, how in wanted.items():
                some = how if isinstance(how, list) else [how]
                optional = all(isinstance(each, Mapping) and each.get("optional") for each in some)
                yield name, f"{'optional-' * optional}dependencies"
            continue
        for each in [each for part in wanted.values() for each in part] if isinstance(wanted, Mapping) else wanted:
            text = each if isinstance(each, str) else " ".join(each[key] for key in ("name", "version") if key in each)
            yield " ".join(text.split()[:2]), kind


def _folded(name: str) -> str:
    """A name as Python's packages compare them, in which Poetry keeps the case and the signs of who needs one."""
    return re.sub("[-_.]+", "-", name).lower()


def _versioned(labels: Mapping[Any, tuple[str, str | None]]) -> dict[Any, str]:
    """The names of packages by their keys, with their versions where several have one name."""
    times = Counter(name for name, _ in labels.values())
    return {key: name if times[name] == 1 else f"{name}@{version or key}" for key, (name, version) in labels.items()}


def _end(link: Mapping[str, Any], *keys: str) -> Any:
    found = next((link[key] for key in keys if key in link), None)
    return found["id"] if isinstance(found, dict) else found


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"an id {value!r:.60}: text or a whole number is expected")
    return str(value)
