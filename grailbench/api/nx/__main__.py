"""`python -m grailbench.api.nx [GRAPH]` times `has_path` by the backend and by NetworkX itself."""

from __future__ import annotations

import json
import sys

import click

from grailbench.errors import GrailbenchError, MachineLacks
from grailbench.util.screen import put


@click.command()
@click.argument("graph", default="citeseer")
@click.option("--pairs", default=100_000, show_default=True, help="Pairs of each kind.")
@click.option("--sample", default=1_000, show_default=True, help="The first of them, which NetworkX itself answers.")
@click.option("--json", "as_json", is_flag=True, help="JSON, one line a timing.")
def main(graph: str, pairs: int, sample: int, as_json: bool) -> None:
    """Times has_path on GRAPH by NetworkX's backend grailbench and by NetworkX itself."""
    try:
        show(graph, pairs, sample, as_json)
    except GrailbenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)


def show(graph: str, pairs: int, sample: int, as_json: bool) -> None:
    """Prints what `measure` found. Raises its errors, and MachineLacks if NetworkX is not installed."""
    try:
        from grailbench.api.nx.measure import measure, table
    except ModuleNotFoundError as error:
        raise MachineLacks(f"NetworkX is not installed ({error}): pip install 'grailbench[networkx]'") from error
    timings = measure(graph, pairs, sample)
    if as_json:
        click.echo("\n".join(json.dumps(timing.record()) for timing in timings))
    else:
        put([table(timings)])


if __name__ == "__main__":
    main()
