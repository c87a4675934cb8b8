"""Tries what is promised of locks, packages and types, and the tests with other Pythons.

Without options the tests of locks, packages, security and types run with this Python. With --python, another gets an
environment of its own, from locks/dev.txt with all hashes, and the quick tests run there, those of `make check`. A
Python that is not there is said to be so, and is no failure.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import click
import record

TESTS = {
    "supply": ("test_locks.py", "test_packages.py", "test_security.py"),
    "types": ("test_types.py",),
}
PROMISES = {
    "supply": "What CI and the two commands install is locked to files of known hashes; packages are the same bytes "
    "twice, hold what they read and nothing else; each promise of SECURITY.md names its test.",
    "types": "mypy --strict finds nothing in what users import, and every wrong line in programs of users.",
    "pythons": "The quick tests pass with every Python that is promised.",
}
_QUICK = "not (processes or simulator or mirror or slow)"
OUTCOMES = ("passed", "failed", "skipped", "error", "errors")
_COUNTED = re.compile(rf"(\d+) ({'|'.join(OUTCOMES)})\b")


def tried(command: list[str]) -> tuple[bool, dict[str, int]]:
    """Whether pytest found no fault, and how many tests passed, failed and were skipped."""
    done = subprocess.run(command, cwd=record.ROOT, stdout=subprocess.PIPE, text=True)
    click.echo(done.stdout[-2000:], err=True)
    last = [line for line in done.stdout.splitlines() if " in " in line and _COUNTED.search(line)]
    return done.returncode == 0, {what: int(number) for number, what in _COUNTED.findall(last[-1] if last else "")}


def environment(python: str, folder: Path) -> Path:
    """The Python of an environment with grailbench and its tests, made of the lock."""
    own = folder / "bin" / "python"
    pip = [str(own), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    for command in (
        [python, "-m", "venv", str(folder)],
        [*pip, "--require-hashes", "--only-binary", ":all:", "-r", "locks/dev.txt"],
        [*pip, "--no-deps", "--no-build-isolation", "--editable", "."],
    ):
        subprocess.run(command, cwd=record.ROOT, check=True)
    return own


def versions(python: Path) -> dict[str, str]:
    """The releases of that Python, numba and numpy, by name."""
    text = (
        "import json, platform; from importlib.metadata import version; "
        "print(json.dumps({'Python': platform.python_version(), 'numba': version('numba'), 'numpy': version('numpy')}))"
    )
    return json.loads(subprocess.run([python, "-c", text], capture_output=True, text=True, check=True).stdout)


def tests_of(details: dict[str, dict]) -> str:
    """How many tests passed, failed and were skipped, for each Python."""
    return "; ".join(
        f"{of}: {', '.join(f'{count:,} {what}' for what, count in each.items() if what in OUTCOMES)}"
        for of, each in details.items()
    )


@record.program("Supply and types", "")
@click.option("--only", type=click.Choice(list(TESTS)), help="One of the parts.")
@click.option("--python", "pythons", multiple=True, help="Another interpreter, as python3.14; may be given again.")
@click.option("--select", default=_QUICK, show_default=True, help="Which tests the other Pythons run, as pytest -m.")
def main(only: str | None, pythons: tuple[str, ...], select: str) -> record.Found:
    details, wrong, part = {}, [], "pythons" if pythons else only or "supply"
    for python in pythons:
        if shutil.which(python) is None:
            click.echo(f"{python}: there is no such program", err=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            own = environment(python, Path(folder) / "own")
            found, start = versions(own), perf_counter()
            fine, counts = tried([str(own), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb", "short",
                                  "-o", "addopts=--strict-markers", "-m", select])  # fmt: skip
        minutes = round((perf_counter() - start) / 60, 1)
        details[f"Python {found.pop('Python')}"] = {**found, **counts, "minutes": minutes}
        wrong += [] if fine else [python]
    if not pythons:
        files = TESTS[only] if only else tuple(file for several in TESTS.values() for file in several)
        own = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=--strict-markers", "--tb=short"]
        fine, counts = tried([*own, *(f"tests/{file}" for file in files)])
        details, wrong = {"tests": counts}, [] if fine else [part]
    if not details:
        raise click.UsageError("nothing was tried")
    return record.Found(tests_of(details), wrong, details, more={"promise": PROMISES[part]})


if __name__ == "__main__":
    main()
