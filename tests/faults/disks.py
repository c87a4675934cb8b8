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
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import click

sys.path.insert(0, str(Path(__file__).parent))

import record
import tasks
from failpoints import FAILING
from kills import Reference, Tally, check_outcome, finished, go_on, read_all, undisturbed
from tasks import Ended, Stage, Task, Wrong

#: the line for each error; what stands in parentheses is the remedy
LINE = {number: re.compile(rf"error: .*{os.strerror(number)}.*\(.+\)") for number in FAILING}


def one(stage: Stage, task: Task, whole: Reference, mode: str, at: int, error: int) -> int:
    """Run a command on a disk that is full from an operation on; see the module. Returns the reads refused."""
    stage.restore()
    ended = stage.call(*task.words, order=stage.order(mode, at, error=error))
    check_end(stage, ended, whole, at, error)
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


def check_end(stage: Stage, ended: Ended, whole: Reference, at: int, error: int) -> None:
    """Raise Wrong unless a command ended with one line that names a file and a remedy, or well."""
    if ended.code == 0:
        return
    if fault := ended.fault:
        raise Wrong(f"it ends badly: {fault}")
    line = next(line for line in ended.err.splitlines() if line.startswith("error: "))
    if not LINE[error].match(line):
        raise Wrong(f"the line says not what is wrong and what to do: {line}")
    where = Path(os.path.relpath(whole.operations[at - 1]["path"], stage.work))
    if not any(part in line for part in (where.name, *where.parts[:-1]) if part) and len(where.parts) > 1:
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


def fill_all(stage: Stage, task: Task, error: int, every: int = 1, told=lambda text: None) -> Tally:
    """Every try of a task with an error."""
    whole, tally = undisturbed(stage, task), Tally()
    tally.operations = len(whole.operations)
    for mode, at in points(whole, error, every):
        tally.tries += 1
        try:
            tally.refused += one(stage, task, whole, mode, at, error)
        except Wrong as fault:
            point = whole.operations[at - 1]
            where = os.path.relpath(point["path"], stage.work)
            tally.faults.append(
                f"{task.name}, {errno.errorcode[error]} {mode} at {at} ({point['kind']} {where}): {fault}"
            )
            told(tally.faults[-1])
    return tally


@click.command(help=__doc__.partition("\n\n")[0])
@click.option("--only", multiple=True, help="A task; may repeat. [default: all]")
@click.option("--every", default=1, show_default=True, help="Try every N-th operation only.")
@click.option("--nightly", is_flag=True, help="All of it, for `make faults`.")
@click.option("--record", "name", metavar="NAME", help="Write results/reliability/NAME.json.")
def main(only, every, nightly, name):
    began, stage, found = monotonic(), Stage(), {}
    try:
        for task in tasks.TASKS:
            if (only and task.name not in only) or task.processes:
                continue
            stage.prepare(task)
            for error in FAILING:
                start = monotonic()
                seldom = every if error == errno.ENOSPC else 5 * every
                tally = fill_all(stage, task, error, seldom, lambda text: print(f"WRONG: {text}", flush=True))
                found[task.name, errno.errorcode[error]] = tally
                print(f"{task.name}, {errno.errorcode[error]}: {tally.tries} tries, {tally.refused} reads refused, "
                      f"{len(tally.faults)} faults, {monotonic() - start:.0f} s", flush=True)  # fmt: skip
    finally:
        stage.close()
    faults = [fault for tally in found.values() for fault in tally.faults]
    if name:
        total = sum(tally.tries for tally in found.values())
        record.write(
            name, area="Kills, power loss and full disks",
            promise="On a full or failing disk a command ends with one line that names the file and the remedy; "
                    "nothing finished is lost, nothing partial passes for whole, and with room again it ends well.",
            test="tests/faults/disks.py", figure=f"{total:,} full disks, {len(faults)} faults",
            command=f"python tests/faults/disks.py --record {name}", seconds=monotonic() - began,
            details={f"{task}, {error}": {"tries": tally.tries, "faults": len(tally.faults)}
                     for (task, error), tally in found.items()},
        )  # fmt: skip
    sys.exit(int(bool(faults)))


if __name__ == "__main__":
    main()
