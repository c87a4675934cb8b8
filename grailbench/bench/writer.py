"""Writing a run: its folder, kept to one process; rows, appended a whole trial at a time and repaired after a kill; and
what a continued run need not take again.

`runs.folder` says what lies in the folder, and reads it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from time import monotonic

from grailbench import paths
from grailbench.errors import InputError
from grailbench.graph.store import atomic_file
from grailbench.records import sealed
from grailbench.runs.folder import PLAN, ROWS, Damage, has_sums, read_lines
from grailbench.runs.rows import ends_trial

FSYNC_SECONDS = 1.0


class Writer:
    """Appends trials to a run's rows, each in one write of whole lines to a file opened for appending.

    sums  whether rows get checksums; those of a run that was begun without stay without
    """

    def __init__(self, folder: Path):
        self.sums = has_sums(folder)
        self.path = folder / ROWS
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._lock = threading.Lock()
        self._synced = monotonic()

    def append(self, rows: list[dict]) -> None:
        """Append the rows of one trial. Raises OSError when they do not fit, and then leaves none of them."""
        rows = [sealed(row) for row in rows] if self.sums else rows
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode()
        with self._lock:
            size = os.fstat(self._file).st_size
            try:
                written = os.write(self._file, text)
            except OSError as error:
                error.filename = str(self.path)
                raise
            if written < len(text):
                os.ftruncate(self._file, size)
                said = f"only {written} of {len(text)} bytes could be written"
                raise OSError(errno.ENOSPC, said, str(self.path))
            if monotonic() - self._synced > FSYNC_SECONDS:
                os.fsync(self._file)
                self._synced = monotonic()

    def sync(self) -> None:
        """Wait for a write under way and bring everything to the disk."""
        with self._lock:
            if self._file >= 0:
                os.fsync(self._file)

    def close(self) -> None:
        """Sync and close; a second time does nothing."""
        self.sync()
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1


def new_run(plan_name: str, digest: str, out: str | os.PathLike | None = None) -> Path:
    """Make the folder of a new run: `out`, or results/runs/<time>-<name>-<digest>.

    Raises InputError when the folder holds a run already or cannot be made.
    """
    if out is not None:
        folder = Path(out)
        if (folder / ROWS).exists() or (folder / PLAN).exists():
            raise InputError("holds a run already", path=folder, remedy="add --resume, or choose another --out")
    else:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        base = paths.runs_dir() / f"{stamp}-{plan_name}-{digest[:4]}"
        folder, again = base, 1
        while folder.exists():
            again += 1
            folder = base.with_name(f"{base.name}-{again}")
    try:
        folder.mkdir(parents=True, exist_ok=out is not None)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", path=folder) from None
    return folder


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Keep a run to this process for the block; the system lets go of it when the process dies.

    Raises InputError when another process has it.
    """
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InputError("another process is at work on this run", path=folder) from None
    finally:
        os.close(held)


def repair(folder: Path) -> tuple[list[dict], Damage]:
    """`read_rows`, and where anything had to be left out, the file written anew without it, atomically."""
    rows, damage, lines = read_lines(folder)
    if damage.torn or damage.rows:
        with atomic_file(folder / ROWS) as stream:
            stream.writelines(line + b"\n" for line in lines)
            stream.flush()
            os.fsync(stream.fileno())
    return rows, damage


def finished(rows: list[dict]) -> dict[str, set[int]]:
    """The whole trials that each key has, by number."""
    found: dict[str, set[int]] = {}
    for row in rows:
        if ends_trial(row) and row["status"] == "ok":
            found.setdefault(row["key"], set()).add(row["trial"])
    return found


def given_up(rows: list[dict]) -> set[str]:
    """Keys that a resumed run need not try again: the same code on the same machine gives the same."""
    return {row["key"] for row in rows if row["phase"] is None and row["status"] in ("wrong", "timeout")}
