"""The command `grailbench build`."""

import os
from pathlib import Path
from time import perf_counter

import click

from grailbench.cli import options
from grailbench.cli.printing import note, show
from grailbench.errors import InputError
from grailbench.util.words import decimal_size


@click.command
@click.argument("graph", type=options.GRAPH_OR_FILE)
@click.option("--out", type=options.Output(dir_okay=False, index=True), required=True, help="Save the index there.")
@options.index
@click.option("--seed", type=options.Whole(0), default=1, show_default=True, help="Of random choices.")
@click.option("--memory", type=options.Size(),
              help="Bytes, also as 500MB, that streamed may use, or the closure of core. [default: a quarter of what "
                   "is free]")  # fmt: skip
@click.option("--vertices", type=options.Whole(0),
              help="With streamed: their number, if more than the greatest id says.")  # fmt: skip
@click.option("--folder", type=options.OUT_FOLDER, help="With streamed: a new or empty folder for its files until all "
              "is saved. [default: FILE.build]")  # fmt: skip
@click.option("--resume", is_flag=True,
              help="With streamed: continue an unfinished build of the same edges in that folder.")  # fmt: skip
@options.as_json
def build(graph, out, impl, as_json, **flags):
    """Build an index of GRAPH, a name or a file, and save it to a file for `grailbench ask` and `grailbench.load`.

    With --impl streamed the edges of a file (an edge list or Parquet), or of a name as random-n4000000-k150-s1, are
    sorted on disk and never all in memory, whose use --memory bounds. It needs about 48 bytes a vertex, on disk about
    20 bytes an edge, and a graph without cycles. A build that was killed goes on with --resume.
    'grailbench generate random --stream FILE' writes such a file, 'grailbench ask INDEX U V' asks the index.

    \b
    Examples:
      grailbench build kegg-like --out kegg.index
      grailbench build edges.txt --impl streamed --memory 500MB --out edges.index
    """
    from grailbench import api
    from grailbench.data.imported import named
    from grailbench.graph.generate.uniform import parse_random

    start = perf_counter()
    stages: dict = {}
    if impl == "streamed" and (os.path.isfile(graph) or parse_random(graph) is not None):
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
    line = (
        f"{out}: {record['implementation']}, {record['vertices']:,} vertices, {record['edges']:,} edges, "
        f"{decimal_size(record['bytes'])}, {record['seconds']:.1f} s"
    )
    show(as_json, [record | ({"stages": stages} if stages else {})], [line])


def _streamed(graph: str, out: str, flags: dict):
    from grailbench.api import load
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
    return load(out), stages
