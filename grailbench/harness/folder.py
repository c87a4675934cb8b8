"""Runs on disk: reading and writing them.

A run is a folder with `trials.jsonl` (a JSON object a row, with the fields `rows.FIELDS`), `environment.json` and
`plan.json`; a recorded run has its rows compressed, in `trials.jsonl.gz`, to which nothing is added. A trial of a cell
has a row for each phase, that of the problem's last phase at the end; without it a trial is incomplete. A cell without
times has one row without a phase, with `status` and `reason`. Both JSON files and each row have a checksum (`records`),
except in runs before `rows.FORMAT` 2.

A folder is written by one process, which locks it: rows are appended one whole trial at a time and repaired after a
kill, and finished trials are not repeated when a run continues.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from grailbench.errors import InputError, of_system
from grailbench.harness.rows import FORMAT, cell_of, ends_trial, parse_all
from grailbench.util import outputs, paths
from grailbench.util.files import opened as file_opened
from grailbench.util.outputs import atomic_file, require_writable
from grailbench.util.records import opened, sealed

_FOREIGN, _ELSEWHERE = "was not written by grailbench, and is not replaced", "choose another --out, or move it away"
_Count = Annotated[int, Field(ge=0, lt=2**63)]
ROWS, ENVIRONMENT, PLAN = "trials.jsonl", "environment.json", "plan.json"
FILES = (ROWS, PLAN, ENVIRONMENT)  #: of a run; all others are made from them
COMPRESSED = f"{ROWS}.gz"  #: the rows of a recorded run
ERRORS = "errors.txt"  #: the tracebacks of cells that failed
FSYNC_SECONDS = 1.0
_ENCODER = json.JSONEncoder(allow_nan=False)  # json.dumps makes one anew for every row
AGAIN = "add --resume, or choose another --out"


@dataclass(frozen=True)
class Damage:
    """What was left out at the end of a file of rows.

    torn  whether the last line was incomplete
    rows  the number of rows of an incomplete trial
    """

    torn: bool = False
    rows: int = 0


def protect(folder: Path) -> None:
    """Refuse outputs in the place of the files of a run from now on."""
    for path in (rows_path(folder), folder / ENVIRONMENT, folder / PLAN):
        outputs.protect(path)


def write_json(path: Path, value: dict, indent: int | None = 1) -> None:
    """Write a JSON file atomically, with its checksum; in one line if `indent` is None, for values of many parts."""
    with atomic_file(path) as stream:
        stream.write((json.dumps(sealed(value), indent=indent, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict:
    """Read a JSON object and remove its checksum. Raises InputError naming the file when it is missing, cannot be read
    or was changed after it was written."""
    try:
        return opened(path.read_bytes())[0]
    except FileNotFoundError:
        raise InputError("there is no such file, so this is not a run", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None
    except ValueError as error:
        raise InputError(f"cannot be read: {error}", path=path) from None


class _Implementation(BaseModel):
    """The types of what an environment says of an implementation; see `harness.plugins.facts`."""

    model_config = ConfigDict(extra="allow", strict=True)

    files: str
    distribution: str | None = None
    version: str | None = None
    editable: bool = False
    commit: str | None = None
    dirty: bool | None = None


class _Environment(BaseModel):
    """The types of the fields of an environment; see `harness.environment` for the fields."""

    model_config = ConfigDict(extra="allow", strict=True)

    grailbench: str | None = None
    code: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    fingerprint: str | None = None
    at: str | None = None
    cpu: str | None = None
    os: str | None = None
    python: str | None = None
    governor: str | None = None
    cores: _Count | None = None
    cores_physical: _Count | None = None
    cores_logical: _Count | None = None
    memory_bytes: _Count | None = None
    caches: dict[str, str | None] | None = None
    packages: dict[str, str] | None = None
    threads: dict[str, str | None] | None = None
    gpus: list[dict[str, str | _Count | None]] | None = None
    load_average: list[FiniteFloat] | None = None
    others: FiniteFloat | None = None
    command: list[str] | None = None
    implementations: dict[str, _Implementation] | None = None
    earlier: list[_Environment] = []
    client: bool | None = None
    pinned: list[_Count] | None = None
    workers: dict[str, _Environment] | None = None


def read_environment(folder: Path) -> dict:
    """The environment of a run. Raises InputError when it is missing, or naming a field with a wrong value."""
    path = folder / ENVIRONMENT
    found = read_json(path)
    try:
        _Environment.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"field {where!r} is wrong in an environment: {first['msg']}", path=path) from None
    return found


def rows_path(folder: Path) -> Path:
    """The file of the rows of a run, whether it is there or not."""
    compressed = folder / COMPRESSED
    return compressed if compressed.exists() else folder / ROWS


def content(folder: Path, name: str) -> bytes | None:
    """The bytes of one of the `FILES` of a run, of rows without their compression; None if it is missing.

    Raises OSError if it cannot be read, InputError if compressed rows are damaged.
    """
    path = rows_path(folder) if name == ROWS else folder / name
    if path.name == COMPRESSED:
        with file_opened(path, pipes=False) as source:
            return source.text.tobytes()
    return path.read_bytes() if path.exists() else None


def checksums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The sha256 of each of these files that a run has, of rows without their compression."""
    found = {name: content(folder, name) for name in names}
    return {name: hashlib.sha256(each).hexdigest() for name, each in found.items() if each is not None}


