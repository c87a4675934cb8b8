"""`grailbench history`: each cell over the runs of one machine, and what `compare` marks."""

from __future__ import annotations

from pathlib import Path

import click

from grailbench.cli import complete, options


@click.command("history")
@click.argument("runs", nargs=-1, type=complete.RUN)
@click.option("--dataset", multiple=True, type=complete.GRAPH, metavar="NAME", help="Only this graph; may repeat.")
@click.option("--impl", multiple=True, type=complete.IMPLEMENTATION, metavar="NAME",
              help="Only this implementation; may repeat.")  # fmt: skip
@click.option("--cell", "words", multiple=True, metavar="WORDS",
              help="Only configurations whose name has these words, as 'd=2 dfs'; may repeat.")  # fmt: skip
@click.option("--phase", multiple=True, type=complete.METRIC, metavar="PHASE",
              help="Times of this phase, or label/NAME for a part; may repeat. [default: the gate's]")  # fmt: skip
@click.option("--metric", "kinds", multiple=True, type=click.Choice(("time", "counters", "status")),
              help="Mark only times, work counters, or cells lost and found; may repeat.")  # fmt: skip
@click.option("--gate", "gate_file", type=complete.FILE, metavar="FILE",
              help="A gate file of 'grailbench compare': smaller changes are not marked.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(("table", "markdown")), default="table", show_default=True,
              help="For people, or for a page.")  # fmt: skip
@click.option("--out", metavar="DIR", type=options.Output(file_okay=False, path_type=Path),
              help="Write figure and data (SVG, PNG, CSV) into DIR.")  # fmt: skip
@click.option("--html", "page", type=options.Output(), is_flag=False, flag_value="history.html", metavar="[=FILE]",
              help="Write one HTML page. [default: history.html, in --out DIR if given]")  # fmt: skip
@options.as_json
def command(runs, dataset, impl, words, phase, kinds, gate_file, form, out, page, as_json):
    """Show each cell over runs: its medians in the order in which the runs began, and what 'grailbench compare' marks.

    RUNS are folders or names of runs; without any, all of results/runs. Runs of one machine make one history; those of
    unlike machines, or of one run on several, are never joined. Several runs of one commit, and of one code of a
    plug-in, are one point with its spread. Between two points something is marked if 'grailbench compare' finds it
    between each run of the one and each of the other: times beyond the gate, work counters, lost cells, other answers.
    What is marked is listed first, the worst on top, then each cell over runs.

    It only shows: 'grailbench compare' is the gate.

    \b
    Exit codes: 0 with and without marks, 2 bad input, 3 when no cell is in two runs of one machine.

    \b
    Examples:
      grailbench history
      grailbench history results/runs/* --impl sequential --phase query
      grailbench history FIRST SECOND THIRD --metric counters --json
      grailbench history --out history --html
    """
    from grailbench.cli.views import history as view
    from grailbench.cli.views import put_json
    from grailbench.compare import history
    from grailbench.compare import runs as compare
    from grailbench.report.history import records

    stored, left_out = view.read(runs)
    gate = compare.gate_of(gate_file, metrics=list(phase))
    found = history.of_runs(stored, gate, kinds or history.KINDS, view.wanted(dataset, impl, words), phase)
    view.left_out(left_out)
    if as_json:
        put_json(records(found))
    else:
        view.put(found, form)
    view.write(found, out, page)
    found.check()
