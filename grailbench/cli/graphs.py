"""The commands of graphs: fetch, import, generate, export."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import options
from grailbench.cli.printing import note, sheet, show, table
from grailbench.errors import CheckFailed, InputError
from grailbench.util.visible import quoted, visible
from grailbench.util.words import BLANK, grouped, listing

if TYPE_CHECKING:
    from rich.console import Console

    from grailbench.data.fetch import FetchResult
    from grailbench.data.sources import Progress
    from grailbench.report.table import Table

#: header -> key of the measured value in a record; the published value beside it is in 'published_' + key
COLUMNS = {
    "Vertices": "vertices", "Edges": "edges", "Degree": "degree", "Levels": "levels", "Roots": "roots",
    "Sinks": "sinks", "Max in": "max_in_degree", "Max out": "max_out_degree",
}  # fmt: skip
READ = (
    "gra", "edges", "names", "csv", "tsv", "parquet", "adjlist", "mtx", "metis", "tuwien", "npz", "dot", "graphml",
    "obo", "git", "python",
)  # fmt: skip
WRITTEN = ("tuwien", "edges", "csv", "pairs", "parquet")

# ------------------------------------------------------------------ fetch


@click.command
@click.argument("names", nargs=-1, type=options.FETCHED)
@options.many("--set", options.SET, "A whole set, as small-sparse; may repeat.", "sets")
@click.option("--all", "everything", is_flag=True, help="Every graph, about 425 MB.")
@click.option("--mirror", metavar="DIR-or-URL", help="Try this source first (default: GRAILBENCH_MIRROR).")
@click.option("--offline", is_flag=True, help="Use the cache and folders only, no network.")
@click.option("--jobs", type=options.Whole(1), default=4, show_default=True, help="Downloads side by side.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=10, show_default=True, metavar="SECONDS",
              help="How long to wait for the next 64 KiB of a server.")  # fmt: skip
@options.as_json
def fetch(names, sets, everything, mirror, offline, jobs, timeout, as_json):
    """Fetch graphs by NAME or alias, then count them beside the published tables.

    Without names, the 36 graphs whose checksums are known (8 MB, and 25 MB of the set datalog).
    What is in the cache is not fetched again.
    A file without a known checksum is never called verified.
    A download ends at the registered size (4 GiB where there is none), when less than 64 KiB come in --timeout
    seconds, and after an hour at most; then the next source is tried. A server that asks to wait, is too slow or
    cannot be reached is not asked again.

    \b
    Exit codes: 1 when a count differs from the published one, 2 when a graph could not be had.

    \b
    Examples:
      grailbench fetch
      grailbench fetch kegg human --mirror ~/graphs
      grailbench fetch --set large --jobs 2
    """
    from grailbench.data import fetch
    from grailbench.data.locate import choose
    from grailbench.data.sources import Hosts
    from grailbench.util.screen import error_console

    chosen, hosts = choose(names, sets, everything), Hosts(timeout=timeout)
    with _bars(error_console()) as bars:
        found = [*map(_fetched, fetch.fetch(chosen, mirror, offline, jobs, bars, hosts=hosts))]
    show(as_json, found, _sets(found))
    lacking = [row for row in found if row["status"] in ("missing", "damaged")]
    for reasons in dict.fromkeys(tuple(row["reasons"]) for row in lacking):
        note(f"{', '.join(row['name'] for row in lacking if tuple(row['reasons']) == reasons)}:")
        for reason in reasons:
            note(f"  {reason}")
    if wrong := [row["name"] for row in found if row["matches"] is False]:
        raise CheckFailed(f"counts differ from the published ones: {', '.join(wrong)}")
    if lacking:
        names = listing((row["name"] for row in lacking), 8)
        raise InputError(
            f"{len(lacking)} of {len(found)} graphs could not be had: {names}",
            remedy="--mirror FOLDER-or-URL adds a source; look-alikes, as kegg-like, need none",
        )


def _fetched(result: FetchResult) -> dict:
    """The record of a result: that of `library.describe`, with `status` and `reasons` of the fetch.

    A file that was fetched but cannot be read has the status 'damaged', and its reasons say why.
    """
    from grailbench.data.library import describe

    reasons = list(result.reasons)
    try:
        return describe(result.dataset) | {"status": result.status, "reasons": reasons}
    except InputError as error:
        return {"name": result.name, "set": result.dataset.set, "matches": None,
                "status": "damaged", "reasons": [*reasons, str(error)]}  # fmt: skip


def _sets(found: list[dict]) -> Iterator[Table | str]:
    """A table for each set with its graphs that are in the cache, and remarks below it."""
    here = [row for row in found if row["status"] in ("held", "fetched")]
    for name in dict.fromkeys(row["set"] for row in here):
        of_set = [row for row in here if row["set"] == name]
        printed = any(row["published_vertices"] for row in of_set)
        columns = [("Graph", "name")]
        for header, key in COLUMNS.items():
            columns.append((header, lambda row, key=key: grouped(row[key], "-")))
            if printed and key in ("vertices", "edges", "degree"):
                columns.append(("printed", lambda row, key=key: grouped(row[f"published_{key}"], "-")))
        columns.append(("", lambda row: {True: "✓", False: "✗", None: ""}[row["matches"]]))
        columns.append(("Checksum", lambda row: "verified" if row["verified"] else row["checked"]))
        number = next((f"Table {row['table']}, " for row in of_set if row["table"]), "")
        remarks = [f"  {line}" for line in _remarks(of_set)]
        yield table(
            f"{number}{name}, with the super-root", columns, of_set, [*COLUMNS, "printed"], notes=[*remarks, ""]
        )


def _remarks(of_set: list[dict]) -> Iterator[str]:
    from grailbench.data.cache import CHECKS

    if doubled := [f"{row['name']} {more}" for row in of_set if (more := row["edges"] - row["distinct_edges"])]:
        yield f"duplicate edges, counted here as in print: {', '.join(doubled)}"
    for row in of_set:
        name = row["name"]
        if row["published_vertices"] is None and row["published_file_vertices"] is not None:
            yield (
                f"{name}: {row['published_file_in']} prints {row['published_file_vertices']:,} vertices and "
                f"{row['published_file_edges']:,} edges without the super-root; "
                f"measured {row['file_vertices']:,} and {row['file_edges']:,}"
            )
        if not row["verified"]:
            yield f"{name}: not verified; compared with {CHECKS[row['checked']]}"
        yield from (f"{name}: {erratum}" for erratum in row["errata"])


@contextmanager
def _bars(screen: Console) -> Iterator[Callable[[str], Progress]]:
    """In the block, a progress bar for each download on the terminal of `screen`, none if that is not a terminal; gives
    what makes the `Progress` of a file."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Bars(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:

        class Bar:
            def __init__(self, name: str):
                self._task = bars.add_task(visible(name), total=None)

            total = property(lambda self: None, lambda self, value: bars.update(self._task, total=value or None))

            def update(self, count: int) -> None:
                bars.update(self._task, advance=count)

            def close(self) -> None:
                bars.update(self._task, visible=False)

        yield Bar


