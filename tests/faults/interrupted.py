"""A command that is cut short, read, and called again: what kills.py, disks.py and powerloss.py do alike."""

import os
import shutil
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic

import failpoints
import record
import tasks
from tasks import Ended, Stage, Task, Wrong, difference, tree

from grailbench.harness.folder import read_lines


@dataclass
class Reference:
    """An undisturbed command: its operations, what it left, and what readers print of it."""

    operations: list[dict]
    tree: dict[str, object]
    printed: dict[tuple[str, ...], set[str]]  # of nothing done, and of all done


@dataclass
class Tally:
    """What was tried of a task."""

    operations: int = 0
    tries: int = 0
    faults: list[str] = field(default_factory=list)


def undisturbed(stage: Stage, task: Task) -> Reference:
    """Run a command to its end, and what reads it. Raises Wrong if one fails."""
    stage.restore()
    printed = {words: {read.out} for words in task.reads if (read := stage.call(*words)).code == 0}
    stage.restore()
    ended = stage.call(*task.words, order=stage.order("count"))
    if ended.code:
        raise Wrong(f"undisturbed, it ends with {ended.code}: {ended.err[-600:]}")
    operations, found = failpoints.read(stage.log), tree(stage.work)
    for words in task.reads:
        read = stage.call(*words)
        if read.code:
            raise Wrong(f"undisturbed, {' '.join(words)} ends with {read.code}: {read.err[-600:]}")
        printed.setdefault(words, set()).add(read.out)
    return Reference(operations, found, printed)


def finished(stage: Stage, task: Task) -> list[bytes]:
    """The lines of the complete trials of the task's run."""
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
    refusals = []
    for more in ((), *task.again):
        ended = stage.call(*task.words, *more)
        if ended.code == 0:
            return ended
        if fault := ended.fault:
            raise Wrong(f"then the command{' '.join(('', *more))} ends badly: {fault}")
        refusals.append(ended.err.strip())
    raise Wrong(f"then the command cannot be ended: {' | '.join(refusals)}"[:900])


def check_recovery(
    stage: Stage, task: Task, whole: Reference, but: tuple[str, ...] = (), before: Callable[[list[bytes], int], None]
    = lambda rows, refused: None,
) -> None:  # fmt: skip
    """Raises Wrong unless what is in `work` is read right or refused, and the command, called again, leaves what an
    undisturbed one leaves, with all finished rows. Files whose path begins with one of `but` may differ. `before` is
    given the finished rows and the number of refused reads."""
    left = stage.home / "left"
    shutil.rmtree(left, ignore_errors=True)
    shutil.copytree(stage.work, left, symlinks=True)
    rows = finished(stage, task)
    before(rows, read_all(stage, task, whole))
    stage.restore(left)
    go_on(stage, task)
    if (lines := finished(stage, task))[: len(rows)] != rows:
        raise Wrong(f"of {len(rows)} rows that were finished, not all are there when it went on ({len(lines)} rows)")
    compared = ({name: value for name, value in each.items() if not name.startswith(but)}
                for each in (tree(stage.work), whole.tree))  # fmt: skip
    if differs := difference(*compared):
        raise Wrong(f"after it went on: {differs}")
    if files := [path.name for path in (stage.home / "tmp").iterdir()]:
        raise Wrong(f"after it went on, {files[0]} is in the folder for temporary files")


def tried(operations: int, attempts: Iterable[tuple[str, Callable[[], None]]]) -> Tally:
    """Makes attempts, each with its description; those that raise Wrong are faults."""
    tally = Tally(operations)
    for what, attempt in attempts:
        tally.tries += 1
        try:
            attempt()
        except Wrong as fault:
            tally.faults.append(f"{what}: {fault}")
            record.warn(tally.faults[-1:])
    return tally


def at_operations(
    stage: Stage, task: Task, one: Callable[[Stage, Task, Reference, str, int], None], modes: tuple[str, str],
    kinds: Container[str] | None = None, part: int = 0, every: int = 1,
) -> Tally:  # fmt: skip
    """Tries a task at each of its operations, or of those of some kinds, and within each write of two bytes or more;
    `modes` are what happens there. Of operations only every so many, from `part` on."""
    whole, attempts = undisturbed(stage, task), []
    for each in [each for each in whole.operations if kinds is None or each["kind"] in kinds][part::every]:
        for mode in modes if each["kind"] == "write" and each["size"] > 1 else modes[:1]:
            at, where = each["number"], os.path.relpath(each["path"], stage.work)
            attempts.append((f"{task.name}, {mode} at {at} ({each['kind']} {where})",
                             partial(one, stage, task, whole, mode, at)))  # fmt: skip
    return tried(len(whole.operations), attempts)


def every_task(
    some: Sequence[str], figure: str, tallies: Callable[[Stage, Task], Iterator[tuple[str, Tally]]],
    processes: bool = False,
) -> record.Found:  # fmt: skip
    """Tries each task, or `some`; `tallies` gives what was tried of one and what came of it. Tasks that start processes
    are left out unless `processes`. `figure` has places for the number of tries, of tasks and of faults."""
    stage, found = Stage(), {}
    try:
        for task in tasks.TASKS:
            if (some and task.name not in some) or (task.processes and not processes):
                continue
            start = monotonic()
            try:
                stage.prepare(task)
                for what, tally in tallies(stage, task):
                    found[what] = tally
                    print(f"{what}: {tally.operations} operations, {tally.tries} tries, {len(tally.faults)} faults, "
                          f"{monotonic() - start:.0f} s", flush=True)  # fmt: skip
                    start = monotonic()
            except Wrong as error:
                found[task.name] = Tally(faults=[f"{task.name}: {error}"])
                record.warn(found[task.name].faults)
    finally:
        stage.close()
    faults = [fault for tally in found.values() for fault in tally.faults]
    counts = {"tries": sum(tally.tries for tally in found.values()), "tasks": len(found), "faults": len(faults)}
    details = {what: {"operations": tally.operations, "tries": tally.tries, "faults": len(tally.faults)}
               for what, tally in found.items()}  # fmt: skip
    return record.Found(figure.format(**counts), faults, details)


def lay(folder: Path, files: dict[str, bytes | str | None], pristine: Path) -> None:
    """Makes a folder hold files: bytes, targets of links, None for folders, by path; what is as in `pristine` has the
    times of that."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.mkdir()
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            if (before := pristine / name).is_file() and before.read_bytes() == content:
                shutil.copystat(before, path)
