"""The command `grailbench verify`."""

import click

from grailbench.cli import options
from grailbench.cli.printing import put


@click.command
@options.matrix
@options.checks
@options.as_json
def verify(as_json, sample, oracle_seconds, jobs, no_fetch, simulate, **flags):
    """Check the answers and labels of every cell, and time nothing.

    The oracle answers every query: from the whole transitive closure up to 50,000 vertices, beyond that by a sweep of
    the condensed graph from the sources of the queries. Its answers are stored in the cache. --sample and
    --oracle-seconds have it answer fewer.

    \b
    Exit code 1 when a cell is wrong or fails.

    \b
    Examples:
      grailbench verify --set small-sparse --impl sequential --impl parallel --search dfs --search bfs
      grailbench verify --dataset kegg --impl gpu-fused --simulate --count 1000
      grailbench verify --dataset uniprotenc_22 --queries balanced --sample 5000
    """
    from grailbench.cli import progress as console
    from grailbench.harness import runner
    from grailbench.harness.prepare import plan_of
    from grailbench.problems.contract import Checks

    found, _ = plan_of(flags)
    checking = Checks(sample, oracle_seconds, jobs=jobs)
    with console.RunView(as_json) as screen:
        done = runner.verify(found, screen, fetch=not no_fetch, checks=checking, simulate=simulate)
    if not as_json:
        put(console.summary(done.cells))
    done.check()
