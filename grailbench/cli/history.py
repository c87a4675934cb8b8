"""`grailbench history`: each cell over the runs of one machine, and its steps."""

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
              help="Only steps of times, of work counters, or of cells lost and found; may repeat.")  # fmt: skip
@click.option("--gate", "gate_file", type=complete.FILE, metavar="FILE",
              help="A gate file of 'grailbench compare': smaller changes are no steps.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(("table", "markdown")), default="table", show_default=True,
              help="For people, or for a page.")  # fmt: skip
@click.option("--out", metavar="DIR", type=options.Output(file_okay=False, path_type=Path),
              help="Write figure and data (SVG, PNG, CSV) into DIR.")  # fmt: skip
@click.option("--html", "page", type=options.Output(), is_flag=False, flag_value="history.html", metavar="[=FILE]",
              help="Write one HTML page. [default: history.html, in --out DIR if given]")  # fmt: skip
@options.as_json
def command(runs, dataset, impl, words, phase, kinds, gate_file, form, out, page, as_json):
    """Show each cell over runs: the medians in the order in which the runs began, and where they make a step.

    RUNS are folders or names of runs; without any, all of results/runs. Runs of one machine make one history; those of
    unlike machines, or of one run on several, are never joined. Times have a step where E-divisive (Matteson and James
    2014, a permutation test) finds one in the medians of twelve runs or more, and the gate of 'grailbench compare' is
    passed; with fewer runs, and for the newest three of more, neighbours are judged as 'grailbench compare' does. Work
    counters are exact: any change is a step. Each step is told with its cell and between which commits it is, the worst
    first.

    It tells and does not judge: 'grailbench compare' is the gate.

    \b
    Exit codes: 0 with and without steps, 2 bad input, 3 when no cell is in two runs of one machine.

    \b
    Examples:
      grailbench history
      grailbench history results/runs/* --impl sequential --phase query
      grailbench history FIRST SECOND THIRD --metric counters --json
      grailbench history --out history --html
    """
    from grailbench.cli.views import history as view
    from grailbench.cli.views import put_json
    from grailbench.compare import runs as compare
    from grailbench.report import history

    found, left_out = view.read(runs)
    gate = compare.gate_of(gate_file, metrics=list(phase))
    told = history.of_runs(found, gate, kinds or history.KINDS, view.wanted(dataset, impl, words), phase)
    view.left_out(left_out)
    if as_json:
        put_json(history.records(told))
    else:
        view.put(told, form)
    view.write(told, out, page)
    told.check()