def compressed(rows: bytes) -> bytes:
    """The content of the file `COMPRESSED`: equal rows give equal bytes."""
    return gzip.compress(rows, 9, mtime=0)


def has_sums(folder: Path) -> bool:
    """Whether the first row of a run has a checksum; True for a run without rows."""
    try:
        with open(folder / ROWS, "rb") as stream:
            return opened(stream.readline())[1]
    except (FileNotFoundError, ValueError):
        return True


def format_of(folder: Path) -> int | None:
    """The format in the plan of a run: 1 if the plan has none, None if there is no plan.

    Raises InputError for a format that this version does not know.
    """
    path = folder / PLAN
    if not path.is_file():
        return None
    found = read_json(path).get("format", 1)
    if found not in range(1, FORMAT + 1):
        raise InputError(f"is of format {found!r}, this version reads up to {FORMAT}", path=path)
    return found


def read_rows(folder: Path) -> tuple[list[dict], Damage]:
    """The rows of complete trials, and what was left out at the end. There are no rows if the file is missing.

    Raises InputError naming the line when a complete line is no row, was changed, or contradicts another row.
    """
    rows, damage, _ = read_lines(folder)
    return rows, damage


def read_lines(folder: Path) -> tuple[list[dict], Damage, list[bytes]]:
    """The results of `read_rows`, and the lines of these rows."""
    path = rows_path(folder)
    try:
        found = content(folder, ROWS)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None
    if found is None:
        return [], Damage(), []
    # where the power went before a part of the file was on the disk it reads as zeros; nothing after it was either
    *lines, rest = found.partition(b"\0")[0].split(b"\n")
    torn = rest != b"" or b"\0" in found
    rows = parse_all(lines, path, sums=format_of(folder) == FORMAT)
    whole = _complete_trials(rows)
    return whole, Damage(torn, len(rows) - len(whole)), lines[: len(whole)]


def _complete_trials(rows: list[dict]) -> list[dict]:
    """The rows without those of a trial at the end whose last phase is missing."""
    end = len(rows)
    if end == 0 or rows[-1]["phase"] is None or ends_trial(rows[-1]):
        return rows
    key, trial = rows[-1]["key"], rows[-1]["trial"]
    while end and (rows[end - 1]["key"], rows[end - 1]["trial"]) == (key, trial):
        end -= 1
    return rows[:end]


def current(rows: list[dict]) -> list[dict]:
    """The current rows: for each cell those of its newest key, and a row without a phase only if it is the newest."""
    keys = [cell_of(row) for row in rows]
    last = {key: at for at, key in enumerate(keys)}
    return [
        row for at, (row, key) in enumerate(zip(rows, keys, strict=True))
        if row["key"] == rows[last[key]]["key"] and (row["phase"] is not None or at == last[key])
    ]  # fmt: skip


def require_no_run(folder: Path, remedy: str) -> None:
    """Raise InputError when a folder contains a run, or a file of another origin that a run would write to."""
    if is_run(folder):
        raise InputError("contains a run already", path=folder, remedy=remedy)
    require_own(folder / ENVIRONMENT)
    if (folder / ERRORS).exists():
        raise InputError(_FOREIGN, path=folder / ERRORS, remedy=_ELSEWHERE)


def require_own(path: Path) -> None:
    """Raise InputError when a file is there that grailbench did not write: one that is no JSON object with a checksum,
    or of earlier versions with the fingerprint of a machine."""
    if not path.exists():
        return
    try:
        found, summed = opened(path.read_bytes())
    except (OSError, ValueError):
        found, summed = {}, False
    if not summed and "fingerprint" not in found:
        raise InputError(_FOREIGN, path=path, remedy=_ELSEWHERE)


def is_run(folder: Path) -> bool:
    """Whether a folder has the files of a run."""
    return (folder / PLAN).exists() or rows_path(folder).exists()


