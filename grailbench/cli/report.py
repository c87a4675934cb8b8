"""The command `grailbench report`."""

from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import note, put

FILES = ("markdown", "csv", "latex")  #: formats that files have


@click.command
@click.argument("run", required=False, type=options.RUN)
@options.many("--table", options.TABLE, "Only this table (2.1-2.6, 6.1-6.6, computation-1, computation-2, cells, "
              "closure, ...); may repeat.", "tables")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["markdown", "csv", "latex", "json"]),
              help="Print this in place of text for people; with --out, write files of it.")  # fmt: skip
@click.option("--out", type=options.OUT_FOLDER, help="Write files into this folder: Markdown and CSV, or --format.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show long tables too, and all of the HTML page, which else has at most 2 MB.",
)
@click.option("--details", is_flag=True, help="Show every cell with its statistics too; other formats have them.")
@click.option("--html", "page", type=options.Output(), is_flag=False, flag_value="", metavar="[=FILE]",
              help="Write figures and tables as one HTML file. [default: report/report.html in the run's "
                   "folder]")  # fmt: skip
@click.option("--reference", metavar="CONFIG", help="Of the HTML's speed-up: a configuration, or words only it has.")
@click.option("--limit", "ceilings", is_flag=False, flag_value="", metavar="[=FILE]",
              help="Add each time as a multiple of the least its counters allow. [default: this machine's 'grailbench "
                   "limits']")  # fmt: skip
@click.option("--counters", "with_counters", is_flag=True, help="Add the work counters of every cell.")
@options.machine
@options.as_json
@options.many("--into", click.Path(path_type=Path), "Renew the marked tables and sentences of this Markdown page, from "
              "the runs that it names; may repeat.", "pages", metavar="PAGE")  # fmt: skip
@click.option("--unstable", is_flag=True, help="Of --into: write numbers of unstable times too, each marked with †.")
@click.option("--check", is_flag=True, help="Of --into: write nothing, fail when a page is not what its runs say.")
def report(
    run, tables, form, out, everything, details, page, reference, ceilings, with_counters, machine, as_json, pages,
    unstable, check,
):  # fmt: skip
    """Show what a run measured, and the printed tables that its cells fit: measured beside printed, and their ratio.

    RUN is a folder or the name of a run ('grailbench list runs'); without it, the latest. First it says who is fastest:
    'X is 2.9 to 3.3 times as fast as Y', over all graphs and on each. A run may have cells of any problems. Tables have
    the graphs of the run; with --table all that are printed. A ratio of measured to printed times crosses machines.
    Tables of more than 40 lines, and those beyond 150 lines in all, are shown with --all, or by name with --table.

    With --format the standard output has Markdown, CSV (of several tables with an empty line between them), LaTeX or a
    JSON object a line. Nothing is written unless --out or --html say so. Into a recorded run (one in results/baselines,
    or that git tracks) nothing is written. The HTML file needs no network: it can be mailed, printed, read on a phone.

    With --into, a Markdown page keeps its numbers from runs: what is marked is made again, the rest stays.

    \b
    A marked place of PAGE.md, and its table in PAGE.toml:
      <!-- grailbench labels -->
      <!-- end -->
    
      [labels]
      run = "fused"                                 # beside the page; else a path or name
      where = {dim = 2, queries = "random-100000"}  # of all cells; also filters, threads, ...
      graphs = ["small-sparse", "uniprotenc_22"]    # sets and names; else those of the run
      [labels.columns]                              # header = "IMPLEMENTATION PHASE key=value ..."
      "one core" = "sequential ready filters=none"
      "GPU" = "gpu-fused ready"
      "ratio" = "one core / GPU"

    A column may also be of best-one-core, best-all-cores or best-cpu, the fastest of the run there, a sum of phases
    (label+transfer), a field (vertices, index_bytes, ...), a counter, or 'printed COLUMN table=6': the
    papers' number. In its place a block may have: say = "... {ratio} ... {ratio.mean}", a sentence of the columns'
    values (also .least, .most, .least_graph, .most_graph, .count, and {ratio@kegg} of one graph);
    figure = "figures/labels", an SVG beside the page, a mark a graph, with 'title', 'caption', 'axis' (or, stacked
    = true, bars of the columns, the last at their ends); a column 'gpu-fused floor' with limits = "limits", a
    folder beside the page, is the least time of `ready`, 'floor/counted' and 'floor/solve' those of a closure;
    table = "2.4", a table of the run's report, or of several runs together: the first's cells, and those that only
    later ones have; runs = [...], a list of runs with commit and command; records = "kept.jsonl"
    in place of a run, a table or a figure of a file of records.
    'groups' makes a line of each group of graphs, of geometric means, 'mean = true' one of all; 'statistic' is
    median, mean or least, 'problem' bfs, closure, and so on.

    \b
    Examples:
      grailbench report
      grailbench report results/runs/2025-01-31-quickstart --table 2.4
      grailbench report --table 2.4 --format csv > table.csv
      grailbench report --html --reference dfs
      grailbench report --counters
      grailbench report --format latex --out paper
      grailbench report --limit=results/baselines/cpu-2core/limits/limits.json
      grailbench report results/runs/2025-01-31-quickstart --out reports
      grailbench report --into docs/results/energy.md --check
      grailbench report --json | jq 'select(.table == "2.4" and .column == "Pure DFS")'
    """
    from grailbench.compare.answer import next_steps
    from grailbench.report import document, floors
    from grailbench.report.render import json

    if pages:
        _renew(pages, unstable, check, click.get_current_context())
        return
    found = document.of_run(run, tables, machine)
    folder, added, form = found.run.folder, [], "json" if as_json else form
    if ceilings is not None:
        ceilings_here = floors.ceilings_for(folder, ceilings or None)
        added.append(floors.table(floors.LIMIT, floors.multiples(found.run.cells, ceilings_here)))
    if with_counters:
        added.append(floors.table(floors.COUNTERS, floors.counters(found.run.cells)))
    written = [] if out is None else document.write(found, out, form if form in FILES else "both", added)
    if page is not None:
        from grailbench.report.page import write

        written.append(write(found, page, reference, out, everything))
    for path in written:
        note(f"written: {path}")
    if form == "json":
        for line in (line for table in [*found.shown, *added] for line in json(table)):
            click.echo(line)
    elif form is None:
        put([*document.show(found, details, everything or bool(tables)), *added,
             *(next_steps(folder) if found.whole else ())])  # fmt: skip
    elif out is None:
        click.echo("\n".join(document.files(found, form, added).values()), nl=False)
    document.check_measured(found)


def _renew(paths: tuple[Path, ...], unstable: bool, check: bool, context: click.Context) -> None:
    """Renew pages; if `check`, write nothing and raise CheckFailed when a page is not current."""
    from grailbench.errors import CheckFailed, InputError
    from grailbench.report.pages import Page, Runs

    given = [each for each in context.command.params if context.get_parameter_source(each.name).name == "COMMANDLINE"]
    if other := [each.human_readable_name.upper() if each.name == "run" else each.opts[0] for each in given
                 if each.name not in ("pages", "unstable", "check")]:  # fmt: skip
        raise InputError(f"--into goes without {' and '.join(other)}", remedy="the page says which runs and tables")
    runs = Runs()
    pages = [Page(path, unstable, runs) for path in paths]
    changed = [page.path for page in pages if not page.current]
    if check and changed:
        raise CheckFailed(f"{', '.join(map(str, changed))}: not what the runs say (grailbench report --into renews it)")
    for page in pages:
        note(f"{'written' if page.write() else 'unchanged'}: {page.path}")
