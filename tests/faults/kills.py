"""Commands that write, killed before and within each of their operations on files, one after the other; then what a
user would do, and the outcome against that of an undisturbed one.

    python tests/faults/kills.py --record kills-commands
    python tests/faults/kills.py --only run --only import --first 50

Exit code 1 if a promise broke: something partial passed for whole, a finished trial was lost, the command could not be
ended, the outcome differed, or something was left behind.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import attempts
import click
import failpoints
import record
from attempts import Tally
from tasks import Ended, Stage, Task, Wrong, difference, tree


@dataclass
class Reference:
    """An undisturbed command: its operations, what it left, and what readers print of it."""

    operations: list[dict]
    tree: dict[str, object]
    printed: dict[tuple[str, ...], set[str]]  # of nothing done, and of all done


def undisturbed(stage: Stage, task: Task) -> Reference:
    """Run a command to its end, and what reads it. Raises Wrong if one fails."""
    stage.restore()
    printed = {words: {read.out} for words in task.reads if (read := stage.call(*words)).code == 0}
    stage.restore()
    ended = stage.call(*task.words, order=stage.order("count"))
    if ended.code:
        raise Wrong(f"undisturbed, it ends with {ended.code}: {ended.err[-600:]}")
    operations, found = failpoints.read(stage.log), tree(stage.work, task)
    for words in task.reads:
        read = stage.call(*words)
        if read.code:
            raise Wrong(f"undisturbed, {' '.join(words)} ends with {read.code}: {read.err[-600:]}")
        printed.setdefault(words, set()).add(read.out)
    return Reference(operations, found, printed)


def finished(stage: Stage, task: Task) -> list[bytes]:
    """The lines of the complete trials of the task's run."""
    from grailbench.harness.folder import read_lines

    where = stage.work / (task.rows or "")
    return read_lines(where)[2] if task.rows and where.is_dir() else []


def read_all(stage: Stage, task: Task, whole: Reference) -> int:
    """Read what a cut short command left. Returns how many reads were refused; raises Wrong if one was answered with
    something else than the truth, or refused with more than a line."""
    refused = 0
    for words in task.reads:
        read = stage.call(*words)
        if read.code == 0:
            if task.exact and read.out not in whole.printed[words]:
                raise Wrong(f"then '{' '.join(words)}' prints something else than of a whole one: {read.out[-400:]}")
        elif fault := read.fault:
            raise Wrong(f"then '{' '.join(words)}' ends badly: {fault}")
        else:
            refused += 1
    return refused


def go_on(stage: Stage, task: Task) -> Ended:
    """What a user does: the same command, and where that is refused what the refusal says. Raises Wrong if none ends
    well."""
    said = []
    for more in ((), *task.again):
        ended = stage.call(*task.words, *more)
        if ended.code == 0:
            return ended
        if fault := ended.fault:
            raise Wrong(f"then the command{' '.join(('', *more))} ends badly: {fault}")
        said.append(ended.err.strip())
    raise Wrong(f"then the command cannot be ended: {' | '.join(said)}"[:900])


def check_outcome(stage: Stage, task: Task, whole: Reference, before: list[bytes], but: tuple[str, ...] = ()) -> None:
    """Raise Wrong unless `work` is what an undisturbed command leaves, with the lines that were there `before`. Files
    whose path begins with one of `but` may differ."""
    if (lines := finished(stage, task))[: len(before)] != before:
        raise Wrong(f"of {len(before)} rows that were finished, not all are there when it went on ({len(lines)} rows)")
    compared = ({name: value for name, value in each.items() if not name.startswith(but)}
                for each in (tree(stage.work, task), whole.tree))  # fmt: skip
    if said := difference(*compared):
        raise Wrong(f"after it went on: {said}")
    if left := [path.name for path in (stage.home / "tmp").iterdir()]:
        raise Wrong(f"after it went on, {left[0]} is in the folder for temporary files")


def appended(whole: Reference, task: Task, until: int) -> int:
    """How many writes to the rows came before an operation: each is a trial, and cannot be lost to a kill."""
    return sum(
        each["kind"] == "write" and each["path"].endswith(f"{task.rows}/trials.jsonl")
        for each in whole.operations[: until - 1]
    )


def one(stage: Stage, task: Task, whole: Reference, mode: str, at: int) -> int:
    """Kill a command at one operation, read, go on, compare. Returns how many reads were refused."""
    stage.restore()
    ended = stage.call(*task.words, order=stage.order(mode, at))
    if ended.code != -9:
        raise Wrong(f"was not killed, but ended with {ended.code}: {ended.err[-300:]}")
    left = stage.home / "left"
    shutil.rmtree(left, ignore_errors=True)
    shutil.copytree(stage.work, left, symlinks=True)
    before = finished(stage, task)
    if task.rows and len({(row["key"], row["trial"]) for row in map(_row, before)}) < appended(whole, task, at):
        raise Wrong(f"only {len(before)} rows are left of {appended(whole, task, at)} trials that were finished")
    refused = read_all(stage, task, whole)
    stage.restore(left)
    go_on(stage, task)
    check_outcome(stage, task, whole, before)
    return refused


def _row(line: bytes) -> dict:
    import json

    return json.loads(line)


def points(whole: Reference, part: int, parts: int) -> Iterator[tuple[str, int]]:
    """Mode and number of each kill: before every operation, and within every write of 2 bytes or more."""
    for each in whole.operations:
        if (each["number"] - 1) % parts == part:
            yield "kill", each["number"]
            if each["kind"] == "write" and each["size"] > 1:
                yield "torn", each["number"]


def kill_all(stage: Stage, task: Task, part: int = 0, parts: int = 1) -> Tally:
    """Every kill of a task; of every `parts`-th operation, if that is over 1."""
    whole, tally = undisturbed(stage, task), Tally()
    tally.operations = len(whole.operations)
    for mode, at in points(whole, part, parts):
        point = whole.operations[at - 1]
        where = os.path.relpath(point["path"], stage.work)
        tally.attempt(
            lambda mode=mode, at=at: one(stage, task, whole, mode, at),
            lambda mode=mode, at=at, point=point, where=where:
                f"{task.name}, {mode} at {at} ({point['kind']} {where})",
        )  # fmt: skip
    return tally


@record.program(
    "Kills, power loss and full disks",
    "A command that is killed at any moment and called again ends as if it had not been; nothing finished is lost, and "
    "nothing partial passes for whole.",
    night="All of it, for `make faults`.",
)
@click.option("--only", multiple=True, help="A task; may repeat. [default: all]")
@click.option("--every", type=int, help="Every N-th operation only. [default: all; fewer of tasks that take seconds]")
def main(only: tuple[str, ...], every: int | None, nightly: bool) -> record.Found:
    found = attempts.of_each(
        only, "kills", lambda stage, task: iter([(task.name, kill_all(stage, task, 0, every or task.dear))]),
        processes=True,
    )  # fmt: skip
    return attempts.found_of(found, "kills", "{tries:,} kills of {tasks} commands, {faults} differences")


if __name__ == "__main__":
    main()