def find_run(run: str | os.PathLike) -> Path:
    """The folder of a run, given its path, its name in results/runs, the unique beginning of that, or the name of a
    recorded run ('h200/thesis-gpu').

    Raises InputError when there is no such run, or several.
    """
    folder = Path(run)
    if is_run(folder):
        return folder
    names = [path.name for path in runs()] if str(run) else []  # nothing is the beginning of all
    fits = [name for name in names if name == str(run)] or [name for name in names if name.startswith(str(run))]
    if len(fits) == 1:
        return paths.runs_dir() / fits[0]
    if str(run) in (recorded := recorded_runs()):
        return recorded[str(run)]
    if fits:
        raise InputError(f"{len(fits)} runs begin with {str(run)!r}", remedy=f"such as {', '.join(fits[:3])}")
    raise InputError(f"no run {str(run)!r}", remedy="'grailbench list runs' shows them" if names else "none is stored")


def spoken(folder: Path) -> str:
    """The name of a run for commands: its own name when it is in results/runs, else its folder."""
    return folder.name if folder.resolve().parent == paths.runs_dir().resolve() else str(folder)


def runs() -> list[Path]:
    """The folders of the runs in results/runs, oldest first."""
    folder = paths.runs_dir()
    found = [path for path in folder.iterdir() if (path / PLAN).is_file()] if folder.is_dir() else []
    return sorted(found, key=lambda path: (_began(path), path.name))


def recorded_runs() -> dict[str, Path]:
    """The folders of the recorded runs by their names, in alphabetical order; none outside a checkout."""
    root = paths.checkout()
    home = root and root / "results" / "baselines"
    found = sorted(home.rglob(PLAN)) if home is not None and home.is_dir() else []
    return {path.parent.relative_to(home).as_posix(): path.parent for path in found}


def recorded_with(implementations: Container[str], graphs: Container[str]) -> str | None:
    """The name of the recorded run with most cells of these implementations, of those that have one on these graphs."""
    cells = {name: read_json(folder / PLAN).get("cells", []) for name, folder in recorded_runs().items()}
    own = {name: [cell for cell in found if cell["impl"] in implementations] for name, found in cells.items()}
    fits = [name for name, found in own.items() if any(cell["dataset"] in graphs for cell in found)]
    return max(fits, key=lambda name: len(own[name]), default=None)


def example_report() -> str | None:
    """The command that shows the recorded run with the thesis's tables on a GPU; None if there is none."""
    found = recorded_with(("gpu",), ("kegg",))
    return f"grailbench report {found}" if found else None


def _began(folder: Path) -> str:
    """When a run began, by its name or by the time of its folder."""
    stamp = re.match(r"\d{8}-\d{6}", folder.name)
    return stamp[0] if stamp else time.strftime("%Y%m%d-%H%M%S", time.localtime(folder.stat().st_mtime))


def latest_run(digest: str | None = None) -> Path:
    """The newest stored run, or the newest with the plan of this digest. Raises InputError when there is none."""
    for folder in reversed(runs()):
        if digest is None or read_json(folder / PLAN).get("digest") == digest:
            return folder
    which = "no run is stored" if digest is None else "no stored run has this plan"
    raise InputError(which, remedy=f"runs are in {paths.runs_dir()}")


def latest_results() -> Path:
    """The newest stored run that has a row. Raises InputError when there is none."""
    for folder in reversed(runs()):
        with suppress(OSError):
            if rows_path(folder).stat().st_size:
                return folder
    found = len(runs())
    which = "no run is stored" if not found else f"none of the {found} stored runs has a row"
    example = f"; of a recorded one: {command}" if (command := example_report()) else ""
    raise InputError(which, remedy=f"runs are in {paths.runs_dir()}{example}")


def now() -> str:
    """The current time for a row: UTC, in ISO format with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# ------------------------------------------------------------------ writing


class Writer:
    """Appends trials to the rows of a run, each in one write of whole lines to a file opened for appending.

    name  of the run
    sums  whether rows get checksums; a run that was started without them continues without them
    """

    def __init__(self, folder: Path):
        self.name, self.sums, self.path = folder.name, has_sums(folder), folder / ROWS
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
        with open(self.path.with_name(ERRORS), "a", encoding="utf-8") as log:
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
        require_no_run(folder, remedy=AGAIN)
        for name in (ROWS, ENVIRONMENT, PLAN, ERRORS):
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
    if (folder / COMPRESSED).exists():
        remedy = f"unpack {COMPRESSED} in a copy of the folder"
        raise InputError("is a recorded run, to which nothing is added", path=folder, remedy=remedy)
    rows, damage, lines = read_lines(folder)
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