# ------------------------------------------------------------------ import


@click.command("import")
@click.argument("path", type=click.Path(allow_dash=True))
@click.option("--name", required=True, metavar="NAME", help="What the graph is called from now on.")
@click.option("--format", type=click.Choice(READ), help="[default: detected from content and name]")
@click.option("--source", metavar="COLUMN",
              help="Of a table: where an edge begins; its name, or its number from 1 with --no-header.")  # fmt: skip
@click.option("--target", metavar="COLUMN", help="Of a table: where an edge ends.")
@click.option("--weight", metavar="COLUMN", help="Of a table: weights, for shortest paths.")
@click.option("--no-header", is_flag=True, help="Of a table: the first line is an edge, columns are 1, 2, ...")
@options.many("--relation", None, "Of an ontology; may repeat. [default: is_a]", "relations", metavar="NAME")
@click.option("--outside", is_flag=True, help="Of a Python tree: imported modules outside of it are vertices too.")
@click.option("--vertices", type=options.Whole(1), help="Of an edge list: as a header that says so.")
@click.option("--renumber", is_flag=True,
              help="Of an edge list: the ids that occur are the vertices, and no other number is.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace another graph imported under this name.")
@options.as_json
def import_(path, name, format, replace, as_json, no_header, **how):
    """Import the graph in the file or folder PATH (also .gz; - is the standard input), so that it can be run under
    NAME.

    \b
    Formats:
      gra     GRAIL's adjacency lists, with or without the line graph_for_greach
      edges   'source target [weight [time]]' a line, in numbers; SNAP and KONECT headers are checked
      names   the same in names: words, or texts with tabs between them
      csv     a table: --source and --target name its columns; default: those named as source and target
      tsv     the same with tabs
      parquet the same in Parquet
      adjlist a line a vertex: its id, then all that it has edges to (networkx.write_adjlist)
      mtx     Matrix Market, coordinate; symmetric gives both directions
      metis   METIS, undirected: both directions
      tuwien  'vertices edges directed' on the first line, then 'source destination weight' a line
      npz     CSR arrays 'offsets' and 'targets', or scipy.sparse.save_npz
      dot     Graphviz; 'graph' gives both directions
      graphml GraphML, with what groups hold; undirected edges give both directions
      obo     an ontology: from child to parent
      git     a folder with a git repository: from commit to parent; all that git calls a revision is an id
      python  a folder with Python sources: from importer to imported module

    A file that is cut off, or that disagrees with its own header, is refused, with its line. So is an edge list whose
    greatest id makes many times more vertices than edges, unless a header or --vertices states the count. Query files
    and messages use the ids of the file, which are numbers or names. Weights that are whole and positive are used for
    shortest paths; a message says so where others are not. parquet, dot and obo need 'grailbench[formats]'.

    \b
    Examples:
      grailbench import my-graph.gra --name mine
      grailbench import web-Google.txt.gz --name web-google --json
      grailbench import people.csv --name people --source follower --target followed
      grailbench import my-project --name history --format git
      sort edges.txt | grailbench import - --name sorted --renumber
    """
    from grailbench.data.imported import import_graph

    if how["vertices"] is not None and how["renumber"]:
        raise click.UsageError("--vertices and --renumber: one of them")
    record = import_graph(path, name, format, replace, header=not no_header, **how).record()
    show(as_json, [record], [*sheet(record), f"next: grailbench run --dataset {quoted(name)}"])


