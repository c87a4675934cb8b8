"""A condensed graph and an index of it in a file of arrays (`graph.mapped`): what is kept, and how it comes back."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import OFFSET, VERTEX, Dag
from grailbench.graph.mapped import named
from grailbench.problems import contract
from grailbench.problems.reachability.index import Implementation, Params
from grailbench.util import faults

_DAG = {"offsets": OFFSET, "children": VERTEX, "levels": VERTEX, "order": VERTEX, "component": VERTEX}


def to_arrays(
    implementation: type[Implementation], params: Params, dag: Dag, stored: dict[str, np.ndarray]
) -> tuple[dict, dict[str, np.ndarray]]:
    """What the header says of an index, and the arrays of it; `stored` are those of `Index.stored`."""
    meta = {
        "implementation": implementation.name,
        "params": dataclasses.asdict(params),
        "dropped": [dag.duplicates, dag.loops],
    }
    arrays = {f"dag/{name}": getattr(dag, name) for name in _DAG}
    return meta, arrays | {f"index/{name}": array for name, array in stored.items()}


def from_arrays(
    meta: dict, arrays: dict[str, np.ndarray], path: Path | None = None
) -> tuple[type[Implementation], Params, Dag, dict]:
    """The implementation, its parameters, the condensed graph, and the arrays of `Index.stored`; errors name `path`.

    Raises KeyError, TypeError, ValueError or AttributeError if the header does not hold together, and InputError for an
    implementation that is not known here.
    """
    dag = Dag(*(arrays[f"dag/{name}"] for name in _DAG), *meta["dropped"])
    params = Params(**meta["params"] | {"filters": tuple(meta["params"]["filters"])})
    try:
        found = contract.implementation(meta["implementation"])
    except InputError as error:
        raise InputError(str(error), path=path) from None
    return found, params, dag, named(arrays, "index/")


def caller_for(implementation: type[Implementation], device: int | None) -> Callable[..., Any]:
    """What calls a function with arguments where an index lives: here, or on a thread of GPU number `device`, by
    default the first, if the implementation needs one. Raises MachineLacks if there is none."""
    if "gpu" not in implementation.needs:
        return here
    implementation.require()
    from grailbench.cuda.several import DeviceThread

    thread = DeviceThread(device or 0)
    return lambda *work: faults.freeing(thread.run, *work)


def here(function: Callable, *arguments: Any) -> Any:
    """Calls a function with arguments in this thread."""
    return function(*arguments)
