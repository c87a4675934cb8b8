"""Sharing out the cores and GPUs of machines among their workers, so that no two use the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grailbench.distributed.connection import HOW
from grailbench.distributed.facts import Facts
from grailbench.util.words import count


@dataclass(frozen=True)
class Seat:
    """The place of one task at a time: a worker with cores and GPUs that no other seat has.

    cores    numbers of cores, ascending
    gpus     as CUDA_VISIBLE_DEVICES names them
    memory   bytes that it declares; None if it declares none
    claims   the resources that a task there takes: all that the worker declares
    """

    worker: str
    host: str
    machine: str
    cores: tuple[int, ...]
    gpus: tuple[str, ...] = ()
    memory: int | None = None
    claims: tuple[tuple[str, float], ...] = ()


def share_out(workers: Iterable[Facts], taken: Iterable[Seat] = ()) -> tuple[list[Seat], list[str]]:
    """A seat for each worker that declares its cores, beside those that are taken; and why the others got none.

    A worker gets as many of the cores that its process may use as it declares, the lowest that are free, and GPUs
    likewise.
    """
    seats, faults = list(taken), []
    before = len(seats)
    for each in workers:
        mine = [seat for seat in seats if seat.machine == each.machine]
        wanted, gpus = each.resources.get("cores"), int(each.resources.get("gpu", 0))
        who = f"the worker {each.worker} on {each.host}"
        free = [core for core in each.cores if not any(core in seat.cores for seat in mine)]
        idle = [gpu for gpu in each.gpus if not any(gpu in seat.gpus for seat in mine)]
        if not wanted or wanted < 1:
            faults.append(f"{who} declares no cores (start it with: {HOW})")
        elif int(wanted) > len(free):
            faults.append(f"{who} declares {count(int(wanted), 'core')}, and {len(free)} are left to it on its machine")
        elif gpus > len(idle):
            faults.append(f"{who} declares {count(gpus, 'GPU')}, and {len(idle)} are left to it on its machine")
        else:
            memory = each.resources.get("memory")
            seats.append(
                Seat(
                    each.worker, each.host, each.machine, tuple(free[: int(wanted)]), tuple(idle[:gpus]),
                    None if memory is None else int(memory), tuple(sorted(each.resources.items())),
                )
            )  # fmt: skip
    return seats[before:], faults
