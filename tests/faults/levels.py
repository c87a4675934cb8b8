"""Whether what a process holds stays level: samples of it, and a verdict on their slope."""

import gc
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import numpy as np
import psutil

from grailbench.harness import peaks

HOUR = 3600.0
WARM, WARM_S = 1 / 4, 300  #: the first part of the samples, in which caches fill; of a short run the first five minutes
#: what may vary from sample to sample, with the growth over the samples that is never called a leak
VARYING = {"peak": 3 << 20, "objects": 2_000, "blocks": 5_000, "maps": 25}
LEAST = 9  #: samples that a verdict needs
SHARE = 0.01  #: the growth of what varies in an hour that is called level, as a part of it
#: what must be exactly level
EXACT = ("descriptors", "threads", "children", "temporary files", "temporary bytes", "cached files", "cached bytes",
         "figures", "signals", "variables", "folders")  # fmt: skip


def sample(temporary: Path, cached: Path) -> dict[str, float]:
    """What this process holds now: memory in bytes, counts of the rest.

    `peak` is the most memory that was resident since the last sample, or since a trial from edges in between set it
    back. What is resident at rest may rise for hours below a peak that is level, as Python only gives back whole MiB,
    each of which one object that lives long keeps; so it is not judged.
    """
    peak = _peak()
    gc.collect()
    me = psutil.Process()
    maps = len(me.memory_maps(grouped=False))
    files, size = held(temporary)
    kept, bytes_ = held(cached)
    figures = sys.modules.get("matplotlib.pyplot")
    return {
        "at": monotonic(), "peak": peak,
        "objects": len(gc.get_objects()),
        "blocks": sys.getallocatedblocks(), "maps": maps,
        "descriptors": me.num_fds(), "threads": threading.active_count(),
        "children": len(me.children(recursive=True)),
        "temporary files": files, "temporary bytes": size, "cached files": kept, "cached bytes": bytes_,
        "figures": len(figures.get_fignums()) if figures else 0, "signals": _handlers(),
        "variables": len(os.environ), "folders": len(sys.path),
    }  # fmt: skip


def _peak() -> int:
    """The most bytes that were resident since the last call, or of the whole process where Linux does not tell."""
    found = peaks.host_peak()
    peaks.restart_host()
    return found


def _handlers() -> int:
    import signal

    usual = (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler, None)
    return sum(signal.getsignal(number) not in usual for number in signal.valid_signals())


def held(folder: Path) -> tuple[int, int]:
    """Number and bytes of the files and folders below a folder."""
    files = size = 0
    for where, folders, names in os.walk(folder):
        files += len(folders) + len(names)
        for name in names:
            try:
                size += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                files -= 1  # gone meanwhile
    return files, size


@dataclass(frozen=True)
class Level:
    """How one measure went after the warm-up.

    middle  its median; first and last are the medians of the first and the last third
    hourly  its slope by Theil and Sen in an hour, with the ends of the interval of 95 %
    fault   why it is not level, or None
    """

    name: str
    middle: float
    first: float
    last: float
    hourly: float
    low: float
    high: float
    fault: str | None

    def record(self) -> dict:
        return {
            "median": self.middle, "an hour": round(self.hourly, 1), "at least": round(self.low, 1),
            "at most": round(self.high, 1),
        }  # fmt: skip


def judge(samples: list[Mapping[str, float]]) -> list[Level]:
    """A verdict on each measure of some samples, of which the first `WARM` or `WARM_S`, but at most half, do not count.

    What varies leaks if its slope is above 0 with 95 % confidence, and the growth that it means for the time of the
    samples is more than `VARYING` allows and more than `SHARE` an hour. What must be level leaks if its least value in
    the last third is above the greatest in the first third. Raises ValueError for fewer than nine samples that count.
    """
    from scipy.stats import theilslopes  # which takes a second to load

    early = sum(each["at"] < samples[0]["at"] + WARM_S for each in samples)
    kept = samples[max(int(len(samples) * WARM), min(early, len(samples) // 2, len(samples) - LEAST)) :]
    if len(kept) < LEAST:
        raise ValueError(f"{len(kept)} samples after the warm-up: nine are needed")
    hours = np.array([each["at"] - kept[0]["at"] for each in kept]) / HOUR
    third = len(kept) // 3
    found = []
    for name in (*VARYING, *EXACT):
        values = np.array([each[name] for each in kept], float)
        slope, _, low, high = theilslopes(values, hours, 0.95)
        first, last, middle = (float(np.median(part)) for part in (values[:third], values[-third:], values))
        fault = None
        if name in VARYING:
            grown = slope * hours[-1]
            if low > 0 and grown > max(VARYING[name], SHARE * middle * hours[-1]):
                fault = f"{name} grew by {grown:,.0f} from {first:,.0f}, {100 * slope / max(middle, 1):.1f} % an hour"
        elif name in EXACT and values[-third:].min() > values[:third].max():
            fault = f"{name} went from {first:,.0f} to {last:,.0f}"
        found.append(Level(name, middle, first, last, *map(float, (slope, low, high)), fault))
    return found
