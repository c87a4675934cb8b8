"""Random digraphs through every implementation, with answers held against plain Python (`naive`).

    python tests/faults/digraphs.py --gpu --count 10000 --processes 13 --out found --record gpu-digraphs

A digraph is known by its number: the same number always gives the same digraph and parameters, so a fault is seen again
with `--first NUMBER --count 1`. Each implementation answers on the condensed graph or the edges as it takes them, and
from edges too where it can start there. What was asked is written to the folder --out digraph by digraph; whoever calls
again with that folder, or names earlier ones with --done, goes on where the last call ended. The table at the end is
that of all calls: implementation, digraphs, answers compared, faults. Exit code 1 if there is a fault, or an
implementation that saw fewer digraphs than were asked for.
"""

from __future__ import annotations

import faulthandler
import hashlib
import inspect
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

import asked
import click
import numpy as np
import record

from grailbench.util import faults as lost

KINDS = ("any", "dense", "dag", "chain", "cycle", "hub", "layers", "tree", "islands", "loops")
LARGE, MOST_LARGE, MOST_SMALL = 64, 200, 16  #: one in so many digraphs has up to so many vertices, others few
LOST = 75  #: exit code of a process that lost its GPU: another one goes on
STUCK = 180  #: seconds after which a process says where it is
RESTARTS = 40


