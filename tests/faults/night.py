"""Every program of this folder that has a nightly length, two at a time: what `make faults` runs.

    python tests/faults/night.py --record

What a program prints is shown when it has ended. With --record each writes the record that its own text names, in a
clean checkout; but not those whose records are of more work than a night's. Exit code 1 if a promise was broken; what
this machine lacks is reported and is no failure.
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import click

HERE = Path(__file__).resolve().parent
LACKS = 4  #: exit code of a program that this machine cannot run
LONGER = ("fuzz.py", "soak.py")  #: programs whose records are of more work than a night's


def programs(folder: Path = HERE) -> list[Path]:
    """Those with the option --nightly."""
    return [path for path in sorted(folder.glob("*.py"))
            if re.search(r"^@record\.program\([^@]*\bnight=", path.read_text(), re.MULTILINE)]  # fmt: skip


def words(program: Path, recorded: bool) -> list[str]:
    """What is given to a program."""
    named = re.search(rf"{program.name} .*--record ([\w-]+)", program.read_text())
    record = ["--record", named[1]] if recorded and named and program.name not in LONGER else []
    return ["--nightly", *record]


def ran(program: Path, recorded: bool) -> tuple[int, str]:
    """The exit code of a program, and what it printed with the minutes that it took."""
    began = monotonic()
    command = [sys.executable, str(program), *words(program, recorded)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    minutes = (monotonic() - began) / 60
    return done.returncode, f"== {program.name}: exit code {done.returncode}, {minutes:.1f} min\n{done.stdout}"


@click.command(help=__doc__.partition("\n")[0])
@click.option("--record", "recorded", is_flag=True, help="Have programs write their records.")
def main(recorded: bool) -> None:
    failed, found = [], [path for path in programs() if path.name != Path(__file__).name]
    with ThreadPoolExecutor(2) as pool:
        for program, (code, text) in zip(found, pool.map(lambda program: ran(program, recorded), found), strict=True):
            click.echo(text)
            failed += [program.name] if code not in (0, LACKS) else []
    click.echo(f"{len(found)} programs, failed: {', '.join(failed) or 'none'}")
    sys.exit(int(bool(failed)))


if __name__ == "__main__":
    main()
