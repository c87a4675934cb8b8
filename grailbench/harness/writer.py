"""Writing a run: its folder is locked by one process, rows are appended one whole trial at a time and repaired after a
kill, and finished trials are not repeated when a run continues.

`harness.folder` describes and reads the folder.
"""

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

from grailbench.errors import InputError, of_system
from grailbench.harness import folder as results
from grailbench.harness.folder import ROWS, Damage
from grailbench.harness.rows import ends_trial
from grailbench.util import outputs, paths
from grailbench.util.outputs import atomic_file, require_writable
from grailbench.util.records import sealed

FSYNC_SECONDS = 1.0
_ENCODER = json.JSONEncoder(allow_nan=False)  # json.dumps makes one anew for every row
AGAIN = "add --resume, or choose another --out"


class Writer:
    """Appends trials to the rows of a run, each in one write of whole lines to a file opened for appending.

    name  of the run
    sums  whether rows get checksums; a run that was started without them continues without them
    """

    def __init__(self, folder: Path):
        self.name, self.sums, self.path = folder.name, results.has_sums(folder), folder / ROWS
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        outputs.sync(folder)
        self._lock = threading.Lock()
        self._synced = monotonic()

    def append(self, rows: list[dict]) -> None:
        """Append the rows of one trial. Raises OSError when they do not all fit, and then writes none of them."""
        rows = [sealed(row) for row in rows] if self.sums else rows
        text = "".join(f"{_ENCODER.encode(row)}\n" for row in rows).encode()
        with self._lock:
            size = os.fstat(self._file).st_size
            try:
                written = os.write(self._file, text)
            except OSError as error:
                error.filename = str(self.path)
                raise
            if written < len(text):
                os.ftruncate(self._file, size)
                message = f"{os.strerror(errno.ENOSPC)}: only {written} of {len(text)} bytes could be written"
                raise OSError(errno.ENOSPC, message, str(self.path))
            if monotonic() - self._synced > FSYNC_SECONDS:
                os.fsync(self._file)
                self._synced = monotonic()

    def explain(self, text: str) -> None:
        """Append a traceback to `errors.txt` of the run."""
        with open(self.path.with_name(results.ERRORS), "a", encoding="utf-8") as log:
            log.write(text)

    def sync(self) -> None:
        """Wait for a current write and flush everything to the disk."""
        with self._lock:
            if self._file >= 0:
                os.fsync(self._file)

    def close(self) -> None:
        """Sync and close the file. A second call does nothing."""
        self.sync()
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1


def new_run(plan_name: str, digest: str, out: str | os.PathLike | None = None) -> Path:
    """Make the folder of a new run: `out`, or results/runs/<time>-<name>-<digest>.

    Raises InputError when the folder already contains a run, when a file of the run would replace an input, or when the
    folder cannot be made.
    """
    if out is not None:
        folder = Path(out)
        results.require_no_run(folder, remedy=AGAIN)
        for name in (ROWS, results.ENVIRONMENT, results.PLAN, results.ERRORS):
            require_writable(folder / name, seeks=True)
    else:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        folder = paths.runs_dir() / f"{stamp}-{plan_name}-{digest[:4]}"
    base, again = folder, 1
    while True:
        try:
            outputs.make_folder(folder.parent)
            folder.mkdir(exist_ok=out is not None)
            outputs.sync(folder.parent)
            return folder
        except OSError as error:
            if out is not None or not isinstance(error, FileExistsError) or not folder.is_dir():
                raise of_system(error, folder) from None
        again += 1  # there is one of the same second: another process's, or the clock was set back
        folder = base.with_name(f"{base.name}-{again}")


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock a run for this process; the system releases the lock when the process ends.

    Raises InputError when another process has locked it.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InputError("another process is at work on this run", path=folder) from None
    finally:
        os.close(handle)


def repair(folder: Path) -> tuple[list[dict], Damage]:
    """Read the rows as `read_rows` does. If it left any out, replace the file by one without them.

    Raises InputError if it is a recorded run.
    """
    if (folder / results.COMPRESSED).exists():
        remedy = f"unpack {results.COMPRESSED} in a copy of the folder"
        raise InputError("is a recorded run, to which nothing is added", path=folder, remedy=remedy)
    rows, damage, lines = results.read_lines(folder)
    if damage.torn or damage.rows:
        with atomic_file(folder / ROWS) as stream:
            stream.writelines(line + b"\n" for line in lines)
    return rows, damage


def finished(rows: list[dict]) -> dict[str, set[int]]:
    """The numbers of the complete trials of each key."""
    found: dict[str, set[int]] = {}
    for row in rows:
        if ends_trial(row) and row["status"] == "ok":
            found.setdefault(row["key"], set()).add(row["trial"])
    return found


def given_up(rows: list[dict]) -> set[str]:
    """Keys of wrong cells and timeouts, which are not tried again: the same code gives the same on the same machine."""
    return {row["key"] for row in rows if row["phase"] is None and row["status"] in ("wrong", "timeout")}
