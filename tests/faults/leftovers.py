"""Processes that are killed while they write, and what they leave.

    python tests/faults/leftovers.py
    python tests/faults/leftovers.py --count 200 --record cache-sweeps

Processes write files and hold temporary folders, in one folder. Some are killed (SIGKILL) at a moment drawn at random,
while others sweep all the time. In the end everything of the killed must be gone, everything of the living must be
there, and every file that was finished must be whole. Exit code 1 if not.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from pathlib import Path

import click
import record

from grailbench.util import outputs, temporary

CONTENT = b"whole" * 2000
PROCESSES = 6
NIGHT = 100  #: crowds of `--nightly`
PATIENCE = 60.0  #: seconds in which a process that sweeps takes away what it has found


def _writing(folder: Path, number: int) -> None:
    """Be a process that holds a folder and writes files, until it is killed."""
    tempfile.tempdir = str(folder)
    held = temporary.Folder("leftover"), temporary.File(folder / f"held{number}")
    (held[0].path / "spread.index").write_bytes(b"half")
    (folder / f"ready{number}").write_text(f"{held[0].path.name}\n{held[1].path.name}")
    while True:
        with outputs.atomic_file(folder / f"file{number}") as stream:
            for at in range(0, len(CONTENT), 1000):
                stream.write(CONTENT[at : at + 1000])
                stream.flush()
        temporary.sweep(folder)
        time.sleep(0.001)


def trial(seed: int) -> list[str]:
    """What is wrong after one crowd, of which half were killed."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        folder, pids, killed = Path(where), [], set()
        for number in range(PROCESSES):
            if (pid := os.fork()) == 0:
                try:
                    temporary._swept.clear()
                    _writing(folder, number)
                finally:
                    os._exit(1)
            pids.append(pid)
        try:
            late = time.monotonic() + 300
            while len(list(folder.glob("ready*"))) < PROCESSES and time.monotonic() < late:
                time.sleep(0.01)
            killed = set(drawn.sample(range(PROCESSES), PROCESSES // 2))
            for number in killed:
                time.sleep(drawn.random() / 100)
                os.kill(pids[number], signal.SIGKILL)
                os.waitpid(pids[number], 0)
            living = [number for number in range(PROCESSES) if number not in killed]
            temporary.sweep(folder)
            wrong = _harmed(folder, living)
            late = time.monotonic() + PATIENCE
            # a living process that sweeps holds the lock of what it is about to take away
            while (left := _left(folder, killed, [pids[n] for n in living])) and time.monotonic() < late:
                time.sleep(0.01)
                temporary.sweep(folder)
            return [f"crowd {seed}: {text}" for text in wrong + left]
        finally:
            for number, pid in enumerate(pids):
                if number not in killed:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)


def _harmed(folder: Path, living: list[int]) -> list[str]:
    """What the living had and have not, and files that are not whole."""
    found = [f"{name} of a living process is gone" for number in living
             for name in (folder / f"ready{number}").read_text().split() if not (folder / name).exists()]  # fmt: skip
    return found + [f"{path.name} is not whole" for path in folder.glob("file*") if path.read_bytes() != CONTENT]


def _left(folder: Path, killed: set[int], pids: list[int]) -> list[str]:
    """What is there of the killed; `pids` are the living."""
    held = {name for number in killed for name in (folder / f"ready{number}").read_text().split()}
    there = {path.name for path in folder.iterdir()}
    found = [f"{name} of a killed process is there" for name in sorted(held & there)]
    marks = tuple(f".{temporary.boot()}-{pid}-" for pid in pids)
    return found + [f"{name} is left" for name in sorted(there - held)
                    if name.endswith(".tmp") and not any(mark in name for mark in marks)]  # fmt: skip


@record.program(
    "Caches and temporary files",
    "What a killed process leaves is removed by the next that writes there; what a living one has, never.",
    night=f"{NIGHT} crowds.",
)
@click.option("--count", default=20, show_default=True, help="Crowds.")
@click.option("--seed", default=1, show_default=True)
def main(count: int, seed: int, nightly: bool) -> record.Found:
    count = NIGHT if nightly else count
    wrong = [line for number in range(seed, seed + count) for line in record.told(trial(number))]
    kills = count * (PROCESSES // 2)
    figure = f"{kills:,} processes killed beside {kills:,} that lived, {len(wrong)} files left or taken"
    return record.Found(figure, wrong, {"seed": seed, "crowds": count, "wrong": wrong})


if __name__ == "__main__":
    main()
