"""Every program of this folder that has a nightly length, two at a time: what `make faults` runs.

    python tests/faults/night.py --record

What a program says is shown when it has ended. With --record each writes the record that its own text names, in a clean
checkout; but not those whose records are of more work than a night's. Exit code 1 if a promise was broken; what this
machine lacks is said and is no failure.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from time import monotonic

import click

HERE = Path(__file__).resolve().parent
LACKS = 4  #: exit code of a program that this machine cannot run
#: programs whose records are of more work than a night's
LONGER = ("fuzz.py", "soak.py")


def programs(folder: Path = HERE) -> list[Path]:
    """Those with the option."""
    own = Path(__file__).name
    programs = (path for path in sorted(folder.glob("*.py")) if path.name != own)
    return [path for path in programs if re.search(r"^@record\.program\([^@]*\bnight=", path.read_text(), re.MULTILINE)]


def words(program: Path, recorded: bool) -> list[str]:
    """What is given to a program."""
    named = re.search(rf"{program.name} .*--record ([\w-]+)", program.read_text())
    record = ["--record", named[1]] if recorded and named and program.name not in LONGER else []
    return ["--nightly", *record]


def ran(found: Sequence[Path], at_once: int, recorded: bool) -> Iterator[tuple[Path, int, str, float]]:
    """Runs programs, so many at once; each with its exit code, what it said and the seconds it took, as they end."""

    def run(program: Path) -> tuple[Path, int, str, float]:
        began = monotonic()
        command = [sys.executable, str(program), *words(program, recorded)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return program, done.returncode, done.stdout, monotonic() - began

    with ThreadPoolExecutor(at_once) as pool:
        tasks = [pool.submit(run, program) for program in found]
        try:
            for task in as_completed(tasks):
                yield task.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@click.command(help=__doc__.partition("\n")[0])
@click.option("--only", multiple=True, help="The name of a program, as kills.py; may repeat.")
@click.option("--at-once", default=2, show_default=True, type=click.IntRange(1))
@click.option("--record", "recorded", is_flag=True, help="Have programs write their records.")
def main(only: tuple[str, ...], at_once: int, recorded: bool) -> None:
    found, began, failed = [path for path in programs() if path.name in only or not only], monotonic(), []
    if unknown := set(only) - {path.name for path in found}:
        raise click.UsageError(f"no program with a nightly length is called {', '.join(sorted(unknown))}")
    for number, (program, code, said, seconds) in enumerate(ran(found, at_once, recorded), 1):
        click.echo(f"== {number} of {len(found)}: {program.name}: exit code {code}, {seconds / 60:.1f} min\n{said}")
        failed += [program.name] if code not in (0, LACKS) else []
    click.echo(f"{len(found)} programs, {(monotonic() - began) / 60:.0f} min, failed: {', '.join(failed) or 'none'}")
    sys.exit(int(bool(failed)))


if __name__ == "__main__":
    main()
