"""Generating and listing graphs for `grailbench generate`, as records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from grailbench.data.imported import check_name
from grailbench.data.library import BenchGraph
from grailbench.errors import InputError
from grailbench.graph import generate, streams
from grailbench.graph.generate import catalogue
from grailbench.graph.generate.profiles import Profile, measure, save
from grailbench.graph.generate.tune import tune, tune_width

TUNED_BY_ROUNDS = 1_000_000  # edges; for larger graphs only the width is tuned


def records(
    names, seed: int, vertices: int | None, degree: float | None, window: int | None, name: str | None, compared: bool
) -> Iterator[dict]:
    """Generate and store graphs. Yields a record for each: name, path, vertices, edges, seconds, basis, differences.

    All names are checked before the first graph is generated. Raises InputError for unknown names and for options
    that do not go together.
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
        name = name or f"random-n{vertices}-k{degree:g}-s{seed}"
        check_name(name, beside="imported")
        yield _record(lambda: generate.made_random(vertices, degree, seed, name), None)
        return
    if model == "citations":
        name = name or f"citations-n{vertices}-k{degree:g}-w{window}-s{seed}"
        check_name(name, beside="imported")
        yield _record(lambda: generate.made_citations(vertices, degree, window, seed, name), None)
        return
    shapes = {each: _shape(each, seed) for each in names}
    for each, shape in shapes.items():
        if shape is None:
            generate.profile_of(each)  # raises InputError for an unknown name
    for each, shape in shapes.items():
        if shape is None:
            yield _record(lambda each=each: generate.made(each, seed), each if compared else None)
        else:
            yield _record(lambda shape=shape: generate.made_shape(shape), None)


def streamed(names, seed: int, vertices: int | None, degree: float | None, path: Path) -> dict:
    """Writes the edges of a uniform random DAG to a Parquet file as they are made; see `streams.write_parquet`.

    Raises InputError unless 'random' is named alone, with vertices and degree.
    """
    if tuple(names) != ("random",) or vertices is None or degree is None:
        raise InputError("--stream is for 'random' alone, with --vertices and --degree")
    return streams.write_parquet(path, streams.opened(f"random-n{vertices}-k{degree:f}-s{seed}"))


def _shape(name: str, seed: int) -> generate.Shape | None:
    """A graph of the closure report, with the given seed unless its name has one; None for other names."""
    shape = generate.parse_shape(name)
    return replace(shape, seed=seed) if shape is not None and shape.seed == 1 else shape


def _record(make, compare_as: str | None) -> dict:
    start = time.perf_counter()
    path, graph = make()
    seconds = time.perf_counter() - start
    record = {"name": path.stem, "path": str(path), "vertices": graph.vertices, "edges": graph.edges}
    record |= {"seconds": round(seconds, 3), "basis": None, "differences": []}
    if compare_as is not None:
        profile = generate.profile_of(compare_as)
        record["basis"] = _basis(compare_as, profile)
        record["differences"] = [
            {"quantity": d.quantity, "wanted": d.wanted, "generated": d.generated, "relative": d.relative}
            for d in generate.differences(compare_as, graph)
        ]
    return record


def _basis(name: str, profile: Profile | None) -> str:
    """Where the wanted numbers of a graph come from: 'measured', 'assumed', 'printed', or 'seed 1' for a graph of the
    catalogue, whose numbers are those of that seed."""
    if profile is not None:
        return profile.basis
    return "seed 1" if name in catalogue.graphs() else "printed"


def listing() -> Iterator[dict]:
    """A record for each look-alike: name, vertices and edges as printed, basis, positive rate, notes."""
    for name in generate.look_alikes():
        profile = generate.profile_of(name)
        vertices, edges = profile.printed if profile else generate.expected(name)
        yield {
            "name": name,
            "vertices": vertices,
            "edges": edges,
            "basis": _basis(name, profile),
            "positive_rate": profile.positive_rate if profile else None,
            "notes": list(profile.notes) if profile else [],
        }


def profile_file(opened: BenchGraph, folder: Path) -> Path:
    """Measure a graph, tune the parameters of its look-alike, and write NAME.json to `folder`.

    Returns the path of the file.
    """
    profile = measure(opened.dag, opened.name, f"sha256 {opened.sha256}")
    if profile.edges:
        profile = tune(profile) if profile.edges <= TUNED_BY_ROUNDS else tune_width(profile)
    path = folder / f"{opened.name}.json"
    save(profile, path)
    return path
