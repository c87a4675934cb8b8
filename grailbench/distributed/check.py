"""What all workers of a client have, a record each, and whether each can be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grailbench.data.locate import locate
from grailbench.distributed import facts, graphs, liveness
from grailbench.distributed.seats import share_out
from grailbench.errors import MachineLacks
from grailbench.graph.generate import generated_name

if TYPE_CHECKING:
    from distributed import Client

#: what a worker has of a graph that was asked for
SAME, SENT, MADE, MISSING, OTHER = "there", "will be sent", "is generated there", "missing", "another"


def records(client: Client, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """A record of each worker: the fields of `Facts`, and

    pinned  the numbers of the cores that its tasks get; [] if it cannot be used
    stored  how many graphs are in the cache there
    graphs  what it has of each graph of `names`: 'there' (equal by sha256), 'will be sent', 'is generated there',
            'missing' (here too), 'another' (its sha256 differs)
    unlike  the versions that differ from those of this process, of Python and of packages
    faults  why it cannot be used; [] if it can

    Raises InputError for an unknown graph, MachineLacks naming a worker that cannot answer.
    """
    names, mine, found = [locate(name).name for name in names], facts.here(), facts.of_workers(client)
    for address, why in liveness.heartbeats(client).look().items():
        if why is not None:
            raise MachineLacks(f"the worker {address} does not answer: {why} (end it, or let it go on)")
    addresses = [each.worker for each in found]
    seats, faults = share_out(found)
    pinned = {seat.worker: list(seat.cores) for seat in seats}
    there, kept = graphs.digests(client, names, addresses), liveness.run(client, graphs.stored, workers=addresses)
    here = {name: graphs.digest_here(name) for name in names}
    records = []
    for each in found:
        its = [fault for fault in faults if f" {each.worker} " in fault]
        if other := facts.differs(each, mine):
            its.append(f"the worker {each.worker} on {each.host} has another grailbench: {other}")
        had = {name: _had(name, here[name], there[each.worker][name]) for name in names}
        its += [f"the worker {each.worker} has another {name}" for name, what in had.items() if what == OTHER]
        its += [f"{name} is neither here nor on {each.worker}" for name, what in had.items() if what == MISSING]
        versions = {"python": mine.python, **mine.packages}
        theirs = {"python": each.python, **each.packages}
        unlike = {name: theirs.get(name) for name in {**versions, **theirs} if versions.get(name) != theirs.get(name)}
        records.append({**each.record(), "pinned": pinned.get(each.worker, []), "stored": len(kept[each.worker]),
                        "graphs": had, "unlike": unlike, "faults": its})  # fmt: skip
    return records


def _had(name: str, here: str | None, there: str | None) -> str:
    """What a worker has of a graph, by the sha256 here and there."""
    if there is not None:
        return SAME if here in (None, there) else OTHER
    if generated_name(name) is not None:
        return MADE
    return MISSING if here is None else SENT
