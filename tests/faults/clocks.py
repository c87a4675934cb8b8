"""Commands while the wall clock is set back and forth.

    python tests/faults/clocks.py
    python tests/faults/clocks.py --record clocks

Imports, fetches, runs, continued runs, histories and sweeps, one after the other and two at once, with a clock that is
years, hours or decades off at each look, before 1970 too. All must end as they do with a steady clock: with every row
once, no negative time, a folder for each run, and nothing swept that is in use. Exit code 1 if not.
"""

from __future__ import annotations

import datetime
import itertools
import json
import sys
import tempfile
import time
from pathlib import Path

import crowds
import record
from crowds import Place

YEAR_S = 365 * 86_400
JUMPS = (0.0, -YEAR_S, YEAR_S, -3600.0, 3600.0, -60.0 * YEAR_S, 20.0 * YEAR_S)
RUN = ("run", *crowds.FLAGS, "--trials")


def jumping(begin: int) -> None:
    """Sets the wall clock of this process to another time at each look; the monotonic clocks go on."""
    true, jumps = time.time, itertools.islice(itertools.cycle(JUMPS), begin, None)

    class Jumping(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(true() + next(jumps), tz)

    time.time = lambda: true() + next(jumps)
    time.time_ns = lambda: int(1e9 * (true() + next(jumps)))
    for module in [*sys.modules.values()]:
        if getattr(module, "__name__", "").startswith("grailbench") and hasattr(module, "datetime"):
            module.datetime = Jumping


def trial(begin: int) -> list[str]:
    """What is wrong after commands whose clock begins with the jump of that number."""
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        place = Place(Path(where))
        alone, out = str(place.folder / "alone"), str(place.out)
        place.at_once([[(*RUN, "4", "--out", alone)]])
        words = [
            ("import", "graph0.txt", "--name", "same"), ("fetch", "--all"), (*RUN, "2", "--out", out),
            (*RUN, "4", f"--resume={out}"), (*RUN, "4"), (*RUN, "4"), (*RUN, "4"), ("cache", "--prune"),
            ("list", "runs"), ("info", "same"),
        ]  # fmt: skip
        # the two of a crowd differ in the folder that they name
        other = [tuple(word.replace(out, f"{out}-other") for word in each) for each in words]
        found = place.at_once([words, other], lambda: jumping(begin))
        runs = [*sorted((place.folder / "runs").iterdir()), place.out, Path(f"{out}-other")]
        found += place.at_once([[("history", *map(str, runs))]], lambda: jumping(begin + 1))
        wrong = crowds._failed(found) + ([] if len(runs) == 8 else [f"{len(runs)} runs"])
        for run in runs:
            wrong += crowds._once(run, Path(alone))
            rows = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
            wrong += [f"{run.name}: {row['ms']} ms" for row in rows if row["phase"] and not row["ms"] >= 0]
        return [f"clock {begin}: {text}" for text in wrong]


@record.program(
    "Many processes, clocks and folders",
    "A wall clock that is set back or forth, by an hour or by decades, loses no row, makes no time negative, and has "
    "nothing in use removed.",
    night="The length of a night's share, which is the usual one.",
)
def main(nightly: bool) -> record.Found:
    wrong = [line for begin in range(len(JUMPS)) for line in record.warn(trial(begin))]
    figure = f"21 commands each with {len(JUMPS)} clocks that jump, {len(wrong)} faults"
    return record.Found(figure, wrong, {"jumps in seconds": list(JUMPS), "wrong": wrong})


if __name__ == "__main__":
    main()
