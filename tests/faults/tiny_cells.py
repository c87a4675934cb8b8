"""What the harness takes for a cell: a real run of many tiny cells, and how it is read again.

    python tests/faults/tiny_cells.py --cells 10000 --record harness-cost

The cost of a cell is (processor time of the whole command, less that of a run of one cell, less what the timers of the
trials measured) / cells. It is processor time, since other work on a machine makes the clock on the wall go on; that is
told too. Then the run is gone on with, reported, compared and packed. Exit code 1 above the limit.
"""

import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from time import monotonic

import click
import numpy as np
import record

LIMIT_MS = 3.0  #: of harness a cell
EACH = 200  #: cells of one graph
_BLOCK = """name = "tiny"
[[experiment]]
datasets = {graphs}
implementations = ["sequential"]
dim = [1, 2, 3, 4, 5]
search = ["dfs", "bfs"]
filters = ["none", "level", "tree", "level,tree", "hubs"]
order = ["random", "lexicographic"]
queries = ["random", "balanced"]
count = 20
trials = 1
warmup = 0
"""


@dataclass(frozen=True)
class Took:
    """What a command took: seconds on the wall, of the processor, and the most resident bytes."""

    wall: float
    processor: float
    peak: int


def timed(*words: object, **env: str) -> Took:
    """Run `grailbench WORDS` to its end in a process of its own. Raises RuntimeError if it fails."""
    began = monotonic()
    command = [sys.executable, "-m", "grailbench", *map(str, words)]
    process = Popen(command, stdout=DEVNULL, stderr=PIPE, env={**os.environ, **env}, text=True)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: {process.returncode}: {said[-500:]}")
    return Took(monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def graphs(folder: Path, count: int) -> list[str]:
    """The names of so many imported graphs of 20 vertices and 30 edges, in a cache below a folder."""
    from grailbench.graph.csr import Graph
    from grailbench.graph.store import save_graph
    from grailbench.util import outputs, paths

    outputs.make_folder(folder)
    (folder / paths.CACHE_MARK).touch()
    names = [f"tiny-{number}" for number in range(count)]
    for number, name in enumerate(names):
        ends = np.random.default_rng(number).integers(0, 20, (2, 30))
        save_graph(folder / "imported" / f"{name}.npz", Graph.from_edges(20, *ends), {"name": name})
    return names


def measured(cells: int, folder: Path, short: bool = False) -> dict:
    """What a run of so many cells takes, and its reading; if `short`, with one start and no reading."""
    cache, names = folder / "cache", graphs(folder / "cache", -(-cells // EACH))
    env = {"GRAILBENCH_CACHE": str(cache)}
    config = folder / "tiny.toml"
    one = ("run", "--dataset", names[0], "--impl", "sequential", "--dim", 1, "--count", 20, "--trials", 1,
           "--warmup", 0)  # fmt: skip
    config.write_text(_BLOCK.format(graphs=json.dumps(names[:1])))
    timed("run", "--config", config, "--out", folder / "warm", **env)  # compiles
    starts = (timed(*one, "--out", folder / f"one-{n}", **env) for n in range(1 if short else 3))
    start = min(starts, key=lambda took: took.processor)
    config.write_text(_BLOCK.format(graphs=json.dumps(names)))
    run = folder / "run"
    whole = timed("run", "--config", config, "--out", run, **env)
    rows = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    own = sum(row["ms"] for row in rows if row["phase"] and not row["under"]) / 1000
    count = len({row["key"] for row in rows})
    reading = {} if short else {
        "resume": timed("run", f"--resume={run}", **env),
        "report": timed("report", run, "--out", folder / "report", **env),
        "compare": timed("compare", run, run, **env),
        "pack": timed("pack", run, "--out", folder / "run.pack.zip", **env),
    }  # fmt: skip
    return {
        "cells": count, "graphs": len(names), "trials_s": own, "start": asdict(start), "run": asdict(whole),
        "harness_ms": 1000 * (whole.processor - start.processor - own) / count,
        "harness_wall_ms": 1000 * (whole.wall - start.wall - own) / count,
        "reading": {name: asdict(took) for name, took in reading.items()},
    }  # fmt: skip


@record.program(
    "Long runs",
    "A run of 10,000 tiny cells has less than 3 ms of harness a cell, and is read again in seconds.",
    night="The length of a night's share, which is the usual one.",
)
@click.option("--cells", default=10_000, show_default=True, help=f"Rounded up to hundreds of {EACH}.")
def main(cells: int, nightly: bool) -> record.Found:
    with tempfile.TemporaryDirectory(prefix="tiny-cells-") as folder:
        found = measured(cells, Path(folder))
    commands = {"start": found["start"], "run": found["run"], **found["reading"]}
    print(f"{found['cells']:,} cells on {found['graphs']} graphs: {found['harness_ms']:.2f} ms of processor time a "
          f"cell ({found['harness_wall_ms']:.2f} ms on the wall), limit {LIMIT_MS:g} ms")  # fmt: skip
    for each, took in commands.items():
        print(f"{each:8} {took['processor']:7.1f} s of processor time, {took['wall']:7.1f} s on the wall, "
              f"{took['peak'] / 2**20:6.0f} MiB")  # fmt: skip
    slowest = max(took["processor"] for took in found["reading"].values())
    figure = (f"{found['harness_ms']:.2f} ms of processor time a cell over {found['cells']:,} cells; going on with "
              f"it, tables, comparison and pack take {slowest:.1f} s at most")  # fmt: skip
    return record.Found(figure, undone=found["harness_ms"] >= LIMIT_MS, details={
        "graphs": found["graphs"], "harness ms on the wall": round(found["harness_wall_ms"], 2),
        "seconds within timers": round(found["trials_s"], 2),
        "processor time and peak memory": {
            each: f"{took['processor']:.1f} s, {took['peak'] / 2**20:.0f} MiB" for each, took in commands.items()
        },
    })  # fmt: skip


if __name__ == "__main__":
    main()
