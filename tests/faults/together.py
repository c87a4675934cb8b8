"""Several processes on one GPU at once: runs, and programs that build and ask indexes.

    python tests/faults/together.py --runs 2 --programs 4 --seconds 30 --record gpu-two-runs

All begin at about the same time: so many `grailbench run` on the same graphs, each into a folder of its own, and so
many programs that build indexes of `gpu-fused` and `core-gpu` and ask them, one after another, until the runs have
ended and so many seconds have passed. Every run must end with exit code 0, with all trials of all cells, the same
checksums in all of them and on the CPU, and no cell out of memory; every program must get the answers of `dfs`. In
numba's simulator (NUMBA_ENABLE_CUDASIM=1) the graphs are small. Exit code 1 if anything was otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep

import click
import lost
import numpy as np
import record

IMPLEMENTATIONS = ("sequential", "gpu", "gpu-fused", "core-gpu")
PROGRAMS = ("gpu-fused", "core-gpu")
VERTICES, SIMULATED = (200, 2_000), (5, 7)  #: of the graphs of runs
SIZE, FEW = 20_000, 9  #: vertices of the graphs of programs, on a GPU and in the simulator


def simulating() -> bool:
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def program(number: int, until: float) -> dict:
    """Builds and asks indexes of digraphs of its own until the clock shows `until`. Returns counts and faults."""
    import grailbench as gb

    random = np.random.default_rng((31, number))
    size, found = FEW if simulating() else SIZE, {"builds": 0, "answers": 0, "faults": []}
    while monotonic() < until or not found["builds"]:
        ends = random.integers(0, size, (2, 2 * size))
        graph = gb.Graph.from_edges(*ends)
        sources, targets = random.integers(0, graph.vertices, (2, 50 * (1 if simulating() else 1000)))
        right = gb.build(graph, "dfs").reaches_many(sources[:50], targets[:50])
        answers = []
        for name in PROGRAMS:
            answers.append(gb.build(graph, name).reaches_many(sources, targets))
            found["builds"] += 1
            found["answers"] += sources.size
            if not np.array_equal(answers[-1][:50], right) or not np.array_equal(answers[0], answers[-1]):
                found["faults"].append(f"program {number}: {name} answers otherwise")
    return found


def prepared(folder: Path, trials: int) -> list[str]:
    """Makes the graphs; returns the words of the run."""
    random, sizes = np.random.default_rng(30), SIMULATED if simulating() else VERTICES
    words = ["run", "--trials", str(trials), "--warmup", "0", "--dim", "1", "--count", "8" if simulating() else "20000"]
    for vertices in sizes:
        rows = [sorted(random.choice(vertices, 2)) for _ in range(2 * vertices)]
        children = [[str(v) for u, v in rows if u == each and v != each] for each in range(vertices)]
        text = "".join(f"{each}: {' '.join([*row, '#'])}\n" for each, row in enumerate(children))
        path = folder / f"of-{vertices}.gra"
        path.write_text(f"graph_for_greach\n{vertices}\n{text}")
        lost.imported(folder, path)
        words += ["--dataset", path.stem]
    return words + [word for name in IMPLEMENTATIONS for word in ("--impl", name)]


def started(words: list[str], out: Path, folder: Path, number: int = 0) -> subprocess.Popen:
    """Starts a program of Python whose output goes to a file; warnings of programs go to stderr."""
    environment = lost.environment(folder, counted=f"launches-{number}")
    with out.open("w") as to:
        return subprocess.Popen([sys.executable, *words], stdout=to, env=environment,
                                stderr=None if words[0] == __file__ else subprocess.STDOUT)  # fmt: skip


def faults_of(folders: list[Path], trials: int, codes: list[int], texts: list[str]) -> list[str]:
    """What is wrong with runs that ended with these exit codes and output."""
    wrong, sums = [], {}
    for folder, code, text in zip(folders, codes, texts, strict=True):
        if code:
            wrong.append(f"{folder.name}: exit code {code}: {text[-500:]}")
            continue
        found = lost.Cells(folder)
        wrong += [f"{folder.name}: {cell} is {status}: {reason}" for cell, (status, reason) in found.bad.items()]
        graphs = {graph for _, graph in found.rows}
        for graph in graphs:
            sums.setdefault(graph, set()).update(found.checksums(graph))
        wrong += [f"{folder.name}: {name} on {graph} has trials {found.trials((name, graph))}"
                  for name in IMPLEMENTATIONS for graph in graphs
                  if found.trials((name, graph)) != set(range(trials))]  # fmt: skip
    return wrong + [f"{graph}: checksums {each}" for graph, each in sums.items() if len(each) != 1]


@record.program("GPU", "Several runs and programs on one GPU at once do not disturb each other's answers.")
@click.option("--runs", default=2, show_default=True)
@click.option("--programs", default=4, show_default=True)
@click.option("--trials", default=5, show_default=True)
@click.option("--seconds", default=20.0, show_default=True, help="Programs go on for so long.")
@click.option("--program", "numbered", type=int, hidden=True)
def main(runs: int, programs: int, trials: int, seconds: float, numbered: int | None) -> record.Found:
    began = monotonic()
    if numbered is not None:
        print(json.dumps(program(numbered, began + seconds)))
        sys.exit()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = prepared(folder, trials)
        folders = [folder / f"run-{number}" for number in range(runs)]
        outputs = [folder / f"out-{number}" for number in range(runs + programs)]
        commands = [["--child", *words, "--out", str(each)] for each in folders]
        running = [started([lost.__file__, *words], out, folder, number)
                   for number, (words, out) in enumerate(zip(commands, outputs, strict=False))]  # fmt: skip
        running += [started([__file__, "--program", str(number), "--seconds", str(seconds)], out, folder)
                    for number, out in enumerate(outputs[runs:])]  # fmt: skip
        while any(each.poll() is None for each in running) and monotonic() < began + lost.PATIENCE:
            sleep(0.1)
        codes = [each.poll() for each in running]
        for each in running:
            each.kill()
        texts = [out.read_text() for out in outputs]
        wrong = faults_of(folders, trials, codes[:runs], texts[:runs])
        answered = [json.loads(text) for code, text in zip(codes[runs:], texts[runs:], strict=True) if code == 0]
        wrong += [f"program {n}: exit code {code}" for n, code in enumerate(codes[runs:]) if code != 0]
        wrong += [fault for each in answered for fault in each["faults"]]
    cells = runs * len(IMPLEMENTATIONS) * len(SIMULATED)
    builds, answers = (sum(each[what] for each in answered) for what in ("builds", "answers"))
    figure = (
        f"{runs} runs of {cells} cells and {programs} programs of {builds:,} builds and {answers:,} answers at once"
    )
    details = {"implementations": IMPLEMENTATIONS, "trials": trials, "faults": wrong}
    return record.Found(f"{figure}, {len(wrong)} faults", record.told(wrong), details)


if __name__ == "__main__":
    main()
