"""A GPU that is lost in the middle of a cell: the cell fails with one line, and the run measures all others; and runs
that share one GPU.

    python tests/faults/lost.py --steps 12 --record gpu-lost

Each step is a `grailbench run` of several cells on two graphs, in a process that loses its GPU at one kernel of its
first cell on a GPU: on a GPU by a kernel of this program that writes where no memory is, after which every call of the
process fails; in numba's simulator (NUMBA_ENABLE_CUDASIM=1) by the error that numba raises then. The cell that met it
must be failed, with one line, unless it was only loading its kernels, before which nothing was taken. Every other cell
must have its trials, those on the GPU from a fresh process, with the answers of cells on the CPU. The exit code must be
1, as for any failed cell, and `--resume` must add what is missing. Before that, some runs at once must all end well.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import click
import record

LOSING = "GRAILBENCH_TEST_LOSES"  #: the kernel at which the GPU is lost, and the file that counts kernels
GRAPHS = {"first": "4\n0: 1 2 #\n1: 3 #\n2: 3 #\n3: #\n", "second": "5\n0: 1 #\n1: 2 4 #\n2: 3 #\n3: #\n4: #\n"}
FIRST, ROWS = "first", "trials.jsonl"
ON_GPU, OTHERS = ("gpu-fused", "core-gpu"), ("sequential",)
TRIALS = 2
ONE_LINE = re.compile(r"the GPU failed: [^\n]*it is lost to this process[^\n]*\(start again[^\n()]*\)")
PATIENCE = 600


# ------------------------------------------------------------------ in the process that loses its GPU


def child(words: list[str]) -> None:
    """Runs `grailbench WORDS` in this process, which loses its GPU as `LOSING` says."""
    import kernels
    from exhaust import CudaAPIError

    from grailbench.cli.main import main
    from grailbench.cuda.gateway import cuda, simulated
    from grailbench.harness import runner

    at, counted = os.environ[LOSING].split(":", 1)
    runner.device = SimpleNamespace(simulating=lambda: False, simulate=lambda: None)  # a run records no simulation
    launches, strays = 0, []

    @cuda.jit
    def stray(array, far):
        array[far + cuda.grid(1)] = 1

    def step(name: str) -> None:
        nonlocal launches
        if strays:  # the launch of `stray` itself, or a later one
            return
        launches += 1
        Path(counted).write_text(str(launches))
        if launches == int(at):
            strays.append(name)
            if simulated:
                raise CudaAPIError(719, "Call to cuLaunchKernel results in CUDA_ERROR_LAUNCH_FAILED")
            stray[1, 1](cuda.device_array(1, "int32"), 1 << 40)

    kernels.watch(step)
    main(words)


# ------------------------------------------------------------------ the one that looks


class Cells:
    """The rows of a run, by implementation and graph."""

    def __init__(self, folder: Path):
        from grailbench.harness.folder import current, read_rows

        self.rows, self.bad = defaultdict(list), {}
        for row in current(read_rows(folder)[0]):
            self.rows[row["impl"], row["dataset"]].append(row)
            if row["status"] != "ok":
                self.bad[row["impl"], row["dataset"]] = row["status"], row["reason"]

    def trials(self, cell: tuple[str, str]) -> set[int]:
        return {row["trial"] for row in self.rows[cell] if row["trial"] is not None}

    def checksums(self, graph: str) -> set[str]:
        return {
            row["checksum"] for (_, of), rows in self.rows.items() if of == graph for row in rows if row["checksum"]
        }


def run(folder: Path, at: int, words: list[str], counted: str = "launches") -> tuple[int, str]:
    """Exit code and output of a run that loses its GPU at a kernel; 0: at none. `counted` is the file that counts
    kernels."""
    path = os.pathsep.join(filter(None, [str(record.ROOT), os.environ.get("PYTHONPATH")]))
    here = {"GRAILBENCH_CACHE": str(folder / "cache"), "PYTHONPATH": path, LOSING: f"{at}:{folder / counted}"}
    done = subprocess.run([sys.executable, __file__, "--child", *words], env=os.environ | here, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)  # fmt: skip
    return done.returncode, done.stdout


def imported(folder: Path, path: Path) -> None:
    """Puts a graph into the cache, by the name of its file."""
    from grailbench.graph.readers import read_graph
    from grailbench.graph.store import save_graph
    from grailbench.util import outputs, paths

    outputs.make_folder(folder / "cache")
    (folder / "cache" / paths.CACHE_MARK).touch()
    save_graph(folder / "cache" / "imported" / f"{path.stem}.npz", read_graph(path), {"name": path.stem})


def prepared(folder: Path) -> list[str]:
    """Makes the graphs; returns the words of the run."""
    words = ["run", "--trials", str(TRIALS), "--warmup", "0", "--count", "8", "--dim", "1"]
    for name, text in GRAPHS.items():
        (folder / f"{name}.gra").write_text(f"graph_for_greach\n{text}")
        imported(folder, folder / f"{name}.gra")
        words += ["--dataset", name]
    return words + [word for name in (*OTHERS, *ON_GPU) for word in ("--impl", name)]


def faults_of(folder: Path, words: list[str], at: int) -> list[str]:
    """What is wrong with a run that loses its GPU at a kernel of its first cell on a GPU."""
    out = folder / f"lost-{at}"
    code, text = run(folder, at, [*words, "--out", str(out)])
    if not out.exists():
        return [f"exit code {code}", text[-500:]]
    found = Cells(out)
    wrong = [] if code == int(bool(found.bad)) else [f"exit code {code}"]
    graphs = {graph for _, graph in found.rows}
    cells = {(impl, graph) for impl in (*ON_GPU, *OTHERS) for graph in graphs}
    if len(graphs) != len(GRAPHS) or len(found.bad) > 1:
        wrong.append(f"{len(graphs)} graphs, and more than one failed cell: {found.bad}")
    for cell, (status, reason) in found.bad.items():
        if status != "failed" or not ONE_LINE.fullmatch(reason) or cell[0] not in ON_GPU:
            wrong.append(f"{cell} is {status}: {reason}")
    wrong += [f"{cell} has trials {found.trials(cell)}" for cell in cells - found.bad.keys()
              if found.trials(cell) != set(range(TRIALS))]  # fmt: skip
    wrong += [f"{graph}: checksums {sums}" for graph in graphs if len(sums := found.checksums(graph)) != 1]
    if (failed := {graph for _, graph in found.bad}) == {FIRST}:  # the others were all begun after that
        fresh = [(impl, graph) for impl in ON_GPU for graph in graphs - failed]
        wrong += [f"{cell} was not taken in a process of its own" for cell in fresh
                  if any(row["read_ms"] is None for row in found.rows[cell])]  # fmt: skip
    if "Traceback" in text:
        wrong.append(f"a traceback is shown: {text[-500:]}")
    before = (out / ROWS).read_bytes()
    code, text = run(folder, 0, ["run", f"--resume={out}"])
    if code or not (out / ROWS).read_bytes().startswith(before) or Cells(out).bad:
        wrong.append(f"--resume has exit code {code}, or does not complete the run: {text[-300:]}")
    return wrong


def at_once(folder: Path, words: list[str], runs: int) -> list[str]:
    """What is wrong with so many runs at the same time, which lose nothing."""
    outs = [folder / f"whole-{number}" for number in range(runs)]
    with ThreadPoolExecutor(runs) as pool:
        ended = list(pool.map(lambda out: run(folder, 0, [*words, "--out", str(out)], out.name + ".launches"), outs))
    wrong = [f"exit code {code}: {text[-500:]}" for code, text in ended if code]
    if not wrong:
        every = list(map(Cells, outs))
        wrong += [f"{graph}: other checksums" for graph in GRAPHS
                  if len(set().union(*(found.checksums(graph) for found in every))) != 1]  # fmt: skip
        wrong += [f"{cell} has trials {found.trials(cell)}" for found in every for cell in found.rows
                  if found.trials(cell) != set(range(TRIALS))]  # fmt: skip
    return wrong


@record.program(
    "GPU",
    "A GPU that is lost in the middle of a cell ends that cell with one line; the run measures all others, those on "
    "the GPU in fresh processes.",
)
@click.option("--steps", default=6, show_default=True, help="At how many kernels of a run the GPU is lost.")
@click.option("--runs", default=2, show_default=True, help="Runs at once before that.")
def main(steps: int, runs: int) -> record.Found:
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = prepared(folder)
        found[f"{runs} runs at once"] = at_once(folder, words, runs)
        last = int((folder / "whole-0.launches").read_text())
        for at in sorted({1 + step * (last - 1) // max(steps - 1, 1) for step in range(steps)}):
            found[f"lost at kernel {at} of {last}"] = faults_of(folder, words, at)
    for what, faults in found.items():
        print(f"{what}: {'; '.join(faults) or 'as promised'}", flush=True)
    wrong = [fault for faults in found.values() for fault in faults]
    cells = len(GRAPHS) * len((*ON_GPU, *OTHERS))
    figure = f"{runs} runs at once, and {len(found) - 1} runs of {cells} cells lost their GPU, {len(wrong)} faults"
    return record.Found(figure, wrong, found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    else:
        main()
