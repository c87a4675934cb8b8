"""Commands that write, killed before and within each of their operations on files, one after the other; then what a
user would do, and the outcome against that of an undisturbed one.

    python tests/faults/kills.py --record kills-commands
    python tests/faults/kills.py --only run --every 5

Exit code 1 if a promise broke: something partial passed for whole, a finished trial was lost, the command could not be
ended, the outcome differed, or something was left behind.
"""

import json

import click
import interrupted
import record
from interrupted import Reference, Tally
from tasks import Stage, Task, Wrong


def one(stage: Stage, task: Task, whole: Reference, mode: str, at: int) -> None:
    """Kills a command at one operation, and checks what follows."""
    stage.restore()
    ended = stage.call(*task.words, order=stage.order(mode, at))
    if ended.code != -9:
        raise Wrong(f"was not killed, but ended with {ended.code}: {ended.err[-300:]}")
    # each write to the rows is a trial, and cannot be lost to a kill
    trials = sum(each["kind"] == "write" and each["path"].endswith(f"{task.rows}/trials.jsonl")
                 for each in whole.operations[: at - 1])  # fmt: skip

    def none_is_lost(rows: list[bytes], refused: int) -> None:
        if task.rows and len({(row["key"], row["trial"]) for row in map(json.loads, rows)}) < trials:
            raise Wrong(f"only {len(rows)} rows are left of {trials} trials that were finished")

    interrupted.check_recovery(stage, task, whole, before=none_is_lost)


def kill_all(stage: Stage, task: Task, part: int = 0, parts: int = 1) -> Tally:
    """Every kill of a task; of every `parts`-th operation, if that is over 1."""
    return interrupted.at_operations(stage, task, one, ("kill", "torn"), part=part, every=parts)


@record.program(
    "Kills, power loss and full disks",
    "A command that is killed at any moment and called again ends as if it had not been; nothing finished is lost, and "
    "nothing partial passes for whole.",
    night="All of it, for `make faults`.",
)
@click.option("--only", multiple=True, help="A task; may repeat. [default: all]")
@click.option("--every", type=int, help="Every N-th operation only. [default: all; fewer of tasks that take seconds]")
def main(only: tuple[str, ...], every: int | None, nightly: bool) -> record.Found:
    return interrupted.every_task(
        only, "{tries:,} kills of {tasks} commands, {faults} differences",
        lambda stage, task: iter([(task.name, kill_all(stage, task, 0, every or task.dear))]), processes=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
