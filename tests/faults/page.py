"""docs/reliability.md, made of the records in results/reliability: what is promised, and what was tried to break it.

    python tests/faults/page.py > docs/reliability.md

Exit code 1, with a line for each fault on stderr, if a record names a test, program or option that is not there, an
area that the page does not have, or a promise that was broken.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import click
import record
from record import AREAS

from grailbench.util.words import BLANK, clock, grouped

FIRST = date(2026, 1, 1)  #: no record is older
START = """\
# Reliability

What grailbench promises when disks fill, processes die, input is hostile and runs are long, and what was tried to
break each promise. This page is made from the files in results/reliability, which the tries themselves wrote
(`python tests/faults/page.py > docs/reliability.md`); a promise that was broken when it was last tried says so.

`make faults` in a checkout with the dev extra runs every program below that needs no GPU, but for supply.py, at the
length of a night, two at a time; `make faults RECORD=1` has them write their records anew, but for branches.py, fuzz.py
and soak.py, whose records are of more work.
The command of a line repeats that line; its `--help` has shorter and longer forms. Where a machine below names a GPU,
the command needs one. Each has a short form in the ordinary tests (`make test`).
"""


def records() -> list[tuple[str, dict]]:
    """Name and content of each record, by name."""
    return [(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(record.FOLDER.glob("*.json"))]


def page(found: list[tuple[str, dict]]) -> str:
    """The page as Markdown."""
    parts = [START]
    for area in AREAS:
        here = [(name, each) for name, each in found if each["area"] == area]
        if here:
            parts.append(f"\n## {area}\n\n{_promises(here)}\n{_details(here)}")
    return "".join(parts) if len(parts) > 1 else f"{START}\nNothing is recorded yet.\n"


def _promises(found: list[tuple[str, dict]]) -> str:
    lines = [
        (
            escaped(each["promise"]),
            f"[{escaped(Path(each['test']).name)}](../{each['test']})",
            ("" if each.get("kept", True) else "**broken**: ") + escaped(each["figure"]),
            escaped(each["date"]),
            code(each["command"]),
        )
        for _, each in found
    ]
    return _table(("promise", "test", "figure", "date", "command"), lines)


def _details(found: list[tuple[str, dict]]) -> str:
    lines = [
        (
            f"[{escaped(name)}](../results/reliability/{name}.json)",
            clock(each["seconds"]),
            escaped((each["commit"] or BLANK)[:12]),
            escaped(each["machine"]),
            escaped("; ".join(f"{_spaced(key)}: {_text(value)}" for key, value in each["details"].items())),
        )
        for name, each in found
    ]
    return _table(("record", "took", "commit", "machine", "details"), lines)


def _table(headers: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (headers, ["---"] * len(headers), *lines))


def _spaced(key: str) -> str:
    return key.replace("_", " ")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_spaced(key)} {_text(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return BLANK if value is None else str(value) if isinstance(value, bool) else grouped(value)


def shown(text: str) -> str:
    """Text in one line, with what turns, hides or moves other text made visible."""
    joined = " ".join(text.split())
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") else c for c in joined)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, also in a table."""
    text = re.sub(r"([\\`*_\[\]|~])", r"\\\1", shown(text))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str) -> str:
    """Text as code in a table."""
    text = shown(text).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if len(fence) > 1 else ""
    return f"{fence}{space}{text}{space}{fence}"


def faults(name: str, found: Mapping) -> Iterator[str]:
    """What is not true in a record: a file, program or option that is not there, an odd date, a broken promise."""
    missing = [key for key in record.KEYS if key not in found]
    if missing:
        yield f"{name}: no {', '.join(missing)}"
        return
    if found["area"] not in AREAS:
        yield f"{name}: no area {found['area']!r} on the page, which has {', '.join(AREAS)}"
    if not (record.ROOT / found["test"]).is_file() or not found["test"].startswith("tests/"):
        yield f"{name}: no test {found['test']}"
    try:
        day = date.fromisoformat(found["date"])
    except ValueError:
        yield f"{name}: {found['date']} is no date"
    else:
        if not FIRST <= day <= max(date.today(), _last_commit()):
            yield f"{name}: {found['date']} is before grailbench or after today"
    if not found.get("kept", True) or record.broken(found["details"]):
        yield f"{name}: the promise was broken: {found['figure']}"
    if not 0 < found["seconds"] < 7 * 86_400:
        yield f"{name}: took {found['seconds']} s"
    for words in commands(found["command"]):
        yield from (f"{name}: {fault}" for fault in unknown(words))


def _last_commit() -> date:
    from grailbench.harness.commit import git

    said = git(record.ROOT, "log", "-1", "--format=%cs")
    return date.fromisoformat(said) if said else FIRST


def commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a line, without variables that are set for it, from the program on."""
    for part in re.split(r"&&|;", line):
        words = shlex.split(part, comments=True)
        while words and re.fullmatch(r"\w+=.*", words[0]):
            words = words[1:]
        if "python" in words:  # what comes before it watches it
            words = words[words.index("python") :]
        yield words


def unknown(words: list[str]) -> Iterator[str]:
    """What a command names that is not there: its program, a target of make, an option."""
    if words[:3] == ["python", "-m", "pytest"]:
        words = words[2:]
    if words[:1] == ["make"]:
        rules = (record.ROOT / "Makefile").read_text(encoding="utf-8")
        yield from (f"no target {word}" for word in words[1:]
                    if "=" not in word and not re.search(rf"^{re.escape(word)}:", rules, re.MULTILINE))  # fmt: skip
    elif words[:1] == ["pytest"]:
        paths = [word.partition("::")[0] for word in words[1:] if word.startswith("tests/")]
        yield from (f"no file {path}" for path in paths if not (record.ROOT / path).exists())
        if not paths:
            yield "no file for pytest"
    elif words[:1] == ["grailbench"] or words[:3] == ["python", "-m", "grailbench"]:
        from grailbench.cli.main import cli

        name, *rest = words[1:] if words[0] == "grailbench" else words[3:]
        command = cli.get_command(click.Context(cli), name)
        yield from [f"no command {name}"] if command is None else _refused(command, rest)
    elif words[:1] == ["python"] and len(words) > 1 and (record.ROOT / words[1]).is_file():
        program = _loaded(record.ROOT / words[1]).main
        if isinstance(program, click.Command):
            yield from _refused(program, words[2:])
        else:
            text = (record.ROOT / words[1]).read_text(encoding="utf-8")
            options = [word.partition("=")[0] for word in words[2:] if word.startswith("--")]
            yield from (f"{words[1]} has no option {option}" for option in options if f'"{option}"' not in text)
    elif words[:1] != ["bash"] or len(words) < 2 or not (record.ROOT / words[1]).is_file():
        yield f"no program in {' '.join(words)!r}"


def _loaded(path: Path):
    spec = importlib.util.spec_from_file_location(f"shown_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _refused(command: click.Command, words: list[str]) -> Iterator[str]:
    """Why a command does not take these words, whose values are not looked at."""
    try:
        command.make_parser(click.Context(command, info_name=command.name)).parse_args(list(words))
    except click.UsageError as error:
        yield f"{command.name}: {error.format_message()}"


@click.command(help=__doc__.partition("\n")[0])
def main():
    found = records()
    print(page(found), end="")
    said = [fault for name, each in found for fault in faults(name, each)]
    for fault in said:
        print(fault, file=sys.stderr)
    sys.exit(int(bool(said)))


if __name__ == "__main__":
    main()
