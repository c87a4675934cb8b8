"""Where the files of a report lie: beside its run, but never unasked beside a recorded one."""

from __future__ import annotations

import subprocess
from pathlib import Path

from grailbench.bench import provenance

WHY = "a recorded run, into which nothing is written unasked"


def place(run: Path, name: str, out: str | Path | None = None) -> Path | None:
    """The folder of a report's files: `out` where given, else the run's folder `name`, which a recorded run has not."""
    if out is not None:
        return Path(out)
    return None if recorded(run) else Path(run) / name


def recorded(run: Path) -> bool:
    """True for a run in results/baselines of the checkout, and for one that has files which git tracks."""
    if provenance.is_recorded(run := Path(run).resolve()):
        return True
    try:
        done = subprocess.run(["git", "-C", str(run), "ls-files", "--", "."], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return bool(done.stdout.strip())
