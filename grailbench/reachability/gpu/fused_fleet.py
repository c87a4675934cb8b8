"""The search of `gpu-fused` on several GPUs: the graph and its index on each, the queries dealt out in equal parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grailbench.device.several import Team
from grailbench.reachability.gpu.fused_batch import Searcher


class Fleet:
    """A `Searcher` a device. Answers are those of one."""

    def __init__(self, devices: int, make: Callable[[], Searcher]):
        """make: makes a searcher on whatever device is current; called once for each, at the same time.

        Raises MachineLacks when the host has fewer devices.
        """
        self._team = Team(devices)
        making = [self._team.submit(device, make) for device in range(devices)]
        self.searchers = [made.result() for made in making]

    def search(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Answers, bool[k], of int32[k] sources and targets, ids of the DAG; from host to host."""
        k, devices = sources.shape[0], len(self.searchers)
        answers = np.empty(k, np.bool_)

        def part(device: int) -> None:
            share = slice(k * device // devices, k * (device + 1) // devices)
            answers[share] = self.searchers[device].search(sources[share], targets[share])

        for done in [self._team.submit(device, part, device) for device in range(devices)]:
            done.result()
        return answers

    def each(self, work: Callable[[int, Searcher], object]) -> list:
        """`work(device, searcher)` on every device at the same time; what it returned, by device."""
        doing = [self._team.submit(device, work, device, made) for device, made in enumerate(self.searchers)]
        return [done.result() for done in doing]
