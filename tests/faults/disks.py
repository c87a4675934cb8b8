"""Commands that write, on a disk that is full from any of their operations on, or that fails; then there is room again.

    python tests/faults/disks.py --record full-disk
    python tests/faults/disks.py --only run --every 5

The k-th operation that needs room raises ENOSPC, as do all later ones; a write may put half its bytes before. The same
with EDQUOT and EIO. A command must end with one line that names the file and what to do, and a code that is not 0; or
with 0, if what failed is not needed. What is read then is whole or refused, and with room the command ends as if
nothing had been. Exit code 1 if not.
"""

import errno
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
import interrupted
import record
from failpoints import FAILING
from interrupted import Reference, Tally
from tasks import Ended, Stage, Task, Wrong

#: the line for each error; what stands in parentheses is the remedy
LINE = {number: re.compile(rf"error: .*({os.strerror(number)}|the disk is full).*\(.+\)") for number in FAILING}


def one(stage: Stage, task: Task, whole: Reference, mode: str, at: int, error: int) -> None:
    """Runs a command on a disk that is full from an operation on, and checks what follows."""
    stage.restore()
    ended = stage.call(*task.words, order=stage.order(mode, at, error=error))
    where = Path(os.path.relpath(whole.operations[at - 1]["path"], stage.work))
    check_end(ended, error, (*where.parts[:-1], *task.words) if len(where.parts) > 1 else ())

    def whole_if_it_ended(rows: list[bytes], refused: int) -> None:
        if ended.code == 0 and refused:
            raise Wrong("it ended with 0, and what it left is refused")

    # why cells failed stays in errors.txt
    interrupted.check_recovery(stage, task, whole, ("run/errors.txt",), whole_if_it_ended)


def check_end(ended: Ended, error: int, names: tuple[str, ...] = ()) -> None:
    """Raise Wrong unless a command ended with one line that says what is wrong, one of the names if there are some, and
    a remedy, or well."""
    if ended.code == 0:
        return
    if fault := ended.fault:
        raise Wrong(f"with {errno.errorcode[error]}, it ends badly: {fault}")
    (line,) = ended.errors
    if not (LINE[error].match(line) or LINE[errno.ENOSPC].match(line)):  # what a write that was cut short means
        raise Wrong(f"the line says not what is wrong and what to do: {line}")
    if names and not any(name in line for name in names):
        raise Wrong(f"the line names no file: {line}")


def fill_all(stage: Stage, task: Task, error: int, every: int = 1) -> Tally:
    """Every try of a task with an error, at every operation that it can end."""
    failing = partial(one, error=error)
    return interrupted.at_operations(stage, task, failing, ("fail", "short"), FAILING[error], every=every)


@record.program(
    "Kills, power loss and full disks",
    "On a full or failing disk a command ends with one line that names the file and the remedy; nothing finished is "
    "lost, nothing partial passes for whole, and with room again it ends well.",
    night="Every third operation, for `make faults`.",
)
@click.option("--only", multiple=True, help="A task; may repeat. [default: all]")
@click.option("--every", default=1, show_default=True, help="Try every N-th operation only.")
def main(only: tuple[str, ...], every: int, nightly: bool) -> record.Found:
    every = 3 if nightly else every

    def tallies(stage: Stage, task: Task) -> Iterator[tuple[str, Tally]]:
        for error in FAILING:
            seldom = every if error == errno.ENOSPC else 5 * every
            yield f"{task.name}, {errno.errorcode[error]}", fill_all(stage, task, error, seldom)

    return interrupted.every_task(only, "{tries:,} full disks, {faults} faults", tallies)


if __name__ == "__main__":
    main()
