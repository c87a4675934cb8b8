"""What was tried to keep a promise: one JSON file each under `results/reliability/`, which docs/reliability.md shows.

A program of this folder ends with `record.write(...)` when it was given `--record NAME`, or with `record.end(...)`; the
file is committed as it is.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import NoReturn

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reliability"
KEYS = ("area", "promise", "test", "figure", "command", "date", "commit", "machine", "seconds", "details")
#: counts among the details that are 0 where the promise was kept
NONE_OF = ("broken", "crashes", "differences", "failures", "faults", "hangs", "leaks", "lost", "tracebacks", "wrong")


def write(
    name: str, *, area: str, promise: str, test: str, figure: str, command: str, seconds: float, kept: bool,
    details: Mapping[str, object] | None = None, machine: str | None = None,
) -> Path:  # fmt: skip
    """Write results/reliability/NAME.json and return its path.

    `area` is the section it stands in, as "Kills, power loss and full disks"; `promise` one plain sentence of what
    users can rely on; `test` the file of the repository that tries it, as "tests/faults/kills.py"; `figure` what was
    found, as "2,113 kills, 0 differences"; `command` what repeats it. `details` are the counts that `figure` sums up,
    with seeds. The commit is that of this checkout, or of COMMIT.json beside it, and None where neither is to be had
    or the checkout is changed. `kept` is whether the promise held; raises ValueError where it is said to have held and
    a detail of `NONE_OF` is not 0.
    """
    if kept and (counts := broken(details or {})):
        raise ValueError(f"{name}: the promise was broken ({', '.join(counts)}), so it is not recorded as kept")
    found = {
        "area": area, "promise": promise, "test": test, "figure": figure, "command": command,
        "date": datetime.now(UTC).date().isoformat(), "commit": _commit(), "machine": machine or this_machine(),
        "kept": kept, "seconds": round(seconds, 1), "details": dict(details or {}),
    }  # fmt: skip
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def end(name: str | None, wrong: Sequence[str], *, figure: str, began: float, **words) -> NoReturn:
    """End a program: say the figure, write the record of `words` if it has a name, and exit, with 1 if something was
    wrong. `began` is what `time.monotonic` said at its begin."""
    print(figure)
    if name:
        write(name, kept=not wrong, figure=figure, seconds=monotonic() - began, **words)
    sys.exit(int(bool(wrong)))


def broken(details: Mapping[str, object]) -> list[str]:
    """The details that count what breaks a promise and are not 0, such as 'faults: 2'."""
    found = []
    for key, value in details.items():
        if isinstance(value, Mapping):
            found += broken(value)
        elif key in NONE_OF and value not in (0, None, [], ""):
            found.append(f"{key}: {value}")
    return found


def _commit() -> str | None:
    from grailbench.harness.commit import commit_state

    commit, changed = commit_state()
    return None if changed else commit


def this_machine() -> str:
    """The model of the processor, and of each GPU."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    try:
        shown = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True
        )
        gpus = shown.stdout.strip().splitlines() if shown.returncode == 0 else []
    except OSError:
        gpus = []
    return ", ".join([model, *gpus])
