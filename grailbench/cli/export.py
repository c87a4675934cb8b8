"""The command `grailbench export`."""

import click

from grailbench.cli import options
from grailbench.cli.printing import show

WRITTEN = ("tuwien", "edges", "csv", "pairs", "parquet")


@click.command
@click.argument("name", type=options.GRAPH_OR_FILE)
@click.argument("path", type=options.OUT_FILE)
@click.option("--closure", is_flag=True,
              help="Write the transitive closure instead: an edge a pair of two vertices with a path.")  # fmt: skip
@click.option("--counts", is_flag=True, help="Write how many others each vertex reaches, and how many reach it.")
@click.option("--format", type=click.Choice(WRITTEN), help="[default: tuwien; of counts csv]")
@click.option("--impl", metavar="NAME",
              help="What makes the closure: condense-pairs or condense-pairs-gpu; or the counts: counts, counts-gpu, "
                   "or counts-sketch, which estimates. [default: the first]")  # fmt: skip
@click.option("--memory", type=options.Size(zero=True), default=0,
              help="Bytes, also as 8GB, of a block of the closure, on the GPU if it is made there. [default: 64MiB; on "
                   "the GPU what the closure takes]")  # fmt: skip
@options.as_json
def export(name, path, closure, counts, format, impl, memory, as_json):
    """Write the graph NAME to the file PATH. The file is there once it is whole. Edges are in strict order and each
    stands once, so files of equal graphs are equal, but for pairs and parquet. `grailbench import` reads all but pairs.

    \b
    Formats:
      tuwien 'vertices edges directed', then 'source destination weight' a line; vertices are 0, 1, ...
      edges  'source target' a line, also a weight where the graph has some; ids of the file NAME was imported from
             (import a list of names with --format names)
      csv    a table with the same columns, for names of any characters, and the kinds of edges
      pairs  source and target as two 32-bit integers, little-endian; vertices are 0, 1, ...
      parquet  the same as columns 'source' and 'target', and 'kind' where edges have kinds (needs the extra formats)
    Pairs of a closure are written as they are made, in the order of blocks of targets (--memory), so that it may be
    larger than memory.

    A closure has no edge from a vertex to itself, not even where it lies on a cycle: the diagonal is left out.

    With --counts a file has a line per vertex (csv or parquet): its id in the file NAME was imported from, and the
    exact numbers of its descendants and ancestors.

    \b
    Examples:
      grailbench export custom-200-0.05 graph.tuwien
      grailbench export custom-200-0.05 closure.tuwien --closure --json
      grailbench export custom-200-0.05 closure.txt --closure --format edges
      grailbench export random-tree-3000 closure.parquet --closure --format parquet --memory 1MB
      grailbench export kegg-like counts.csv --counts
    """
    if counts:
        if closure or memory:
            raise click.UsageError(f"--counts goes without {'--closure' if closure else '--memory'}")
        from grailbench.problems.counts import export

        record = export.export(name, path, format or "csv", impl or "counts")
        lines = [f"{path}: {record['vertices']:,} vertices ({record['ids']}), {record['pairs']:,} pairs"]
        if record["error"] is not None:
            lines.append(f"estimates, of a standard error of {100 * record['error']:.1f} %")
    else:
        from grailbench.problems.closure import export

        record = export.export(name, path, closure, format or "tuwien", impl or "condense-pairs", memory)
        line = f"{path}: {record['vertices']:,} vertices ({record['written_ids']}), {record['edges']:,} edges"
        lines = [line, *record["notes"]]
    show(as_json, [record], lines)
