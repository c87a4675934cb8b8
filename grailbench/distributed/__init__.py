"""Workers of dask: connecting to them, starting some on this machine, what each has, and its share of the cores; and
what they do: run the cells of a plan (`on_workers`), and hold an index that answers pairs (`spread`).

dask is imported when a client is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

    from grailbench.harness.plan import Plan
    from grailbench.harness.progress import Progress
    from grailbench.problems.contract import Checks


def on_workers(client: Client) -> Callable[[Progress, Plan, Checks], None]:
    """Returns what runs the cells of a plan on the workers of a client (`runner.run`).

    Raises MachineLacks if no worker can be used, or one has another version of grailbench.
    """
    from grailbench.distributed.runner import DaskRunner, Workers

    workers = Workers(client)
    return lambda progress, plan, checks: DaskRunner(workers, progress, checks).run(plan)
