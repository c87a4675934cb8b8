"""`grailbench capacity`: what a graph and a rate of queries take on a machine, predicted."""

from __future__ import annotations

import click

from grailbench.cli import options


@click.command("capacity")
@click.option("--vertices", type=int, metavar="N", help="Vertices of the graph, its strong components counted once.")
@click.option("--edges", type=int, metavar="M", help="Edges, duplicates and those within a component left out.")
@click.option("--depth", type=int, metavar="LEVELS", help="Levels: vertices of a longest path.")
@click.option("--queries-per-second", "rate", type=float, metavar="RATE", help="That are wanted.")
@click.option(
    "--machine", "profile", metavar="PROFILE",
    help="h200, cpu-2core, or a folder that 'grailbench limits --out' wrote. [default: this machine if its limits were "
    "measured, else h200]",
)  # fmt: skip
@click.option(
    "--scanned", type=float, metavar="EDGES",
    help="Edges that a query scans on the average: 'edges_scanned' / 'queries' of 'grailbench report --counters' on a "
    "graph like yours. [default: both where filters decide and as in a random DAG]",
)  # fmt: skip
@click.option("--bandwidth", type=float, default=3.125, show_default=True, metavar="GB/S", help="Of the network.")
@click.option(
    "--latency", type=float, default=50.0, show_default=True, metavar="US", help="Of a message, microseconds."
)
@click.option("--disk", type=float, default=2.0, show_default=True, metavar="GB/S", help="Of a read from the disk.")
@click.option("--check", is_flag=True, help="Print predictions beside recorded runs instead, and fail beyond 30 %.")
@options.as_json
def command(vertices, edges, depth, rate, profile, scanned, bandwidth, latency, disk, check, as_json):
    """Predict how much memory a graph's index takes, how long it takes to build and how many queries a second it
    answers, and on how many machines and GPUs.

    Nothing is run: every figure is predicted, from counters (edges, vertices, levels, edges scanned a query), from the
    ceilings that 'grailbench limits' measured on the machine, and from the network and the disk that you state. The
    constants between the least time that these allow and the time it takes are fitted to recorded runs. Each way of
    doing it is a line, with what limits it and how far off such predictions were.

    With --check, each recorded graph is predicted with constants that were fitted to the other graphs, and stands
    beside what was measured: build, memory and queries, on a processor and on a GPU. This needs the recorded runs of
    a checkout.

    \b
    Exit codes: 1 when --check finds an error beyond 30 %, 2 usage or bad input, 3 when --check finds no recorded runs.

    \b
    Examples:
      grailbench capacity --vertices 50000000 --edges 1000000000 --depth 110 --queries-per-second 200000
      grailbench capacity --vertices 4000000 --edges 17000000 --depth 34 --queries-per-second 1e6 --machine cpu-2core
      grailbench capacity --vertices 500000000 --edges 10000000000 --depth 100 --queries-per-second 1e5 --scanned 20
      grailbench capacity --check
    """
    from grailbench.capacity import plan
    from grailbench.capacity.machine import machine
    from grailbench.errors import InputError

    given = {"--vertices": vertices, "--edges": edges, "--depth": depth, "--queries-per-second": rate}
    if check:
        if any(value is not None for value in [*given.values(), profile, scanned]):
            raise InputError("--check goes without a graph and a machine", remedy="it checks recorded graphs")
        _checked(as_json)
        return
    if missing := [option for option, value in given.items() if value is None]:
        raise InputError(
            f"{', '.join(missing)} missing", remedy="'grailbench info GRAPH' counts vertices, edges and levels"
        )
    demand = plan.Demand(vertices, edges, depth, rate, scanned)
    network = plan.Network(bandwidth, latency / 1e6)
    _put([_table(plan.plan(demand, machine(profile), network, disk))], as_json)


def _table(found):
    from grailbench.report import capacities

    return capacities.ways(found)


def _checked(as_json: bool) -> None:
    """Print the check. Raises CheckFailed if an error is beyond what is promised."""
    from grailbench.capacity import check
    from grailbench.errors import CheckFailed
    from grailbench.report import capacities

    lines = check.checked()
    _put([*capacities.checked(lines), capacities.errors()], as_json)
    if wrong := [line for line in lines if not line.kept]:
        named = ", ".join(f"{line.quantity} of {line.graph} ({capacities.percent(line.error)})" for line in wrong)
        raise CheckFailed(f"beyond {100 * check.WANTED:.0f} %: {named}")


def _put(tables, as_json: bool) -> None:
    from grailbench.report.render.json import json
    from grailbench.report.render.terminal import terminal
    from grailbench.screen import put

    for table in tables:
        if as_json:
            for line in json(table):
                click.echo(line)
        else:
            put(terminal(table))
