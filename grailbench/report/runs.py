"""A run as a comparison sees it: its cells by configuration, with their times, counters and status."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.runs import folder as results
from grailbench.runs.cells import whole_ready
from grailbench.runs.rows import SOUND, standing


@dataclass
class Measured:
    """One cell of a run.

    columns       a row of it, for the columns that name the cell
    graph_sha256  None when the graph could not be opened
    counters      exact work; None when it was not counted
    checksum      of the answers
    times         ms by trial, by phase ('label', or 'label/NAME' for a phase within)
    """

    columns: dict
    kind: str | None = None
    graph_sha256: str | None = None
    status: str = "ok"
    reason: str = ""
    checksum: str | None = None
    counters: dict[str, int] | None = None
    times: dict[str, dict[int, float]] = field(default_factory=dict)

    @property
    def dataset(self) -> str:
        return self.columns["dataset"]

    @property
    def impl(self) -> str:
        return self.columns["impl"]

    @property
    def sound(self) -> bool:
        """True when its times may be compared."""
        return self.status in SOUND

    @property
    def label(self) -> str:
        """The configuration in words, without the graph."""
        get = self.columns.get
        problem = get("problem") if get("problem") != "reachability" else None
        words = [problem, self.impl, get("dim") and f"d={get('dim')}", get("search")]
        words += [get("filters") if get("filters") not in (None, "none") else None]
        words += [get("order") if get("order") not in (None, "random") else None]
        words += [get("threads") and f"{get('threads')} thread{'s' if get('threads') > 1 else ''}"]
        words += [f"{get('devices')} GPUs" if (get("devices") or 1) > 1 else None]
        words += [None if str(get("query_set")).startswith("random-") else get("query_set")]
        return " ".join(word for word in words if word)

    def sample(self, phase: str) -> np.ndarray:
        """float64[trials]: the times of a phase, in the order of the trials."""
        times = self.times.get(phase, {})
        return np.array([times[trial] for trial in sorted(times)], dtype=np.float64)

    def same_trials(self, other: Measured, phase: str, others: str) -> bool:
        """Whether both were timed in the same trials."""
        return self.times.get(phase, {}).keys() == other.times.get(others, {}).keys()


@dataclass(frozen=True)
class Run:
    """A run read for comparison: its cells by `results.cell_of`.

    fingerprint   of the machine; None when it is not known
    mixed         True when its sittings were on different machines: its times have no one unit
    """

    folder: Path
    fingerprint: str | None
    mixed: bool
    environment: dict
    cells: dict[str, Measured]

    @property
    def name(self) -> str:
        """What to call it: the folder as it was found."""
        return self.folder.name

    @property
    def machine(self) -> str:
        """Processor, cores, GPUs and commit in a line."""
        env = self.environment
        commit, dirty = env.get("commit"), " with changes" if env.get("dirty") else ""
        parts = [env.get("cpu") or "unknown processor", f"{env.get('cores', '?')} cores", *gpus(env)]
        return ", ".join(parts + ([f"commit {commit[:12]}{dirty}"] if commit else []))

    def implementations(self) -> list[str]:
        """The names of its implementations, each once."""
        return list(dict.fromkeys(cell.impl for cell in self.cells.values()))


def gpus(environment: Mapping) -> list[str]:
    """'NVIDIA H200', '4 x NVIDIA H200': the GPUs that an environment has, by name."""
    names = [str(each.get("name")) for each in environment.get("gpus") or ()]
    return [name if names.count(name) == 1 else f"{names.count(name)} x {name}" for name in dict.fromkeys(names)]


def load(run: str | os.PathLike) -> Run:
    """Read a run: a folder, or the name of one. Raises InputError when it is none, or a row is not of this version."""
    folder = results.find_run(run)
    environment = results.read_environment(folder)
    rows, _ = results.read_rows(folder)
    try:
        cells = _cells(results.current(rows))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"a row does not have what this version writes: {type(error).__name__}: {error}", path=folder / results.ROWS
        ) from None
    fingerprint = environment.get("fingerprint")
    mixed = any(before.get("fingerprint") != fingerprint for before in environment.get("earlier", []))
    return Run(folder, fingerprint, mixed, environment, cells)


def _cells(rows: Iterable[dict]) -> dict[str, Measured]:
    """Rows that count, by cell; a wrong one has no times."""
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(results.cell_of(row), []).append(row)
    return {key: _measured(own) for key, own in groups.items()}


def _measured(rows: list[dict]) -> Measured:
    cell = Measured(rows[0])
    cell.status, cell.reason = standing(rows)
    for row in rows:
        for name in ("kind", "graph_sha256", "checksum", "counters"):
            if row[name] is not None:
                setattr(cell, name, row[name])
        if row["status"] == "ok" and row["phase"] and row["ms"] is not None and cell.status != "wrong":
            phase = f"{row['under']}/{row['phase']}" if row["under"] else row["phase"]
            cell.times.setdefault(phase, {})[int(row["trial"])] = float(row["ms"])
    if not whole_ready([(name.rpartition("/")[0], name.rpartition("/")[2]) for name in cell.times]):
        cell.times = {name: times for name, times in cell.times.items() if name.partition("/")[0] != "ready"}
    return cell
