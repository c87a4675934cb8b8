"""Reports, figures, exports and sites of the same runs are the same bytes, whatever the process around them.

    python tests/faults/pages.py --nightly --record determinism-pages

Each turn is a process that makes everything of the same runs: tables in every format, figures, CSV, a report in one
file and a site. Turns differ in PYTHONHASHSEED, in the time zone, the locale, the current folder, the number of threads
and in the order in which folders list their files. COLUMNS is set in none, as it is what says how wide a table for a
terminal is. `--nightly` is eight turns and takes about two minutes. Exit code 1 if any file differs.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import record

#: the surroundings of each turn, the first of which is compared with
TURNS = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "SHUFFLED": "1", "NUMBA_NUM_THREADS": "2"},
    {"PYTHONHASHSEED": "2", "TZ": "America/St_Johns", "LC_ALL": "POSIX", "SHUFFLED": "2", "OMP_NUM_THREADS": "1"},
    {"PYTHONHASHSEED": "3", "TZ": "Asia/Kathmandu", "LC_ALL": "tr_TR.UTF-8", "SHUFFLED": "3"},
    {"PYTHONHASHSEED": "4", "TZ": "Etc/GMT+12", "LANG": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "SHUFFLED": "4"},
    {"PYTHONHASHSEED": "5", "PYTHONUTF8": "0", "SHUFFLED": "5", "MPLBACKEND": "agg"},
    {"PYTHONHASHSEED": "6", "TZ": "Nowhere/None", "SHUFFLED": "6", "PYTHONOPTIMIZE": "1"},
    {"PYTHONHASHSEED": "random", "SHUFFLED": "7", "NUMBA_NUM_THREADS": "1"},
)
#: beginnings of the names of variables that a turn has of its own or not at all
_SET = ("LC_", "LANG", "TZ", "PYTHON", "COLUMNS", "LINES")
#: run by each turn: what it makes, in its folder `out`; `runs` are the folders of runs
WORK = r"""
import contextlib, io, os, random, sys
sys.path[:0] = {paths!r}
if os.environ.get("SHUFFLED"):
    draw = random.Random(os.environ["SHUFFLED"])
    listed, scanned = os.listdir, os.scandir
    def listdir(*where):
        found = listed(*where)
        draw.shuffle(found)
        return found
    class Scanned:
        def __init__(self, *where):
            with scanned(*where) as entries:
                found = list(entries)
            draw.shuffle(found)
            self.left = iter(found)
        __iter__ = lambda self: self
        __next__ = lambda self: next(self.left)
        __enter__ = lambda self: self
        __exit__ = lambda self, *_: None
        close = lambda self: None
    os.listdir, os.scandir = listdir, Scanned
from pathlib import Path
from grailbench.cli.main import main
runs, out = {runs!r}, Path({out!r})

def call(name, *words):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(sys.stderr):
        try:
            main([str(word) for word in words])
        except SystemExit as end:
            assert end.code in (0, 1, 3, None), words
    (out / name).write_text(text.getvalue().replace(str(out), "OUT"), encoding="utf-8")

{calls}
"""
CALLS = """
for run in runs:
    name = run.rpartition("/")[2]
    if name == "shared":
        continue  # of unlike machines, which have no times together
    call(f"{name}.terminal.txt", "report", run)
    call(f"{name}.json", "report", run, "--json")
    call(f"{name}.files.txt", "report", run, "--out", out / f"{name}-files")
    call(f"{name}.latex.txt", "report", run, "--format", "latex", "--out", out / f"{name}-latex")
    call(f"{name}.page.txt", "report", run, f"--html={out / name}.html")
    call(f"{name}.plot.txt", "plot", run, "--all", "--format", "svg", "--out", out / f"{name}-figures")
call("site.txt", "site", out / "site", *runs)
call("compare.txt", "compare", runs[1], runs[1])
call("list.txt", "list", "implementations")
call("plan.txt", "plan", "--dataset", "path-4", "--impl", "sequential")
call("export.txt", "export", "path-9", out / "path.csv", "--format", "csv")
call("closure.txt", "export", "random-tree-300", out / "closure.csv", "--closure", "--format", "csv")
"""


def made(turn: int, runs: list[str], out: Path, calls: str) -> dict[str, str]:
    """What a turn makes: path -> checksum of its content."""
    out.mkdir(parents=True)
    paths = [str(Path(__file__).parents[1]), str(record.ROOT)]
    code = WORK.format(paths=paths, runs=runs, out=str(out), calls=calls)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SET)}
    here = out.parent / f"elsewhere-{turn}"
    here.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | TURNS[turn], cwd=here, capture_output=True, text=True, timeout=900
    )
    if done.returncode:
        raise RuntimeError(f"turn {turn}: {done.stderr[-2000:]}")
    left = sorted(path.name for path in here.iterdir())
    found = {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
             for path in sorted(out.rglob("*")) if path.is_file()}  # fmt: skip
    return found | {"left in the current folder": json.dumps(left)}


def differing(right: dict[str, str], found: dict[str, str]) -> list[str]:
    """The paths that only one of two turns made, or that have another content."""
    return sorted(name for name in right.keys() | found.keys() if right.get(name) != found.get(name))


def sweep(turns: int, calls: str = CALLS) -> tuple[int, list[str]]:
    """So many turns: how many files were compared with those of the first, and what differed."""
    from sites import runs as stored

    compared, faults = 0, []
    with tempfile.TemporaryDirectory() as folder:
        runs = sorted(map(str, stored(Path(folder) / "runs")))
        right = made(0, runs, Path(folder) / "0", calls)
        for turn in range(1, turns):
            found = made(turn, runs, Path(folder) / str(turn), calls)
            compared += len(found)
            faults += [f"turn {turn} ({TURNS[turn]}): {name}" for name in differing(right, found)]
    return compared, faults


@record.program(
    "Determinism and threads",
    "Reports, figures (SVG), CSV, HTML and sites of the same runs are the same bytes, whatever the hash seed, time "
    "zone, locale, current folder, threads and order of files in folders.",
    night="Eight turns, in place of three.",
)
def main(nightly: bool) -> record.Found:
    turns = len(TURNS) if nightly else 3
    compared, faults = sweep(turns)
    record.warn(faults[:40])
    figure = f"{compared:,} files of {turns} processes in unlike surroundings compared, {len(faults)} differ"
    return record.Found(figure, faults, {"surroundings": list(TURNS[:turns]), "files": compared})


if __name__ == "__main__":
    main()
