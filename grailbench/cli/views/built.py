"""What `grailbench build` does and prints."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

import click

from grailbench import api
from grailbench.cli.views import note, put_json, say
from grailbench.data.imported import named
from grailbench.errors import InputError
from grailbench.graph.generate.uniform import parse_random
from grailbench.util.words import decimal_size

STREAMED = "streamed"


def build(graph: str, out: str, *, impl: str, as_json: bool, **flags) -> None:
    """Builds an index, saves it to `out`, and prints a line or an object of what was made."""
    start = perf_counter()
    stages: dict = {}
    if impl == STREAMED and (os.path.isfile(graph) or parse_random(graph) is not None):
        index, stages = _streamed(graph, out, flags)
    else:
        if flags["folder"] or flags["resume"] or flags["vertices"] is not None:
            raise click.UsageError("--folder, --resume and --vertices are for files with --impl streamed")
        names = ("filters", "threads", "seed", "memory")
        opened = api.Graph.open(*named(graph, note))
        index = api.build(opened, impl, d=flags["dim"], **{name: flags[name] for name in names})
        index.save(out)
    record = {
        "path": out, "implementation": index.implementation, "vertices": index.graph.vertices,
        "edges": index.graph.edges, "bytes": os.path.getsize(out), "seconds": round(perf_counter() - start, 3),
    }  # fmt: skip
    if as_json:
        put_json([record | ({"stages": stages} if stages else {})])
    else:
        say(
            f"{out}: {record['implementation']}, {record['vertices']:,} vertices, {record['edges']:,} edges, "
            f"{decimal_size(record['bytes'])}, {record['seconds']:.1f} s"
        )


def _streamed(graph: str, out: str, flags: dict):
    from grailbench.api.streamed import built, file_of
    from grailbench.graph.mapped import MAGIC
    from grailbench.outofcore.folder import remove
    from grailbench.problems.reachability.index import FILTERS, Params
    from grailbench.util.outputs import link_file

    if flags["filters"] is not None:
        raise InputError("streamed has all filters", remedy="leave out --filters")
    params = Params(flags["threads"], flags["seed"], dim=flags["dim"], filters=FILTERS, memory=flags["memory"] or 0)
    folder = Path(flags["folder"] or f"{out}.build")
    _, stages = built(graph, params, folder, flags["vertices"], flags["resume"], note)
    link_file(file_of(folder), Path(out), over=MAGIC)
    remove(folder)
    return api.load(out), stages
