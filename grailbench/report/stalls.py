"""Why warps stall, from a CSV of NVIDIA Nsight Compute: figure 8 of Computation 2020.

The CSV is made by `ncu --csv --page raw --section WarpStateStats --section SourceCounters ...`; the form with one line
per metric is read too. The shares come from samples of the program counter, which add up over kernels; without samples
they come from the average stall cycles per issued instruction, weighted by the duration of each kernel if it is known.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench.errors import InputError
from grailbench.util.files import read_text
from grailbench.util.words import count

if TYPE_CHECKING:
    import pandas

#: the paper's word and the meaning of each stall reason of Nsight Compute
REASONS = {
    "barrier": ("synchronization", "waiting at a barrier of the block"),
    "membar": ("synchronization", "waiting on a memory barrier"),
    "wait": ("execution dependency", "a fixed latency of the instruction before"),
    "short_scoreboard": ("execution dependency", "a result from shared memory or a special unit"),
    "long_scoreboard": ("memory dependency", "a result from global, local or texture memory"),
    "lg_throttle": ("memory throttle", "queue of global and local memory full"),
    "mio_throttle": ("memory throttle", "queue of shared memory and special units full"),
    "drain": ("memory throttle", "stores on their way after the last instruction"),
    "tex_throttle": ("texture", "queue of the texture unit full"),
    "math_pipe_throttle": ("pipe busy", "the arithmetic pipe is taken"),
    "dispatch_stall": ("pipe busy", "the dispatcher holds the instruction back"),
    "imc_miss": ("constant memory dependency", "a miss in the constant cache"),
    "no_instruction": ("instruction fetch", "no instruction there yet"),
    "no_instructions": ("instruction fetch", "no instruction there yet"),
    "branch_resolving": ("other", "waiting for the target of a branch"),
    "sleeping": ("other", "the thread sleeps"),
    "misc": ("other", "miscellaneous"),
    "gmma": ("other", "waiting for a matrix instruction"),
    "warpgroup_arrive": ("other", "waiting for its warp group"),
    "not_selected": ("warp not selected", "could go on, another warp was chosen"),
    "selected": ("selected", "no stall: it issued"),
}
#: percent of all stalls as given in the paper's text; our copy of the paper lacks the figure itself
PRINTED = {"synchronization": 34.0, "memory throttle": 2.0}
FILE = "ncu.csv"  #: in a run's folder
COLUMNS = ("word", "reason", "meaning", "basis", "value", "share", "printed")

_SAMPLES = re.compile(r"smsp__pcsamp_warps_issue_stalled_(\w+?)(?:\.sum)?$")
_CYCLES = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active(?:\.ratio)?$")
_LARGEST = 256 << 20  # bytes of a CSV that are read
_LABEL = re.compile(r"Stall (.+)$")  # the same metric in `--page details`
_DURATION = re.compile(r"(gpu__time_duration(\.sum|_measured_\w+)?|Duration)$")


def of_run(folder: Path, profile: str | os.PathLike | None = None) -> Path | None:
    """The profile to read: the given one, else that in the run's folder, else None."""
    if profile is not None:
        return Path(profile)
    return folder / FILE if (folder / FILE).is_file() else None


def read(path: str | os.PathLike) -> pandas.DataFrame:
    """One row per stall reason, largest first: word (the paper's), reason, meaning, basis ('samples' or 'cycles'),
    value, share (of all stalls; issuing is not a stall), printed (percent, if the paper's text gives it).

    Raises InputError if the file cannot be read, is not a CSV of Nsight Compute, or has no stall reasons.
    """
    import pandas

    path = Path(path)
    samples: dict[str, float] = {}
    cycles: dict[str, float] = {}
    kernels = list(_kernels(path))
    for metrics in kernels:
        weight = next((value for name, value in metrics.items() if _DURATION.match(name)), 1.0)
        for name, value in metrics.items():
            if (found := _SAMPLES.match(name)) and not found[1].endswith("_not_issued"):
                samples[found[1]] = samples.get(found[1], 0.0) + value
            elif found := _CYCLES.match(name) or _LABEL.match(name):
                reason = found[1].lower().replace(" ", "_")
                cycles[reason] = cycles.get(reason, 0.0) + value * weight
    basis, found = ("samples", samples) if any(samples.values()) else ("cycles", cycles)
    stalled = {name: value for name, value in found.items() if name != "selected" and value > 0}
    total = sum(stalled.values())
    if not total:
        raise InputError(
            f"has no stall reasons in its {count(len(kernels), 'kernel')}", path=path,
            remedy="profile with --section WarpStateStats --section SourceCounters and --csv --page raw",
        )  # fmt: skip
    rows = []
    for name, value in sorted(stalled.items(), key=lambda each: (-each[1], each[0])):
        word, meaning = REASONS.get(name, ("other", name.replace("_", " ")))
        rows.append((word, name, meaning, basis, value, value / total, PRINTED.get(word)))
    return pandas.DataFrame(rows, columns=COLUMNS)


def _kernels(path: Path) -> Iterator[dict[str, float]]:
    """The metrics of each kernel in a file of either form."""
    try:
        text = read_text(path, "utf-8-sig", most=_LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from None
    lines = [line for line in text.splitlines() if line.startswith('"')]  # skip the log lines of ncu
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines))))
    except csv.Error as error:
        raise InputError(f"is no CSV: {error}", path=path) from None
    if not rows or "Kernel Name" not in rows[0]:
        raise InputError("is no CSV of Nsight Compute", path=path, remedy="ncu --csv --page raw ... > FILE")
    header, *body = rows
    if "Metric Name" in header:
        if missing := [name for name in ("ID", "Metric Value") if name not in header]:
            raise InputError(f"has no column {missing[0]!r}", path=path, remedy="ncu --csv --page raw ... > FILE")
        yield from _long(header, body)
        return
    for row in body:
        metrics = {name: _number(cell) for name, cell in zip(header, row, strict=False)}
        metrics = {name: value for name, value in metrics.items() if value is not None and "__" in name}
        if metrics:  # the second line holds units
            yield metrics


def _long(header: list[str], body: list[list[str]]) -> Iterator[dict[str, float]]:
    """The form with one line per metric; the lines of one launch have the same ID."""
    kernels: dict[str, dict[str, float]] = {}
    at = {name: header.index(name) for name in ("ID", "Metric Name", "Metric Value")}
    for row in body:
        if len(row) == len(header) and (value := _number(row[at["Metric Value"]])) is not None:
            kernels.setdefault(row[at["ID"]], {})[row[at["Metric Name"]]] = value
    yield from kernels.values()


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return None
