"""What kills.py, disks.py and powerloss.py do alike: try each task, count what was tried, say and record it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

import record
import tasks
from tasks import Stage, Task, Wrong


@dataclass
class Tally:
    """What was tried of a task."""

    operations: int = 0
    tries: int = 0
    refused: int = 0  # reads that were refused, with one line
    faults: list[str] = field(default_factory=list)

    def attempt(self, work: Callable[[], int], what: Callable[[], str]) -> None:
        """Try once: `work` returns how many reads were refused, or raises Wrong; `what` is then said of it."""
        self.tries += 1
        try:
            self.refused += work()
        except Wrong as fault:
            self.faults.append(f"{what()}: {fault}")
            record.told(self.faults[-1:])


def of_each(
    some: Sequence[str], tries: str, attempts: Callable[[Stage, Task], Iterator[tuple[str, Tally | str]]],
    processes: bool = False,
) -> dict[str, Tally | str]:  # fmt: skip
    """What came of each task, or of `some`, by what was tried, which `attempts` gives one after the other; a text says
    why nothing was. Tasks that start processes are left out unless `processes`. `tries` is the word for them."""
    stage, found = Stage(), {}
    try:
        for task in tasks.TASKS:
            if (some and task.name not in some) or (task.processes and not processes):
                continue
            start = monotonic()
            try:
                stage.prepare(task)
                for what, tally in attempts(stage, task):
                    found[what] = tally
                    said = tally if isinstance(tally, str) else (
                        f"{tally.operations} operations, {tally.tries} {tries}, {tally.refused} reads refused, "
                        f"{len(tally.faults)} faults, {monotonic() - start:.0f} s"
                    )  # fmt: skip
                    print(f"{what}: {said}", flush=True)
                    start = monotonic()
            except Wrong as error:
                found[task.name] = Tally(faults=[f"{task.name}: {error}"])
                record.told(found[task.name].faults)
    finally:
        stage.close()
    return found


def found_of(found: dict[str, Tally | str], tries: str, figure: str) -> record.Found:
    """What a program tells of its tasks. `figure` has places for the number of tries, of tasks and of faults."""
    tallies = [tally for tally in found.values() if isinstance(tally, Tally)]
    faults = [fault for tally in tallies for fault in tally.faults]
    counts = {"tries": sum(tally.tries for tally in tallies), "tasks": len(tallies), "faults": len(faults)}
    details = {what: tally if isinstance(tally, str) else
               {"operations": tally.operations, tries: tally.tries, "faults": len(tally.faults)}
               for what, tally in found.items()}  # fmt: skip
    return record.Found(figure.format(**counts), faults, details)
