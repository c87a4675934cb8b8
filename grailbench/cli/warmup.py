"""The command `grailbench warmup`."""

from time import perf_counter

import click

from grailbench.cli import options
from grailbench.cli.printing import show
from grailbench.errors import CheckFailed
from grailbench.util import ahead, kernelcache
from grailbench.util.cores import usable_cores
from grailbench.util.words import count


@click.command
@click.option("--gpu", is_flag=True, help="Those of the GPU too; fails where there is none.")
@click.option("--jobs", type=options.Whole(1), metavar="N", help="At most so many processes; a core each by default.")
@options.as_json
def warmup(gpu, jobs, as_json):
    """Compile the kernels of answers and of our implementations of reachability ahead, as in a container image.

    Without it each is compiled when it is first called, and kept. Processes compile several at once.

    \b
    Exit codes: 1 when a kernel could not be compiled, 2 usage, or no folder can keep kernels,
    4 when the GPU was asked for and there is none.

    \b
    Examples:
      grailbench warmup
      grailbench warmup --jobs 2 --json
      grailbench warmup --gpu
    """
    from grailbench.api.first import of_all

    if gpu:
        from grailbench.cuda.gateway import require

        require()
    where, began, todo = kernelcache.lasting_folder(), perf_counter(), of_all(gpu)
    most = min(jobs or usable_cores(), len(todo), ahead.MOST)
    done = list(ahead.finished(ahead.start(todo, most)))
    seconds, kernels = perf_counter() - began, sum(each.kernels for each in done)
    said = {each.number: each.error for each in done}
    faults = {todo[at].name: said.get(at, "its process ended") for at in range(len(todo)) if said.get(at, "-")}
    record = {"kernels": kernels, "seconds": round(seconds, 1), "processes": most, "folder": str(where)}
    line = f"{count(kernels, 'kernel')} compiled in {seconds:.1f} s by {count(most, 'process')}: {where}"
    show(as_json, [record | {"failed": faults}], [line])
    if faults:
        (name, fault), more = next(iter(faults.items())), len(faults) - 1
        raise CheckFailed(f"{name}: {fault}{f', and {more} more' if more else ''}")
