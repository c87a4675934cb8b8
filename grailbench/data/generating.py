"""Generating and listing graphs for `grailbench generate`, as records."""

import time
from collections.abc import Iterator
from dataclasses import replace

from grailbench.data.imported import check_name
from grailbench.errors import InputError
from grailbench.graph import generate
from grailbench.graph.generate import catalogue
from grailbench.graph.generate.profiles import Profile


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
    if model is not None:
        sizes = f"n{vertices}-k{degree:g}" + (f"-w{window}" if model == "citations" else "")
        name = name or f"{model}-{sizes}-s{seed}"
        check_name(name, beside="imported")
        made_of = (vertices, degree, seed, name) if model == "random" else (vertices, degree, window, seed, name)
        of_model = generate.of_random if model == "random" else generate.of_citations
        yield _record(of_model(*made_of), None)
        return
    wanted = []
    for each in names:
        if (shape := generate.parse_shape(each)) is not None:  # the seed is of those whose name has none
            wanted.append(generate.of_shape(replace(shape, seed=seed) if shape.seed == 1 else shape))
        else:
            generate.profile_of(each)
            wanted.append(generate.of_look_alike(each, seed))
    for recipe in wanted:
        yield _record(recipe, recipe.spec.get("like") if compared else None)


def _record(recipe: generate.Recipe, compare_as: str | None) -> dict:
    start = time.perf_counter()
    path, graph = generate.made(recipe)
    seconds = time.perf_counter() - start
    record = {"name": path.stem, "path": str(path), "vertices": graph.vertices, "edges": graph.edges}
    record |= {"seconds": round(seconds, 3), "basis": None, "differences": []}
    if compare_as is not None:
        record["basis"] = _basis(compare_as, generate.profile_of(compare_as))
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
