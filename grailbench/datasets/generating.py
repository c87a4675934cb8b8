"""What `grailbench generate` does, as records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from grailbench.datasets.imported import check_name
from grailbench.datasets.library import open_graph
from grailbench.errors import InputError
from grailbench.graph import generate
from grailbench.graph.generate.profiles import Profile, measure, save
from grailbench.graph.generate.tune import tune, tune_width

TUNED_BY_ROUNDS = 1_000_000  # edges; larger graphs get a width only


def records(
    names,
    seed: int,
    vertices: int | None,
    degree: float | None,
    window: int | None,
    name: str | None,
    compared: bool,
):
    """Generate and store; yield one record a graph: name, path, vertices, edges, seconds, differences.

    Every name is checked before the first graph is made. Raises InputError.
    """
    model = next((model for model in ("random", "citations") if model in names), None)
    sized = len(names) == 1 and vertices is not None and degree is not None
    if model == "random" and (not sized or window is not None):
        raise InputError("'random' comes alone, with --vertices and --degree")
    if model == "citations" and (not sized or window is None):
        raise InputError("'citations' comes alone, with --vertices, --degree and --window")
    if model is None and (vertices, degree, window, name) != (None, None, None, None):
        raise InputError("--vertices, --degree, --window and --name belong to 'generate random' and 'citations'")
    if not names:
        raise InputError("nothing to generate", remedy="name look-alikes, 'random' or 'citations'; --list shows them")
    if model == "random":
        name = _free(name or f"random-n{vertices}-k{degree:g}-s{seed}")
        yield _record(lambda: generate.made_random(vertices, degree, seed, name), None)
        return
    if model == "citations":
        name = _free(name or f"citations-n{vertices}-k{degree:g}-w{window}-s{seed}")
        yield _record(lambda: generate.made_citations(vertices, degree, window, seed, name), None)
        return
    shapes = {each: _shape(each, seed) for each in names}
    for each, shape in shapes.items():
        if shape is None:
            generate.profile_of(each)
    for each, shape in shapes.items():
        if shape is None:
            yield _record(lambda each=each: generate.made(each, seed), each if compared else None)
        else:
            yield _record(lambda shape=shape: generate.made_shape(shape), None)


def _shape(name: str, seed: int) -> generate.Shape | None:
    """One of the closure report's graphs, with the seed given unless its name has one; None for other names."""
    shape = generate.parse_shape(name)
    return replace(shape, seed=seed) if shape is not None and shape.seed == 1 else shape


def _free(name: str) -> str:
    """The name. Raises InputError when it is that of a known graph, ends in '-like' or is none for a file."""
    check_name(name, beside="imported")
    return name


def _record(make, compare_as: str | None) -> dict:
    start = time.perf_counter()
    path, graph = make()
    seconds = time.perf_counter() - start
    record = {"name": path.stem, "path": str(path), "vertices": graph.vertices, "edges": graph.edges}
    record |= {"seconds": round(seconds, 3), "basis": None, "differences": []}
    if compare_as is not None:
        profile = generate.profile_of(compare_as)
        record["basis"] = profile.basis if profile else "printed"
        record["differences"] = [
            {"quantity": d.quantity, "wanted": d.wanted, "generated": d.generated, "relative": d.relative}
            for d in generate.differences(compare_as, graph)
        ]
    return record


def listing() -> Iterator[dict]:
    """A record a look-alike: name, vertices and edges as printed, basis, positive rate, notes."""
    for name in generate.look_alikes():
        profile = generate.profile_of(name)
        if profile is None:
            vertices, edges = generate.expected(name)
            found = {"name": name, "vertices": vertices, "edges": edges, "basis": "printed"}
            yield found | {"positive_rate": None, "notes": []}
        else:
            vertices, edges = profile.printed
            found = {"name": name, "vertices": vertices, "edges": edges, "basis": profile.basis}
            yield found | {"positive_rate": profile.positive_rate, "notes": list(profile.notes)}


def profile_file(graph: str, folder: Path) -> Path:
    """Measure a graph (a name the library knows), choose its knobs and write NAME.json to a folder."""
    opened = open_graph(graph)
    profile = measure(opened.dag, opened.name, f"sha256 {opened.sha256}")
    profile = _tuned(profile)
    path = folder / f"{opened.name}.json"
    save(profile, path)
    return path


def _tuned(profile: Profile) -> Profile:
    if profile.edges == 0:
        return profile
    return tune(profile) if profile.edges <= TUNED_BY_ROUNDS else tune_width(profile)