# ------------------------------------------------------------------ generate


@click.command
@click.argument("names", nargs=-1, type=options.LOOK_ALIKE)
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, another graph.")
@click.option("--vertices", type=int, metavar="N", help="Number of vertices of 'random' or 'citations'.")
@click.option("--degree", type=float, metavar="K", help="Edges per vertex of these.")
@click.option("--window", type=int, metavar="W", help="How many vertices back one may cite in 'citations'.")
@click.option("--name", metavar="NAME", help="Name of the graph, for these.")
@click.option("--compare/--no-compare", "compared", default=True, help="Measure the differences from the graph.")
@click.option("--list", "listed", is_flag=True, help="List the look-alikes.")
@click.option("--stream", type=options.Output(dir_okay=False, path_type=Path), help="Of 'random': write a Parquet file "
              "as edges are made, which may be more than memory holds.")  # fmt: skip
@options.as_json
def generate(names, seed, vertices, degree, window, name, compared, listed, stream, as_json):
    """Generate look-alikes (NAMES) or, as 'random', a uniform random DAG, as 'citations' a DAG of citations, and store
    them for runs.

    Graphs of the closure report are NAMES too: KIND-VERTICES, where KIND is path, cycle, star, complete, random-tree or
    scale-free, and KIND-VERTICES-DENSITY for custom and erdos-renyi. Runs make them when they need them.

    Graphs on which an index is needed are NAMES too, as dense-1m-8: docs/datasets.md lists them and their sets.

    A look-alike has its graph's vertices, edges, levels and degrees exactly; how near the rest comes is printed.
    The same name and seed give the same graph on every machine.

    \b
    Examples:
      grailbench generate --list
      grailbench generate kegg-like citeseer-like
      grailbench generate uniprotenc_150-like --no-compare
      grailbench generate random --vertices 250000 --degree 50 --seed 3 --name dense
      grailbench generate random --vertices 4000000 --degree 150 --stream edges.parquet
      grailbench generate citations --vertices 3800000 --degree 4.6 --window 500000
      grailbench generate erdos-renyi-1000-0.1 scale-free-1000
      grailbench generate commits-small layered-small
    """
    from grailbench.data import generating

    if listed:
        columns = {
            "name": "name", "vertices": "vertices", "edges": "edges",
            "positive pairs": lambda row: None if row["positive_rate"] is None else f"{row['positive_rate']:.4%}",
            "counts are": "basis",
        }  # fmt: skip
        title, found = (
            "Look-alikes, counted as in print: those of the thesis with the super-root",
            [*generating.listing()],
        )
        show(as_json, found, [table(title, columns, found, list(columns)[1:4], BLANK)])
    elif stream:
        from grailbench.outofcore.streams import streamed

        record = streamed(names, seed, vertices, degree, stream)
        show(as_json, [record], [f"{stream}: {record['vertices']:,} vertices, {record['edges']:,} edges"])
    else:
        for record in generating.records(names, seed, vertices, degree, window, name, compared):
            show(as_json, [record], account(record))


def account(record: dict) -> list[Table | str]:
    """A generated graph, and a table of its differences from the wanted numbers if there are any."""
    counts, seconds = f"{record['name']}: {record['vertices']:,} vertices, {record['edges']:,} edges", record["seconds"]
    if not record["differences"]:
        return [f"{counts}, {seconds:.2f} s", record["path"]]

    def relative(row: dict) -> str | None:
        share = row["relative"]
        return f"{share:+.2%}" if share else None if share is None else "0"

    columns = {
        "quantity": "quantity", record["basis"] or "wanted": lambda row: grouped(row["wanted"], BLANK),
        "generated": lambda row: grouped(row["generated"], BLANK), "difference": relative,
    }  # fmt: skip
    counted, parts = {row["quantity"]: row["generated"] for row in record["differences"]}, []
    if counted["vertices"] > record["vertices"]:
        edges = f"{counted['edges'] - record['edges']:,} edges"
        parts = [f"Vertices and edges of this table: with the super-root and its {edges}, as print counts them."]
    title = f"{counts} in its file, {seconds:.2f} s"
    return [table(title, columns, record["differences"], list(columns)[1:], BLANK), *parts, record["path"]]


# ------------------------------------------------------------------ export


@click.command
@click.argument("name", type=options.GRAPH)
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
      csv    a table with the same columns, for names of any characters
      pairs  source and target as two 32-bit integers, little-endian; vertices are 0, 1, ...
      parquet  the same as columns 'source' and 'target' (needs the extra formats)
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
