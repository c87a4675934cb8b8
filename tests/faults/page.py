"""The page "reliability", made from the records in results/reliability: each promise, and what was tried to break
it.

    python tests/faults/page.py > docs/explanation/reliability.md

Exit code 1, with a line for each fault on stderr, if a record is incomplete, its program or an option of its command
does not exist, or its promise was broken.
"""

import html
import importlib
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import record
from record import AREAS

START = """\
# Reliability

What grailbench promises when disks fill, processes die, input is hostile and runs are long, and what was tried to
break each promise. The page is made from the files in `results/reliability`, which the programs themselves wrote: each
has the command, commit, machine, duration and counts of its try. A promise that broke when it was last tried says so.

`make faults` runs every program below that needs no GPU, at the length of a night; `make faults RECORD=1` has them
write new records. Each has a short form in the ordinary tests (`make test`). Tests are in `tests/` and `tests/faults/`.
What is taken from others without trust, and what is trusted, is in `SECURITY.md` of the repository.
"""
#: programs that are gone: the tests that hold their promises now
GONE = {
    "bounds.py": "tests/faults/boundscheck.py",
    "branches.py": "tests/faults/kernels.py",
    "claims.py": "tests/faults/crowds.py",
    "clocks.py": "tests/test_clocks.py",
    "flips.py": "tests/faults/own_files.py",
    "hostile.py": "tests/test_hostile_names.py",
    "leftovers.py": "tests/test_temporary.py",
    "outputs_onto_inputs.py": "tests/test_outputs.py",
    "sanitizers.py": "tests/faults/kernels.py",
    "sources.py": "tests/test_sources.py",
    "supply.py": "tests/test_locks.py",
    "together.py": "tests/faults/lost.py",
}


def records() -> list[tuple[str, dict]]:
    """Name and content of each record, by name."""
    return [(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(record.FOLDER.glob("*.json"))]


def page(found: list[tuple[str, dict]]) -> str:
    """The page as Markdown."""
    parts = [START]
    for area in AREAS:
        here = [(name, each) for name, each in found if each["area"] == area]
        if here:
            parts.append(f"\n## {area}\n\n{_promises(here)}")
    return "".join(parts)


def test_of(found: Mapping) -> str:
    """The path of the file that tries the promise of a record today."""
    return GONE.get(Path(found["test"]).name, found["test"])


def _promises(found: list[tuple[str, dict]]) -> str:
    lines = [
        (
            escaped(each["promise"]),
            ("" if each["kept"] else "**broken**: ") + escaped(each["figure"]),
            f"`{Path(test_of(each)).name}`",
            each["date"],
        )
        for _, each in found
    ]
    headers = ("promise", "what was tried", "test", "date")
    return "".join(f"| {' | '.join(line)} |\n" for line in (headers, ["---"] * len(headers), *lines))


def escaped(text: str) -> str:
    """Text in one line that Markdown shows as it is, also in a table."""
    return html.escape(re.sub(r"([\\`*_\[\]|~])", r"\\\1", " ".join(text.split())), quote=False)


def faults(name: str, found: Mapping) -> Iterator[str]:
    """What is wrong with a record: a field or file that is missing, an unknown area or option, a broken promise."""
    if missing := [key for key in record.KEYS if key not in found]:
        yield f"{name}: no {', '.join(missing)}"
        return
    if found["area"] not in AREAS:
        yield f"{name}: no area {found['area']!r} on the page, which has {', '.join(AREAS)}"
    if not (record.ROOT / test_of(found)).is_file():
        yield f"{name}: no test {test_of(found)}"
    if not found["kept"] or record.broken(found["details"]):
        yield f"{name}: the promise was broken: {found['figure']}"
    if Path(found["test"]).name in GONE:
        return
    _, program, *options = shlex.split(found["command"])
    path = record.ROOT / program
    if not path.is_file():
        yield f"{name}: no program {program}"
        return
    command = importlib.import_module(path.stem).main
    try:
        command.make_parser(click.Context(command)).parse_args(options)
    except click.UsageError as error:
        yield f"{name}: {error.format_message()}"


@click.command(help=__doc__.partition("\n")[0])
def main() -> None:
    found = records()
    print(page(found), end="")
    wrong = [fault for name, each in found for fault in faults(name, each)]
    for fault in wrong:
        print(fault, file=sys.stderr)
    sys.exit(int(bool(wrong)))


if __name__ == "__main__":
    main()
