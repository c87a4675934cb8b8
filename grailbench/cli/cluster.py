"""The command `grailbench cluster`."""

import click

from grailbench.cli import options
from grailbench.cli.printing import note, show, table
from grailbench.cli.run import client
from grailbench.report.table import Table
from grailbench.util.words import BLANK, count, gib, listing


@click.command
@click.option("--check", is_flag=True, help="Fail if a worker does not fit.")
@options.workers
@options.many("--dataset", options.GRAPH, "Also whether this graph is there, by its sha256; may repeat.", "datasets")
@options.as_json
def cluster(check, workers, scheduler, datasets, as_json):
    """Show what workers of dask have: host, cores, memory, GPUs, versions, graphs.

    With --scheduler, the workers that run there; else N workers are started on this machine (--workers, by default 1)
    and ended again. 'grailbench run' takes workers that have this version and commit of grailbench and declare their
    cores, and GPUs if they have some:

    \b
      dask scheduler
      dask worker tcp://HOST:8786 --nthreads 1 --resources "cores=8 gpu=1"

    Of the cores that its process may use, each worker gets as many as it declares for itself.

    \b
    Exit codes: 2 usage or bad input, 4 when no scheduler answers, dask is missing or, with --check, a worker does
    not fit.

    \b
    Examples:
      grailbench cluster --check --workers 2
      grailbench cluster --check --scheduler tcp://node1:8786 --dataset kegg
      grailbench cluster --scheduler tcp://node1:8786 --json
    """
    from grailbench.distributed.workers import records
    from grailbench.errors import MachineLacks

    with client(1 if scheduler is None and workers is None else workers, scheduler) as found:
        known = records(found, datasets)
    show(as_json, known, [_workers(known)] if known else [])
    faults = [fault for each in known for fault in each["faults"]] or ([] if known else ["there are no workers"])
    if faults and check:
        raise MachineLacks("; ".join(faults))
    for fault in faults:
        note(f"does not fit: {fault}")


def _workers(records: list[dict]) -> Table:
    """A line for each worker, of `distributed.workers.records`."""

    def graphs(each: dict) -> str:
        return "; ".join(f"{name}: {what}" for name, what in each["graphs"].items()) or f"{each['stored']} stored"

    def fits(each: dict) -> str:
        other = f"; other {listing(each['unlike'], 3)}" if each["unlike"] else ""
        return f"{'no' if each['faults'] else 'yes'}{other}"

    def version(each: dict) -> str:
        commit = f" {each['commit'][:9]}{' with changes' if each['dirty'] else ''}" if each["commit"] else ""
        return each["grailbench"] + commit

    columns = {
        "worker": "worker", "host": "host",
        "cores": lambda each: f"{each['resources'].get('cores', 0):g} of {len(each['cores'])}",
        "pinned to": lambda each: ", ".join(map(str, each["pinned"])) or BLANK,
        "memory": lambda each: gib(each["memory"], 0), "GPUs": lambda each: listing(each["gpu_names"], 3) or BLANK,
        "grailbench": version, "python": lambda each: each["python"].split()[-1],
        "numba": lambda each: each["packages"].get("numba", BLANK), "graphs": graphs, "fits": fits,
    }  # fmt: skip
    return table(count(len(records), "worker"), columns, records, ["memory"], keys=2)
