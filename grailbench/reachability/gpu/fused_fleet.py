"""The search of `gpu-fused` on several GPUs: the graph and its index on each, the queries dealt out in equal parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grailbench.device.several import Team
from grailbench.reachability.gpu.fused_batch import Searcher
from grailbench.reachability.index import NoTimer, Timer


class _Sum(NoTimer):
    """A timer that adds up what it is told."""

    ms = 0.0

    def record(self, name: str, ms: float) -> None:
        self.ms += ms


class Fleet:
    """A `Searcher` a device. Answers are those of one."""

    def __init__(self, devices: int, make: Callable[[], Searcher]):
        """make: makes a searcher on whatever device is current; called once for each, at the same time.

        Raises MachineLacks when the host has fewer devices.
        """
        self._team = Team(devices)
        making = [self._team.submit(device, make) for device in range(devices)]
        self.searchers = [made.result() for made in making]

    def search(self, sources: np.ndarray, targets: np.ndarray, timer: Timer | None = None) -> np.ndarray:
        """Answers, bool[k], of int32[k] sources and targets, ids of the DAG; from host to host.

        A timer is told the milliseconds of the device that took longest: phase `on_device`.
        """
        k, devices = sources.shape[0], len(self.searchers)
        answers = np.empty(k, np.bool_)

        def part(device: int) -> float:
            share, clock = slice(k * device // devices, k * (device + 1) // devices), _Sum()
            answers[share] = self.searchers[device].search(sources[share], targets[share], clock)
            return clock.ms

        longest = max(done.result() for done in [self._team.submit(device, part, device) for device in range(devices)])
        if timer is not None:
            timer.record("on_device", longest)
        return answers

    def each(self, work: Callable[[int, Searcher], object]) -> list:
        """`work(device, searcher)` on every device at the same time; what it returned, by device."""
        doing = [self._team.submit(device, work, device, made) for device, made in enumerate(self.searchers)]
        return [done.result() for done in doing]
