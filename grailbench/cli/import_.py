"""The command `grailbench import`."""

import click

from grailbench.cli import options
from grailbench.cli.printing import sheet, show
from grailbench.util.visible import quoted

READ = (
    "gra", "edges", "names", "csv", "tsv", "parquet", "adjlist", "mtx", "metis", "tuwien", "dimacs", "npz", "dot",
    "gml", "graphml", "gexf", "pajek", "tgf", "sif", "ntriples", "json", "lock", "obo", "git", "python",
)  # fmt: skip


@click.command("import")
@click.argument("path", type=click.Path(allow_dash=True))
@click.option("--name", required=True, metavar="NAME", help="What the graph is called from now on.")
@click.option("--format", type=click.Choice(READ), help="[default: detected from content and name]")
@click.option("--source", "--source-column", "source", metavar="COLUMN",
              help="Of a table: where an edge begins; its name, or its number from 1 with --no-header. Of names: which "
                   "word of a line.")  # fmt: skip
@click.option(
    "--target", "--target-column", "target", metavar="COLUMN", help="Of a table, or of names: where an edge ends."
)
@click.option("--weight", metavar="COLUMN", help="Of a table: weights, for shortest paths.")
@click.option("--kind", metavar="COLUMN",
              help="Of a table: kinds of edges, for ask --only; of names: which word of a line; of dot, gml, "
                   "graphml, gexf, json: which attribute of edges.")  # fmt: skip
@click.option("--no-header", is_flag=True, help="Of a table: the first line is an edge, columns are 1, 2, ...")
@options.many("--relation", None, "Of an ontology; may repeat. [default: is_a]", "relations", metavar="NAME")
@click.option("--outside", is_flag=True, help="Of a Python tree: imported modules outside of it are vertices too.")
@click.option("--vertices", type=options.Whole(1), help="Of an edge list: as a header that says so.")
@click.option("--renumber", is_flag=True,
              help="Of an edge list: the ids that occur are the vertices, and no other number is.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace another graph imported under this name.")
@options.as_json
def import_(path, name, format, replace, as_json, no_header, **how):
    """Import the graph in the file or folder PATH, so that it can be run under NAME. A file may be compressed or alone
    in an archive (.gz, .bz2, .xz, .zst, .tar, .zip); - is the standard input.

    \b
    Formats:
      gra     GRAIL's adjacency lists, with or without the line graph_for_greach
      edges   'source target [weight [time]]' a line, in numbers; SNAP and KONECT headers are checked
      names   the same in names: words, or texts with tabs between them
      csv     a table: --source and --target name its columns; default: those named as source and target
      tsv     the same with tabs
      parquet the same in Parquet
      adjlist a line a vertex: its id, then all that it has edges to (networkx.write_adjlist)
      mtx     Matrix Market; symmetric gives both directions
      metis   METIS, undirected: both directions
      tuwien  'vertices edges directed' on the first line, then 'source destination weight' a line
      dimacs  'p sp' and arcs 'a u v weight', or 'p edge' and edges 'e u v', which give both directions
      npz     CSR arrays 'offsets' and 'targets', or scipy.sparse.save_npz
      dot     Graphviz; 'graph' gives both directions
      gml     GML, by labels if each node has its own; undirected edges give both directions
      graphml GraphML, with what groups hold; undirected edges give both directions
      gexf    GEXF, of Gephi, likewise
      pajek   Pajek: arcs, edges in both directions, by labels if each vertex has its own
      tgf     Trivial Graph Format, likewise
      sif     'source relation target ...' a line, of Cytoscape; relations are kinds of edges
      ntriples N-Triples, N-Quads: from subject to object, but for literals; predicates are kinds of edges
      json    node-link, JSON Graph Format, Cytoscape.js, CycloneDX, SPDX, npm's package-lock.json
      lock    lock files of Cargo, uv and Poetry: from a package to what it depends on
      obo     an ontology: from child to parent
      git     a folder with a git repository: from commit to parent; all that git calls a revision is an id
      python  a folder with Python sources: from importer to imported module

    A file that is cut off, or that disagrees with its own header, is refused, with its line. So is an edge list whose
    greatest id makes many times more vertices than edges, unless a header or --vertices states the count. Query files
    and messages use the ids of the file, which are numbers or names. Weights that are whole and positive are used for
    shortest paths; a message says so where others are not. parquet and dot need the extra 'formats'.

    \b
    Examples:
      grailbench import my-graph.gra --name mine
      grailbench import web-Google.txt.gz --name web-google --json
      grailbench import people.csv --name people --source follower --target followed
      grailbench import needs.csv --name needs --kind scope
      grailbench import my-project --name history --format git
      sort edges.txt | grailbench import - --name sorted --renumber
    """
    from grailbench.data.imported import import_graph

    if how["vertices"] is not None and how["renumber"]:
        raise click.UsageError("--vertices and --renumber: one of them")
    record = import_graph(path, name, format, replace, header=not no_header, **how).record()
    show(as_json, [record], [*sheet(record), f"next: grailbench run --dataset {quoted(name)}"])
