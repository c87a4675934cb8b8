"""The ceilings of this machine, such as its bandwidth: measured once, stored in the cache, and read from there.

`measure` returns a document, a dict of plain JSON values:

    format, fingerprint (of the environment), quick, machine (cpu, cores, caches, memory_bytes, os, gpus),
    cpu and gpu, each {at, code, seconds, measurements}, gpu also {device}; a part that was not measured is absent

A measurement is a row with the fields of `limits.row`: the median of repeats with the least and the most value.
`Ceilings` has the values of a document for one thread, for all threads or for the GPU.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from grailbench.errors import MachineLacks
from grailbench.harness import environment as env
from grailbench.harness.folder import require_own, write_json
from grailbench.harness.limits import FULL, TINY, Note, Scale
from grailbench.util.paths import cache_dir
from grailbench.util.records import opened

FORMAT = 1  # increase it when a measurement changes its meaning, so that older documents are not read
PARTS = ("cpu", "gpu")

_MACHINE = ("cpu", "cores", "cores_physical", "caches", "memory_bytes", "os", "gpus")
_DEFAULT_CACHE = 64 << 20  # bytes of the last-level cache if the system does not report them
_log = logging.getLogger(__name__)

# ---------------------------------------------------------------------------------------- rows


def rows(document: dict) -> list[dict]:
    """All measurements of a document, the CPU's first."""
    return [each for part in PARTS for each in document.get(part, {}).get("measurements", [])]


# ---------------------------------------------------------------------------------------- measuring


def measure(
    parts: tuple[str, ...] | None = None,
    scale: Scale = FULL,
    again: bool = False,
    simulate: bool = False,
    note: Note = lambda text: None,
) -> dict:
    """The document of this machine, read from the cache; parts that the cache lacks are measured and stored.

    parts     some of `PARTS`; None for all that the machine has
    again     measure the parts even if the cache has them
    simulate  run the GPU's operations in the simulator and check their results, without times and without the cache
    note      takes progress messages and warnings

    Raises MachineLacks if `parts` names the GPU and there is none, CheckFailed if an operation computes a wrong result.
    """
    quick = scale != FULL
    document = _new(env.environment(), quick)
    if simulate:
        return document | {"gpu": _measure_gpu(TINY, note, simulate=True)}
    document = load(quick) or document
    for part in parts or PARTS:
        if part in document and not again:
            continue
        try:
            document[part] = _measure_cpu(scale, note) if part == "cpu" else _measure_gpu(scale, note)
        except MachineLacks as error:
            if parts is not None:
                raise
            note(f"no GPU ceilings: {error}")
        else:
            try:
                save(document)
            except OSError as error:
                note(f"not kept in the cache: {error.filename}: {error.strerror}")
    return document


def _new(recorded: dict, quick: bool) -> dict:
    return {
        "format": FORMAT,
        "fingerprint": env.fingerprint(recorded),
        "quick": quick,
        "machine": {name: recorded[name] for name in _MACHINE},
    }


def _measure_cpu(scale: Scale, note: Note) -> dict:
    from grailbench.harness.limits import cpu

    return _part(lambda: cpu.measure(scale, env.usable_cores(), last_level_bytes(env.cpu_caches()), note))


def _measure_gpu(scale: Scale, note: Note, simulate: bool = False) -> dict:
    from grailbench import cuda as device

    if simulate:
        device.simulate()
    from grailbench.cuda import gateway

    gateway.require()
    if gateway.simulated and not simulate:
        raise MachineLacks("NUMBA_ENABLE_CUDASIM is set: the simulator has no ceilings (unset it, or give --simulate)")
    from grailbench.cuda.describe import describe
    from grailbench.harness.limits import gpu

    return _part(lambda: gpu.measure(scale, note)) | {"device": asdict(describe())}


def _part(measure: Callable[[], list[dict]]) -> dict:
    """A part of a document with the measurements that `measure` makes."""
    began = perf_counter()
    measurements = measure()
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": env.code_version(),
        "seconds": round(perf_counter() - began, 1),
        "measurements": measurements,
    }


