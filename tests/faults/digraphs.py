"""Random digraphs through every implementation, with answers compared with plain Python (`naive`).

    python tests/faults/digraphs.py --gpu --first 0 --count 10000 --record gpu-digraphs

A digraph is known by its number: the same number always gives the same digraph and parameters, so a fault is seen again
with `--first NUMBER --count 1`, and several processes share a range. Each implementation answers on the condensed graph
or the edges as it takes them, and from edges too where it can start there. Exit code 1 if there is a fault, or digraphs
were left when the time was over.
"""

import faulthandler
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import click
import numpy as np
import oracle_checks
import record

from grailbench.util import faults as lost
from grailbench.util.words import listing

KINDS = ("any", "dense", "dag", "chain", "cycle", "hub", "layers", "tree", "islands", "loops")
LARGE, MOST_LARGE, MOST_SMALL = 64, 200, 16  #: one in so many digraphs has up to so many vertices, others few
STUCK = 180  #: seconds after which a process says where it is


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


def ask(number: int, gpu: bool, found: list[tuple], tallies: dict[str, Tally]) -> None:
    """Asks implementations about one digraph. Raises GpuFailed if the GPU is lost: what followed in this process could
    only fail."""
    digraph = oracle_checks.Digraph(f"digraph {number}", number, *drawn(number))
    for problem, name, implementation in found:
        tally = tallies.setdefault(f"{problem.name}/{name}", Tally())
        params = oracle_checks.params_of(problem, implementation, number)
        start = monotonic()
        try:
            with oracle_checks.condensing(gpu and number % 2 == 1):
                tally.answers += oracle_checks.check(digraph, problem, implementation, params)
        except Exception as error:
            error = lost.explained(error) or error
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
            tally.faults.append(f"digraph {number}, {params}: {what}")
            if lost.lost is not None:
                raise error from None
        tally.digraphs += 1
        tally.seconds += monotonic() - start


def sweep(numbers: Iterable[int], gpu: bool, only: tuple[str, ...], until: float = float("inf")) -> dict[str, Tally]:
    """Each digraph through each implementation, until the clock shows `until`; what was found, by implementation."""
    found, tallies = list(oracle_checks.implementations(gpu, only)), {}
    for number in numbers:
        if monotonic() > until:
            break
        faulthandler.dump_traceback_later(STUCK, repeat=True)
        ask(number, gpu, found, tallies)
    faulthandler.cancel_dump_traceback_later()
    return tallies


@record.program("", "")
@click.option("--gpu/--cpu", default=False, help="Implementations on a GPU, or ours on the CPU.")
@click.option("--count", default=100, show_default=True)
@click.option("--first", default=0, help="The number of the first digraph.")
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION; may repeat.")
@click.option("--seconds", type=float, default=float("inf"), help="Stop after so long.")
def main(gpu: bool, count: int, first: int, only: tuple[str, ...], seconds: float) -> record.Found:
    tallies = sweep(range(first, first + count), gpu, only, monotonic() + seconds)
    for name, tally in tallies.items():
        print(f"{name}: {tally.digraphs:,} digraphs, {tally.answers:,} answers, {tally.seconds:,.0f} s, "
              f"{len(tally.faults)} faults", flush=True)  # fmt: skip
    faults = [fault for tally in tallies.values() for fault in tally.faults]
    record.warn(faults[:40])
    least = min((tally.digraphs for tally in tallies.values()), default=0)
    answers = sum(tally.answers for tally in tallies.values())
    which = listing(tallies) if only else f"{len(tallies)} implementations"
    figure = f"{which}, {least:,} digraphs each, {answers:,} answers, {len(faults)} faults"
    details = {"first": first, "count": count, "implementations": {
        name: {"digraphs": tally.digraphs, "answers": tally.answers, "seconds": round(tally.seconds, 1),
               "faults": tally.faults[:5]}
        for name, tally in tallies.items()
    }}  # fmt: skip
    where = "on a GPU" if gpu else "on the CPU"
    return record.Found(figure, faults, details, undone=least < count, more={
        "area": "GPU" if gpu else "Answers",
        "promise": f"Every implementation {where} answers as plain Python does, on any digraph.",
    })  # fmt: skip


if __name__ == "__main__":
    main()
