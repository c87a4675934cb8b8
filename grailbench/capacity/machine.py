"""The machine that a prediction is for: the ceilings that `grailbench limits` measured on it, its cores and memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from grailbench import paths
from grailbench.errors import InputError
from grailbench.limits.ceilings import Ceilings, is_row, rows
from grailbench.limits.ceilings import load as measured_here
from grailbench.runs.folder import read_json
from grailbench.words import did_you_mean

SHIPPED = ("h200", "cpu-2core")  #: machines whose ceilings come with the program; the first has a GPU
FILE = "limits.json"


@dataclass(frozen=True)
class Machine:
    """A machine and its ceilings.

    name      how it was named, or 'this machine'
    document  of `grailbench limits`
    stands_in whether it does so for a machine that was not named and not measured
    """

    name: str
    document: dict
    stands_in: bool = False

    @property
    def cores(self) -> int:
        return self.document["machine"]["cores"]

    @property
    def memory_bytes(self) -> int:
        """Of the host."""
        return self.document["machine"]["memory_bytes"]

    @cached_property
    def one(self) -> Ceilings:
        """With one thread."""
        return Ceilings.of(self.document, 1)

    @cached_property
    def gpu(self) -> Ceilings | None:
        return Ceilings.of_gpu(self.document)

    @property
    def gpu_memory_bytes(self) -> int:
        """Of one GPU; 0 without one."""
        return self._device.get("memory_bytes", 0)

    @property
    def multiprocessors(self) -> int:
        """Of one GPU."""
        return self._device.get("multiprocessors", 1)

    @property
    def title(self) -> str:
        """'h200: Intel(R) Xeon(R) Processor, 16 cores, NVIDIA H200'."""
        parts = [self.document["machine"]["cpu"], f"{self.cores} cores", self._device.get("name")]
        return f"{self.name}: {', '.join(part for part in parts if part)}"

    def alike(self, other: Machine) -> bool:
        """Whether both have the same processor, as many cores, and the same GPU."""
        return all(one(self) == one(other) for one in (Machine._processor, lambda machine: machine._device.get("name")))

    def _processor(self) -> tuple:
        return self.document["machine"]["cpu"], self.cores

    @property
    def _device(self) -> dict:
        return self.document.get("gpu", {}).get("device", {})

    def with_threads(self, threads: int) -> Ceilings:
        """With so many threads, between one and all: reads and gathers grow with the threads, as both were measured."""
        whole = Ceilings.of(self.document, self.cores)
        if threads <= 1 or self.cores <= 1:
            return self.one
        share = min(1.0, threads / self.cores)
        if share == 1.0:
            return whole
        gather = tuple((size, max(rate * share, of_one)) for (size, rate), (_, of_one)
                       in zip(whole.gather, self.one.gather, strict=True))  # fmt: skip
        return replace(whole, read=max(whole.read * share, self.one.read), gather=gather)


def gather_ms(ceilings: Ceilings, table_bytes: float) -> float:
    """Milliseconds of one random gather from a table of that size, between the sizes that were measured by the
    logarithms of both; of the smallest or largest beyond them."""
    size = max(table_bytes, 1.0)
    measured = ceilings.gather
    if size <= measured[0][0]:
        return 1e-6 / measured[0][1]
    for (low, slow), (high, fast) in zip(measured, measured[1:], strict=False):
        if size <= high:
            part = math.log(size / low) / math.log(high / low)
            return 1e-6 / (slow * (fast / slow) ** part)
    return 1e-6 / measured[-1][1]


def machine(profile: str | None = None) -> Machine:
    """The machine of a profile: the name of a shipped one, or a folder or file that `grailbench limits --out` wrote.

    Without a profile it is this machine, if its limits were measured, else the first shipped one. Raises InputError
    for an unknown profile, or one without ceilings of a processor.
    """
    if profile is None:
        found = measured_here()
        if found is not None and "cpu" in found:
            return Machine("this machine", found)
        return replace(shipped(SHIPPED[0]), stands_in=True)
    if profile in SHIPPED:
        return shipped(profile)
    path = Path(profile)
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"no machine {profile!r}",
            remedy=f"{did_you_mean(profile, SHIPPED)}; or a folder that 'grailbench limits --out DIR' wrote",
        )
    return Machine(path.name if path.is_dir() else path.stem, _read(file))


@cache
def shipped(name: str) -> Machine:
    """A machine of `SHIPPED`."""
    return Machine(name, _read(paths.baselines_dir() / name / "limits" / FILE))


def _read(file: Path) -> dict:
    """The document of a file. Raises InputError if it has no ceilings of a processor."""
    document = read_json(file)
    try:
        whole = document["machine"]["cores"] and document["machine"]["memory_bytes"]
        for threads in (1, 2):
            Ceilings.of(document, threads)
        if not whole or any(row["median"] is None or not is_row(row) for row in rows(document)):
            raise KeyError
    except (KeyError, TypeError, IndexError, StopIteration, AttributeError):
        raise InputError(
            "holds no measured ceilings of a processor", path=file, remedy="'grailbench limits --out DIR' writes them"
        ) from None
    return document