def last_level_bytes(caches: dict[str, str]) -> int:
    """Bytes of the largest of the caches of `environment.cpu_caches()`, such as {'L3': '32768K'}; 64 MiB if unknown."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes = [int(text[:-1]) * units[text[-1]] for text in caches.values() if text[-1:] in units and text[:-1].isdigit()]
    return max(sizes, default=_DEFAULT_CACHE)


# ---------------------------------------------------------------------------------------- reading


@dataclass(frozen=True)
class Ceilings:
    """The ceilings of a processor with some number of threads, or of a GPU.

    read     GB/s of a long read, on a GPU of a copy
    gather   (table bytes, G/s of random gathers from it), ascending
    cache    bytes of the last-level cache
    barrier  us of a barrier of the whole grid
    inward   (bytes, GB/s of a copy of so many from pinned memory of the host to a GPU), ascending
    outward  the same of a copy to the host
    """

    read: float
    gather: tuple[tuple[int, float], ...]
    cache: int
    barrier: float = 0.0
    inward: tuple[tuple[int, float], ...] = ()
    outward: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(cls, document: dict, threads: int) -> Ceilings:
        """The ceilings of the processor in a document of `grailbench limits`: for one thread, or for all threads if
        `threads` is larger."""
        rows = document["cpu"]["measurements"]
        counts = sorted({row["threads"] for row in rows})
        chosen = counts[0] if threads <= 1 else counts[-1]
        mine = [row for row in rows if row["threads"] == chosen]
        gather = sorted((row["bytes"], row["median"]) for row in mine if row["what"] == "gather")
        read = next(row["median"] for row in mine if row["what"] == "read")
        return cls(read, tuple(gather), last_level_bytes(document["machine"]["caches"]))

    @classmethod
    def of_gpu(cls, document: dict) -> Ceilings | None:
        """The ceilings of the GPU in a document of `grailbench limits`; None if it has none."""
        rows = document.get("gpu", {}).get("measurements", [])
        gather = sorted((row["bytes"], row["median"]) for row in rows if row["what"] == "gather")
        copies = [row["median"] for row in rows if row["what"] == "copy"]
        if not gather or not copies:
            return None
        barriers = [row["median"] for row in rows if row["what"] == "grid barrier"]
        cache = document["gpu"].get("device", {}).get("l2_bytes", 0)
        inward, outward = (
            sorted((row["bytes"], row["median"]) for row in rows if (row["what"], row.get("variant")) == kind)
            for kind in (("transfer", "to device, pinned"), ("transfer", "to host, pinned"))
        )
        return cls(max(copies), tuple(gather), cache, min(barriers, default=0.0), tuple(inward), tuple(outward))

    def gathers_per_ms(self, table_bytes: int) -> float:
        """Gathers per millisecond from a table of that size."""
        fitting = [rate for size, rate in self.gather if size <= table_bytes]
        return 1e6 * (fitting[-1] if fitting else self.gather[0][1])

    def inward_ms(self, size: int) -> float:
        """Milliseconds of a copy of so many bytes to a GPU, at the rate of the next larger one that was measured, or of
        the largest: larger ones are faster."""
        return _copy_ms(self.inward, size)

    def outward_ms(self, size: int) -> float:
        """The same of a copy to the host."""
        return _copy_ms(self.outward, size)

    def bytes_per_ms(self) -> float:
        """Bytes per millisecond of a long read."""
        return 1e6 * self.read


def _copy_ms(rates: tuple[tuple[int, float], ...], size: int) -> float:
    rate = next((rate for measured, rate in rates if measured >= size), rates[-1][1])
    return size / (1e6 * rate)


# ---------------------------------------------------------------------------------------- the cache


def load(quick: bool | None = None) -> dict | None:
    """The document in the cache for this machine, software and thread settings, or None.

    `quick` chooses the quick or the full document; None takes the full one if there is one, else the quick one. A
    damaged file is ignored with a warning in the log.
    """
    fingerprint = env.fingerprint(env.environment())
    for kind in (False, True) if quick is None else (quick,):
        found = _read(_file(fingerprint, kind))
        if found is not None and found["fingerprint"] == fingerprint:
            return found
    return None


def save(document: dict) -> Path:
    """Store a document in the cache atomically. Returns its path. Raises OSError if it cannot be written."""
    path = _file(document["fingerprint"], document["quick"])
    write_json(path, document)
    return path


def export(document: dict, folder: Path) -> list[Path]:
    """Write limits.json and environment.json to `folder`, to store them with recorded runs. Returns their paths. Raises
    InputError if there are such files that grailbench did not write."""
    files = [folder / "limits.json", folder / "environment.json"]
    for path in files:
        require_own(path)
    for path, content in zip(files, (document, env.environment()), strict=True):
        write_json(path, content)
    return files


def _file(fingerprint: str, quick: bool) -> Path:
    return cache_dir() / "limits" / f"{fingerprint}{'-quick' if quick else ''}.json"


def _read(path: Path) -> dict | None:
    """A document of this format; None without one, and with a warning for a damaged file."""
    try:
        found, has_sum = opened(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _log.warning("%s is damaged and is not used: %s", path, error)
        return None
    return found if has_sum and found.get("format") == FORMAT else None
