"""Workers of dask as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grailbench.util.screen import Grid
from grailbench.util.words import BLANK, count, gib, listing

_SHOWN = 3


def table(records: Iterable[Mapping]) -> Grid:
    """A line for each worker, of `cluster.check.records`."""
    records = list(records)
    heads = [
        "worker",
        "host",
        "cores",
        "pinned to",
        "memory",
        "GPUs",
        "grailbench",
        "python",
        "numba",
        "graphs",
        "fits",
    ]
    lines = []
    for each in records:
        graphs = [f"{name}: {what}" for name, what in each["graphs"].items()] or [f"{each['stored']} stored"]
        gpus = listing(each["gpu_names"], _SHOWN) if each["gpu_names"] else BLANK
        commit = f" {each['commit'][:9]}{' with changes' if each['dirty'] else ''}" if each["commit"] else ""
        unlike = [f"other {listing(each['unlike'], _SHOWN)}"] if each["unlike"] else []
        lines.append([
            each["worker"], each["host"], f"{each['resources'].get('cores', 0):g} of {len(each['cores'])}",
            ", ".join(map(str, each["pinned"])) or BLANK, gib(each["memory"], 0), gpus, each["grailbench"] + commit,
            each["python"].split()[-1], each["packages"].get("numba", BLANK), "; ".join(graphs),
            "; ".join(["no" if each["faults"] else "yes", *unlike]),
        ])  # fmt: skip
    return Grid(count(len(lines), "worker"), heads, lines, frozenset({"memory"}), keys=2)