def drawn(number: int) -> tuple[int, np.ndarray]:
    """A digraph: its vertices, and its edges as int64[m, 2]. One in 64 has up to 200 vertices, others few."""
    random = np.random.default_rng((20, number))
    large = number % LARGE == 0
    kind = KINDS[(number // LARGE if large else number) % len(KINDS)]
    vertices = int(random.integers(0 if kind == "any" else 1, 1 + (MOST_LARGE if large else MOST_SMALL)))
    ends = _edges(kind, vertices, random) if vertices else np.empty((0, 2), np.int64)
    if ends.shape[0] and random.random() < 0.3:  # duplicates, in any place
        ends = np.concatenate([ends, ends[random.integers(0, ends.shape[0], 1 + ends.shape[0] // 8)]])
        random.shuffle(ends)
    if random.random() < 0.2:
        vertices += int(random.integers(1, 10))  # isolated
    names = random.permutation(vertices) if random.random() < 0.7 else np.arange(vertices)
    return vertices, names[ends].reshape(-1, 2)


def _edges(kind: str, vertices: int, random: np.random.Generator) -> np.ndarray:
    def pairs(count: int) -> np.ndarray:
        return random.integers(0, vertices, (count, 2))

    path = np.stack([np.arange(vertices - 1), np.arange(1, vertices)], axis=1)
    if kind == "dense":
        return pairs(vertices * min(vertices, 24))
    if kind == "dag":
        return np.sort(found := pairs(3 * vertices), axis=1)[found[:, 0] != found[:, 1]]
    if kind == "chain":
        return np.concatenate([path, np.sort(pairs(4), axis=1)])
    if kind == "cycle":
        return np.concatenate([path, [[vertices - 1, 0]], pairs(2)])
    if kind == "hub":
        hub, all_of = random.integers(vertices), np.arange(vertices)
        forward = np.stack([all_of, np.full(vertices, hub)], axis=1)
        into = random.random(vertices) < random.random()
        return np.concatenate([np.where(into[:, None], forward, forward[:, ::-1]), pairs(5)])
    if kind == "layers":
        wide = int(random.integers(1, 12))
        found = pairs(3 * vertices)
        return found[found[:, 0] // wide + 1 == found[:, 1] // wide]
    if kind == "tree":
        below = np.arange(1, vertices)
        above = (random.random(vertices - 1) * below).astype(np.int64)
        return np.stack([above, below], 1) if random.random() < 0.5 else np.stack([below, above], 1)
    if kind == "islands":
        size = int(random.integers(2, 9))
        found = pairs(2 * vertices)
        return found[found[:, 0] // size == found[:, 1] // size]
    if kind == "loops":
        return np.concatenate([pairs(vertices), np.repeat(np.arange(vertices), 2).reshape(-1, 2)])
    return pairs(int(random.integers(0, 4 * vertices)))


@dataclass
class Tally:
    """What one implementation was asked: digraphs, answers that were compared one by one, seconds, and faults."""

    digraphs: int = 0
    answers: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


class Sweep:
    """Digraphs through implementations, a row for each digraph: number, answers, milliseconds and faults of each."""

    def __init__(self, gpu: bool, only: tuple[str, ...] = ()):
        self.gpu, self.found = gpu, list(asked.implementations(gpu, only))
        self.names = [f"{problem.name}/{name}" for problem, name, _ in self.found]

    def key(self) -> str:
        """A text that changes when the same number may mean something else."""
        told = [inspect.getsource(each) for each in (drawn, _edges, asked.params_of)]
        return hashlib.sha256("\n".join([*self.names, *told]).encode()).hexdigest()[:8]

    def row(self, number: int, first: int = 0) -> dict:
        """Asks all implementations, from number `first` on in turn, about one digraph."""
        digraph = asked.Digraph(f"digraph {number}", number, *drawn(number))
        answers, ms, faults = [0] * len(self.found), [0] * len(self.found), {}
        for at in range(first, first + len(self.found)):
            at %= len(self.found)
            problem, _, implementation = self.found[at]
            params = asked.params_of(problem, implementation, number)
            start = monotonic()
            try:
                with asked.condensing(self.gpu and number % 2 == 1):
                    answers[at] = asked.check(digraph, problem, implementation, params)
            except Exception as error:
                error = lost.explained(error) or error
                where = traceback.extract_tb(error.__traceback__)[-1]
                what = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
                faults[str(at)] = f"digraph {number}, {params}: {what}"
            ms[at] = round(1e3 * (monotonic() - start))
            if lost.lost is not None:  # what followed in this process could only fail
                return {"n": number, "answers": answers, "ms": ms, "faults": faults, "lost": True}
        return {"n": number, "answers": answers, "ms": ms, "faults": faults}

    def rows(self, numbers: Iterable[int], until: float, turn: float = 0.0) -> Iterator[dict]:
        """Rows until the clock shows `until`. turn: where the first begins, a share of the implementations, so that
        several processes do not all compile the same kernels first, which the others then find on disk."""
        first = int(turn * len(self.found))
        for number in numbers:
            if monotonic() > until:
                return
            faulthandler.dump_traceback_later(STUCK, repeat=True)
            yield self.row(number, first)
            first = 0
        faulthandler.cancel_dump_traceback_later()

    def tallies(self, rows: Iterable[dict]) -> dict[str, Tally]:
        """The rows of each implementation together."""
        found = {name: Tally() for name in self.names}
        for row in rows:
            for at, tally in enumerate(found.values()):
                tally.digraphs += 1
                tally.answers += row["answers"][at]
                tally.seconds += row["ms"][at] / 1e3
            for at, fault in row["faults"].items():
                found[self.names[int(at)]].faults.append(fault)
        return found


class Kept:
    """Rows of several calls: a file of one folder, to which processes append, and those of earlier folders."""

    def __init__(self, sweep: Sweep, folder: Path, earlier: tuple[Path, ...] = ()):
        name = f"{'gpu' if sweep.gpu else 'cpu'}-{sweep.key()}.jsonl"
        self._file, self._earlier = folder / name, [each / name for each in earlier]
        folder.mkdir(parents=True, exist_ok=True)
        self._file.touch()

    def add(self, row: dict) -> None:
        """Appends a row in one write; the line begins with its break, so that a killed one spoils no other."""
        place = os.open(self._file, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(place, b"\n" + json.dumps(row, separators=(",", ":")).encode())
        finally:
            os.close(place)

    def rows(self) -> dict[int, dict]:
        """Whole rows by number. One that lost the GPU counts from the second time on: processes that share a GPU by
        MPS all lose it, whichever of them it was."""
        found, lost_once = {}, set()
        for path in (*self._earlier, self._file):
            for line in path.read_bytes().split(b"\n") if path.exists() else ():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                if row.get("lost") and row["n"] not in lost_once:
                    lost_once.add(row["n"])
                    continue
                found[row["n"]] = row
        return found


def sweep(numbers: Iterable[int], gpu: bool, only: tuple[str, ...], until: float) -> dict[str, Tally]:
    """Each digraph through each implementation, in this process, until the clock shows `until`."""
    found = Sweep(gpu, only)
    return found.tallies(found.rows(numbers, until))


def table(tallies: dict[str, Tally]) -> str:
    """A line for each implementation."""
    wide = max(map(len, tallies), default=0)
    lines = [f"{'implementation':{wide}}  digraphs    answers  seconds  faults"]
    for name, tally in tallies.items():
        numbers = f"{tally.digraphs:8,}  {tally.answers:9,}  {tally.seconds:7,.0f}  {len(tally.faults):6,}"
        lines.append(f"{name:{wide}}  {numbers}")
    return "\n".join(lines)


@record.program("", "")
@click.option("--gpu/--cpu", default=False, help="Implementations on a GPU, or ours on the CPU.")
@click.option("--count", default=100, show_default=True)
@click.option("--first", default=0, help="The number of the first digraph.")
@click.option("--processes", default=1, show_default=True)
@click.option("--part", default=0, hidden=True)
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION; may repeat.")
@click.option("--seconds", type=float, default=float("inf"), help="Stop after so long; another call goes on.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of what was asked.")
@click.option("--done", multiple=True, type=click.Path(path_type=Path), help="Folder of an earlier call; may repeat.")
def main(gpu, count, first, processes, part, only, seconds, out, done) -> record.Found:
    began, wanted = monotonic(), range(first, first + count)
    found = Sweep(gpu, only)
    if out is None:
        if processes > 1 or done:
            raise click.UsageError("several processes or calls meet in a folder: give --out")
        rows = {row["n"]: row for row in found.rows(wanted, began + seconds)}
    else:
        kept = Kept(found, out, done)
        there = kept.rows()
        mine = [number for number in wanted[max(part - 1, 0) :: processes if part else 1] if number not in there]
        if part or processes == 1:
            _work(found, kept, mine, began + seconds, max(part - 1, 0) / processes)
        else:
            _apart(sys.argv[1:], processes, mine, kept, began + seconds)
        if part:
            sys.exit()
        rows = kept.rows()
    rows = [rows[number] for number in wanted if number in rows]
    tallies = found.tallies(rows)
    faults = [fault for tally in tallies.values() for fault in tally.faults]
    print(table(tallies))
    print(f"{len(rows):,} of {count:,} digraphs")
    record.told(faults[:40])
    least = min((tally.digraphs for tally in tallies.values()), default=0)
    answers = sum(tally.answers for tally in tallies.values())
    figure = f"{len(tallies)} implementations, {least:,} digraphs each, {answers:,} answers, {len(faults)} faults"
    details = {"first": first, "count": count, "implementations": {
        each: {"digraphs": tally.digraphs, "answers": tally.answers, "seconds": round(tally.seconds, 1),
               "faults": tally.faults[:5]}
        for each, tally in tallies.items()
    }}  # fmt: skip
    where = "on a GPU" if gpu else "on the CPU"
    return record.Found(figure, faults, details, undone=len(rows) < count, more={
        "area": "GPU" if gpu else "Answers",
        "promise": f"Every implementation {where} answers as plain Python does, on any digraph.",
        "seconds": max(monotonic() - began, sum(tally.seconds for tally in tallies.values())),
    })  # fmt: skip


def _work(found: Sweep, kept: Kept, numbers: Iterable[int], until: float, turn: float) -> None:
    for row in found.rows(numbers, until, turn):
        kept.add(row)
        if row.get("lost"):
            sys.exit(LOST)


def _apart(words: list[str], processes: int, numbers: list[int], kept: Kept, until: float) -> None:
    """The sweep in several processes. One that loses its GPU is followed by another."""
    command, restarts = [sys.executable, __file__, *words], 0
    parts = range(1, 1 + min(processes, len(numbers)))

    def start(part: int) -> subprocess.Popen:
        left = () if until == float("inf") else ("--seconds", str(max(until - monotonic(), 0)))
        return subprocess.Popen([*command, *left, "--part", str(part)])

    running, told = {part: start(part) for part in parts}, monotonic()
    while running:
        sleep(0.2)
        for part, process in list(running.items()):
            if (code := process.poll()) is None:
                continue
            del running[part]
            if code == LOST and restarts < RESTARTS:
                restarts += 1
                running[part] = start(part)
            elif code:
                print(f"process {part} of {processes} ended with {code}", file=sys.stderr, flush=True)
        if monotonic() > told + 30:
            told = monotonic()
            print(f"{len(kept.rows()):,} digraphs are done", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
