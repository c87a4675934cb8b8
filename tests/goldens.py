"""What must not change while the code is rearranged, written to a folder before and compared after.

    python tests/goldens.py write before
    python tests/goldens.py compare before after

A folder has the help of every command, the plan of every config, the report of every recorded run (JSON and CSV), the
rows of a small run of every implementation on the host and in the simulator (without times, machine and keys), and a
hash of every array of an index. Fields that are derived from the code, such as the key of a cell, are left out.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # not the one that is installed
GRAPH, SMALL = "kegg-like", "erdos-renyi-60-0.05"
SLOW = "peer:pyreachability-"  #: in Python, some of them for many minutes
#: fields of a row that depend on the machine, the moment or the text of the code
VARY = {"run", "ms", "at", "key", "sum", "trial", "host_peak_bytes", "device_peak_bytes", "rate", "read_ms", "energy"}
_SMALL = (("chain", 40, 1), ("sparse", 60, 2), ("dense", 30, 8), ("cycles", 25, 3), ("edgeless", 5, 0))


def grailbench(*words: object, **env: str) -> tuple[int, str]:
    """Exit code and standard output of a command, in a process of its own."""
    own = os.environ | {"COLUMNS": "80", "PYTHONPATH": str(ROOT)} | env
    done = subprocess.run(
        [sys.executable, "-m", "grailbench", *map(str, words)], stdout=subprocess.PIPE, text=True, env=own, cwd=ROOT
    )
    return done.returncode, done.stdout


def helps() -> Iterator[tuple[str, str]]:
    """The help of each command, and of grailbench."""
    from grailbench.cli.main import cli

    for name in ("", *sorted(cli.list_commands(click.Context(cli)))):
        yield name or "grailbench", grailbench(*filter(None, [name]), "--help")[1]


def plans() -> Iterator[tuple[str, str]]:
    """The plan of each config that is shipped, and of its short form."""
    for path in sorted((ROOT / "configs").glob("*.toml")):
        whole = [(path.stem, [])]
        short = [(f"{path.stem}-short", ["--short"])] if "\n[short]" in path.read_text(encoding="utf-8") else []
        for name, words in whole + short:
            lines = grailbench("plan", "--config", path.stem, *words, "--json")[1].splitlines()
            yield name, "\n".join(json.dumps(_lasting(json.loads(line)), sort_keys=True) for line in lines)


def reports() -> Iterator[tuple[str, str]]:
    """What the report of each recorded run says: its tables as JSON, and its CSV files."""
    for plan in sorted((ROOT / "results" / "baselines").glob("**/plan.json")):
        name = str(plan.parent.relative_to(ROOT / "results" / "baselines")).replace("/", ".")
        yield f"{name}.json", grailbench("report", plan.parent, "--json")[1]
        with TemporaryDirectory() as folder:
            grailbench("report", plan.parent, "--format", "csv", "--out", folder)
            for file in sorted(Path(folder).rglob("*.csv")):
                yield f"{name}.{file.name}", file.read_text()


def rows(simulate: bool = False) -> Iterator[tuple[str, str]]:
    """The rows of one trial of every implementation; of those that need a GPU the verified cells in the simulator."""
    listed = [json.loads(line) for line in grailbench("list", "implementations", "--json")[1].splitlines()]
    for problem in dict.fromkeys(each["problem"] for each in listed):
        own = [each for each in listed if each["problem"] == problem and ("gpu" in each["needs"]) == simulate]
        names = [each["name"] for each in own if "dask" not in each["needs"] and not each["name"].startswith(SLOW)]
        if not names:
            continue
        pairs = problem == "reachability"
        words = ["--problem", problem, *(word for name in names for word in ("--impl", name)), "--no-fetch"]
        words += ["--dataset", GRAPH if pairs and not simulate else SMALL]
        words += ["--count", 60 if simulate else 2000] if pairs else []
        if simulate:
            lines = grailbench("verify", *words, "--simulate", "--json")[1].splitlines()
        else:
            with TemporaryDirectory() as folder:
                out = Path(folder, "run")
                grailbench("run", *words, "--trials", 1, "--warmup", 0, "--out", out)
                lines = (out / "trials.jsonl").read_text().splitlines()
        yield problem, "\n".join(sorted(json.dumps(_lasting(json.loads(line)), sort_keys=True) for line in lines))


def _lasting(row: dict) -> dict:
    return {name: value for name, value in row.items() if name not in VARY}


def labels(simulate: bool = False) -> Iterator[tuple[str, str]]:
    """A hash of each array that an index of each implementation has, on small random graphs."""
    import numpy as np

    import grailbench as gb
    from grailbench.cuda import simulate as in_simulator
    from grailbench.problems.contract import implementations

    if simulate:
        in_simulator()
    for name, made in sorted(implementations().items()):
        if "dask" in made.needs or ("gpu" in made.needs) != simulate or name.startswith("peer:"):
            continue
        said = []
        for graph, n, degree in _SMALL:
            rng = np.random.default_rng(n)
            u, v = rng.integers(0, n, (2, n * degree))
            if graph != "cycles":
                u, v = np.minimum(u, v), np.maximum(u, v) + (u == v)
            if graph == "chain":
                u, v = np.arange(n - 1), np.arange(1, n)
            index = gb.build(gb.Graph.from_edges(u, np.minimum(v, n - 1), vertices=n), name)
            arrays = sorted(_arrays(index._engine.index, set()))
            said += [f"{graph} {len(arrays)} {hashlib.sha256(''.join(arrays).encode()).hexdigest()}"]
        yield name, "\n".join(said)


def _arrays(thing: object, seen: set[int]) -> Iterator[str]:
    """A hash of the dtype, shape and bytes of each array that can be reached from an object of ours."""
    import numpy as np

    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield hashlib.sha256(f"{thing.dtype}{thing.shape}".encode() + np.ascontiguousarray(thing).tobytes()).hexdigest()
    elif isinstance(thing, dict):
        for each in thing.values():
            yield from _arrays(each, seen)
    elif isinstance(thing, (list, tuple)):
        for each in thing:
            yield from _arrays(each, seen)
    elif type(thing).__module__.startswith("grailbench"):
        for name, each in vars(thing).items() if hasattr(thing, "__dict__") else ():
            if not name.endswith("scratches"):  # memory that a search fills
                yield from _arrays(each, seen)


PARTS = {
    "help": helps,
    "plans": plans,
    "reports": reports,
    "rows": rows,
    "labels": labels,
    "simulated": lambda: rows(simulate=True),
    "simulated-labels": lambda: labels(simulate=True),
}


@click.group(help=__doc__.partition("\n")[0])
def main() -> None:
    pass


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Only this part; may repeat.")
def write(folder: Path, parts: tuple[str, ...]) -> None:
    """Write the goldens of this checkout to FOLDER."""
    for part in parts or PARTS:
        place = folder / part
        place.mkdir(parents=True, exist_ok=True)
        for name, text in PARTS[part]():
            (place / name.replace("/", ".")).write_text(text)
            click.echo(f"{part} {name}: {len(text):,} characters")


@main.command()
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
def compare(before: Path, after: Path) -> None:
    """Name each golden that differs between two folders; exit code 1 if one does."""
    files = {path.relative_to(folder) for folder in (before, after) for path in folder.rglob("*") if path.is_file()}
    different = sorted(str(file) for file in files if _text(before / file) != _text(after / file))
    click.echo("\n".join(different))
    click.echo(f"{len(different)} of {len(files)} differ")
    sys.exit(bool(different))


def _text(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


if __name__ == "__main__":
    main()
