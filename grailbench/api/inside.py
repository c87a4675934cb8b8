"""What a public index holds: the index of an implementation, where it runs, and whether its file is whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grailbench.contract import NoTimer
from grailbench.graph.csr import Dag
from grailbench.reachability.index import Implementation, Index, Params


@dataclass
class Inside:
    """The index of an implementation.

    run    calls a function with arguments where the index lives: here, or on the thread of a GPU
    check  raises InputError if the file it was loaded from is damaged; it waits for the check to end
    """

    implementation: type[Implementation]
    params: Params
    index: Index
    run: Callable[..., Any]
    check: Callable[[], None]


def built(implementation: type[Implementation], params: Params, dag: Dag, device: int | None) -> Inside:
    """Builds an index, on GPU number `device` if the implementation needs one. Raises MachineLacks."""
    run = _where(implementation, device)
    return Inside(implementation, params, run(implementation.build, dag, params, NoTimer()), run, _whole)


def restored(
    implementation: type[Implementation], params: Params, dag: Dag, arrays: dict, check: Callable[[], None]
) -> Inside:
    """Makes an index again from stored arrays. Raises MachineLacks if the machine lacks the GPU that it needs."""
    run = _where(implementation, None)
    if "gpu" in implementation.needs:
        check()  # its arrays are read now
    return Inside(implementation, params, run(implementation.restored, dag, params, arrays), run, check)


def _where(implementation: type[Implementation], device: int | None) -> Callable[..., Any]:
    if "gpu" not in implementation.needs:
        return _here
    implementation.require()
    from grailbench.device.several import DeviceThread

    return DeviceThread(device or 0).run


def _here(function: Callable, *arguments: Any) -> Any:
    return function(*arguments)


def _whole() -> None:
    """Nothing to check: it was built here."""
