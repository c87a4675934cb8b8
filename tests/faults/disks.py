"""Commands that write, on a disk that is full from any of their operations on, or that fails; then there is room again.

    python tests/faults/disks.py --record full-disk
    python tests/faults/disks.py --only run --every 5

The k-th operation that needs room raises ENOSPC, as do all later ones; a write may put half its bytes before. The same
with EDQUOT and EIO. A command must end with one line that names the file and what to do, and a code that is not 0; or
with 0, if what failed is not needed. What is read then is whole or refused, and with room the command ends as if
nothing had been. Exit code 1 if not. With --tmpfs, on a file system of a few pages that is really full (as root).
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import attempts
import click
import record
from attempts import Tally
from failpoints import FAILING
from kills import Reference, check_outcome, finished, go_on, read_all, undisturbed
from tasks import Ended, Stage, Task, Wrong

#: the line for each error; what stands in parentheses is the remedy
REALLY, MOST_KIB = ("run", "import", "build streamed", "pack"), 1024  #: tasks on a tmpfs, and its greatest size
LINE = {number: re.compile(rf"error: .*({os.strerror(number)}|the disk is full).*\(.+\)") for number in FAILING}


def one(stage: Stage, task: Task, whole: Reference, mode: str, at: int, error: int) -> int:
    """Run a command on a disk that is full from an operation on; see the module. Returns the reads refused."""
    stage.restore()
    ended = stage.call(*task.words, order=stage.order(mode, at, error=error))
    where = Path(os.path.relpath(whole.operations[at - 1]["path"], stage.work))
    check_end(ended, error, (*where.parts[:-1], *task.words) if len(where.parts) > 1 else ())
    left = stage.home / "left"
    shutil.rmtree(left, ignore_errors=True)
    shutil.copytree(stage.work, left, symlinks=True)
    before = finished(stage, task)
    refused = read_all(stage, task, whole)
    if ended.code == 0 and refused:
        raise Wrong("it ended with 0, and what it left is refused")
    stage.restore(left)
    go_on(stage, task)
    check_outcome(stage, task, whole, before, ("run/errors.txt",))  # why cells failed stays there
    return refused


def check_end(ended: Ended, error: int, names: tuple[str, ...] = ()) -> None:
    """Raise Wrong unless a command ended with one line that says what is wrong, one of the names if there are some, and
    a remedy, or well."""
    if ended.code == 0:
        return
    if fault := ended.fault:
        raise Wrong(f"it ends badly: {fault}")
    line = next(line for line in ended.err.splitlines() if line.startswith("error: "))
    if not (LINE[error].match(line) or LINE[errno.ENOSPC].match(line)):  # what a write that was cut short means
        raise Wrong(f"the line says not what is wrong and what to do: {line}")
    if names and not any(name in line for name in names):
        raise Wrong(f"the line names no file: {line}")


def points(whole: Reference, error: int, every: int) -> Iterator[tuple[str, int]]:
    """Mode and number of each try: at every operation that the error can end, and within every write."""
    at = 0
    for each in whole.operations:
        if each["kind"] in FAILING[error]:
            at += 1
            if (at - 1) % every == 0:
                yield "fail", each["number"]
                if each["kind"] == "write" and each["size"] > 1:
                    yield "short", each["number"]


def fill_all(stage: Stage, task: Task, error: int, every: int = 1) -> Tally:
    """Every try of a task with an error."""
    whole, tally = undisturbed(stage, task), Tally()
    tally.operations = len(whole.operations)
    for mode, at in points(whole, error, every):
        point = whole.operations[at - 1]
        where = os.path.relpath(point["path"], stage.work)
        tally.attempt(
            lambda mode=mode, at=at: one(stage, task, whole, mode, at, error),
            lambda mode=mode, at=at, point=point, where=where:
                f"{task.name}, {errno.errorcode[error]} {mode} at {at} ({point['kind']} {where})",
        )  # fmt: skip
    return tally


def really_full(stage: Stage, task: Task) -> Tally | str:
    """Run a task on a tmpfs of few pages, then of more, until it has room: each time it must end as on a full disk, and
    end well when the file system grows. Returns why if none can be mounted here."""
    whole, tally, kib = undisturbed(stage, task), Tally(), 4
    while True:
        os.chdir(stage.home)
        shutil.rmtree(stage.work, ignore_errors=True)
        stage.work.mkdir()
        mounted = _mount("-t", "tmpfs", "-o", f"size={kib}k", "none", str(stage.work))
        if mounted is not None:
            return f"not run: {mounted}"
        try:
            _mount("-o", "remount,size=64m", str(stage.work))
            shutil.copytree(stage.pristine, stage.work, symlinks=True, dirs_exist_ok=True)
            os.chdir(stage.work)
            if _mount("-o", f"remount,size={kib}k", str(stage.work)) is None:  # or less than is there already
                ended, tally.tries = stage.call(*task.words), tally.tries + 1
                check_end(ended, errno.ENOSPC)
                before = finished(stage, task)
                _mount("-o", "remount,size=64m", str(stage.work))
                tally.refused += read_all(stage, task, whole)
                go_on(stage, task)
                check_outcome(
                    stage, task, whole, before, ("run/errors.txt", "run/report", "cache")
                )  # which readers make
                if ended.code == 0:
                    return tally
        except Wrong as fault:
            tally.faults.append(f"{task.name}, a disk of {kib} KiB: {fault}")
            record.told(tally.faults[-1:])
        finally:
            os.chdir(stage.home)
            subprocess.run(["umount", str(stage.work)], check=True)
        kib += 4
        if kib > MOST_KIB:
            tally.faults.append(f"{task.name}: {MOST_KIB} KiB are not enough")
            return tally


def _mount(*words: str) -> str | None:
    """Why something cannot be mounted; None if it was."""
    try:
        done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip() or f"mount ended with {done.returncode}"


def tried(stage: Stage, task: Task, every: int, tmpfs: bool) -> Iterator[tuple[str, Tally | str]]:
    """What is tried of a task, and what came of it."""
    if task.name in REALLY:
        yield f"{task.name}, a real tmpfs", really_full(stage, task)
    for error in () if tmpfs else FAILING:
        seldom = every if error == errno.ENOSPC else 5 * every
        yield f"{task.name}, {errno.errorcode[error]}", fill_all(stage, task, error, seldom)


@record.program(
    "Kills, power loss and full disks",
    "On a full or failing disk a command ends with one line that names the file and the remedy; nothing finished is "
    "lost, nothing partial passes for whole, and with room again it ends well.",
    night="Every third operation, for `make faults`.",
)
@click.option("--only", multiple=True, help="A task; may repeat. [default: all]")
@click.option("--every", default=1, show_default=True, help="Try every N-th operation only.")
@click.option("--tmpfs", is_flag=True, help="Only on a file system that is really full.")
def main(only: tuple[str, ...], every: int, tmpfs: bool, nightly: bool) -> record.Found:
    every = 3 if nightly else every
    found = attempts.of_each(only, "tries", lambda stage, task: tried(stage, task, every, tmpfs))
    return attempts.found_of(found, "tries", "{tries:,} full disks, {faults} faults")


if __name__ == "__main__":
    main()
