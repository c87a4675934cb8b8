"""The command `grailbench info`."""

import inspect
import re

import click

from grailbench.cli import options
from grailbench.cli.list import configs, fetched, implementations, made, run
from grailbench.cli.printing import sheet, show
from grailbench.errors import InputError

#: how all vertices and edges of a graph but those of its file are counted
_COUNTED = "condensed, with a super-root and its edges, as print counts; file vertices and edges as in the file"


@click.command
@click.argument("name", default="machine", type=options.ANY)
@options.as_json
def info(name, as_json):
    """Show all that is known of NAME: a dataset, an implementation, a config, a run, or 'machine' (the
    default).

    \b
    Examples:
      grailbench info
      grailbench info kegg
      grailbench info parallel --json
    """
    found = known(name)
    show(as_json, found, [line for i, record in enumerate(found) for line in (*[""] * bool(i), *sheet(record))])


def known(name: str) -> list[dict]:
    """A record for each thing of that name: the machine; or datasets, implementations and configs; or else a run.

    The name of an implementation may be that of a file which describes a program. `kind` says what a record is. Raises
    InputError if there is nothing of that name.
    """
    from grailbench.harness import folder as results
    from grailbench.problems.contract import PROBLEMS, problem

    if name == "machine":
        from grailbench.harness.environment import environment

        return [{"kind": "machine", **environment()}]
    programs = (problem(solved).described(name) for solved in PROBLEMS)
    name = next((program.name for program in programs if program is not None), name)
    dataset = _dataset(name)
    found = [] if dataset is None else [{"kind": "dataset", **dataset}]
    found += [{"kind": "implementation", **record, **_explained(record["problem"], name)}
              for record in implementations() if record["name"] == name]  # fmt: skip
    found += [{"kind": "config", **record} for record in configs(name)]
    if found:
        return found
    try:
        folder = results.find_run(name)
    except InputError as error:
        remedy = "'grailbench list' shows datasets, implementations, configs and runs"
        raise InputError(f"nothing is named {name!r}", remedy=remedy) from error
    return [{"kind": "run", **run(folder)}]


def _explained(solved: str, name: str) -> dict:
    """The explanation of an implementation: `what` it is in a line, its `steps` as sentences, its `cost` in time and
    memory, what is `asked` of it if that is not all, the work `counters` that it may fill, and those `varying`."""
    from grailbench.problems.contract import implementation, problem

    found = implementation(name, solved)
    what, _, rest = inspect.cleandoc(found.__doc__ or "").partition("\n\n")
    part = getattr(found, "sample", None)
    return {
        "what": " ".join(what.split()), "steps": re.split(r"(?<=[.:]) (?=[A-Z`])", " ".join(rest.split())),
        "cost": found.cost or None, "asked": None if part is None else f"the first {part:,} pairs of a query set",
        "counters": [*found.counts, *problem(solved).counts], "varying": [*found.varying] or None,
    }  # fmt: skip


def _dataset(name: str) -> dict | None:
    """The record of a dataset by name or alias, or of a generated or imported graph; None if there is none.

    For a generated or imported graph it has `file_vertices` and `file_edges` of the raw graph, which closures and
    traversals take, how the others are `counted`, what characterizes it and, in words, the `ids` of its file, its
    `weights`, and `notes` of the import; for a graph that is not generated yet its number of vertices only. One of the
    catalogue also has what that says: its `set`, `title`, `model` and `parameters`, and the counts of seed 1 as
    `recorded`.
    """
    from grailbench.data.library import open_graph, open_raw
    from grailbench.data.locate import look_up
    from grailbench.graph.generate import catalogue
    from grailbench.graph.profile import characteristics

    if (found := look_up(name)) is None:
        return None
    if (dataset := found.dataset) is not None:
        record = fetched(dataset)
        here = record["reason"] is None and record["vertices"] is not None
        ids = open_graph(dataset.name).ids.describe() if here else None
        counted = _COUNTED if here else None
        return record | {
            "counted": counted, "ids": ids, "aliases": list(dataset.aliases), "sources": list(dataset.sources)
        }  # fmt: skip
    if not found.here:
        record = {"name": found.name, "set": found.kind, "file_vertices": found.vertices, "here": False}
    else:
        raw = open_raw(found.name)
        record = made(found.name) | characteristics(open_graph(found.name).dag)
        record |= {"file_vertices": raw.vertices, "file_edges": raw.edges, "counted": _COUNTED,
                   "ids": raw.ids.describe(), "weights": raw.weights or "none in the file",
                   "notes": list(raw.notes)}  # fmt: skip
    if (graph := catalogue.graphs().get(found.name)) is not None:
        of = catalogue.set_of(found.name)
        record |= {"set": of, "title": graph.title, "model": graph.model, "parameters": graph.parameters,
                   "recorded": graph.measured.model_dump(), "about": catalogue.sets()[of].about}  # fmt: skip
    return record
