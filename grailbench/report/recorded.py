"""A table of runs: machine, cells, commit, and the command that repeats the run."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grailbench.harness import folder as results
from grailbench.harness import provenance
from grailbench.harness.cells import Cell, Run, without_seed
from grailbench.harness.plan import UNNAMED, load_config, make_plan, shipped_configs
from grailbench.harness.rows import TIMED, cell_of
from grailbench.report.table import Footnotes, Table
from grailbench.util import words

_UNKNOWN = "recorded from code that no commit has"
_CONFIG = "its config is in its plan.json"
_SOME = "not all cells of its plan were recorded"
_BY_CODE = "by the hash of the code in the rows' keys; the run itself names an older commit or none"
#: options of `grailbench run` that do not change what is measured, and whether a value is the next word
_ELSEWHERE = {"--out": True, "--resume": False, "--no-fetch": False}
#: those, likewise, that leave the cells of a config as they are, or name its short form
_NEUTRAL = {"--jobs": True, "--sample": True, "--short": False}
_PLAIN = re.compile(r"[\w.:/-]+")  # what a shell reads as it is


def additions(runs: Sequence[Run]) -> list[str]:
    """A sentence for each run after the first on what it adds to it, implementations or else graphs, and on whether it
    is of the same machine."""
    first, *others = runs
    found, graphs = [], {cell.dataset for cell in first.cells}
    for run in others:
        names = [name for name in run.implementations if name not in first.implementations]
        names = names or [name for name in dict.fromkeys(cell.dataset for cell in run.cells) if name not in graphs]
        names = names or run.implementations
        same = first.fingerprint is not None and run.fingerprint == first.fingerprint
        where = "on the same machine at another time" if same else f"on another machine ({run.machine})"
        crosses = "" if same else f" Ratios of its times to those of `{first.name}` CROSS MACHINES."
        found.append(f"{', '.join(names)}: of the run `{run.name}`, {where}.{crosses}")
    return found


def overview(runs: Iterable[Run]) -> Table:
    """One line per run."""
    foot = Footnotes()
    lines = []
    for run in runs:
        folder, environment = run.folder, run.environment
        machine = ", ".join([*words.gpus(environment), words.count(environment["cores"], "core")])
        day = (environment.get("at") or "")[:10]
        named, notes = commits(folder, environment)
        commit = (", ".join(f"`{each}`" for each in named) or words.BLANK) + foot.mark(notes)
        command, notes = repeated(folder, environment, len(run.cells))
        again = f"`{in_braces(command)}`{foot.mark(notes)}"
        name = provenance.recorded_name(folder) or f"{folder.name}/"
        lines.append([f"`{name}`", machine, counted(run.cells), day, commit, again])
    headers = ["run", "machine", "cells", "on", "commit", "to repeat it"]
    return Table("runs", "", headers, lines, notes=foot.lines())


def counted(cells: Iterable[Cell]) -> str:
    """The number of cells, and of those without times or sampled by status: '170', '540, 31 timeout'."""
    found = [cell.status for cell in cells]
    if not found:
        return ""
    rest = [f"{found.count(status)} {status}" for status in dict.fromkeys(found) if status not in TIMED]
    rest += [f"{found.count('sampled')} sampled"] if "sampled" in found else []
    return ", ".join([str(len(found)), *rest])


def commits(folder: Path, environment: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The commits that measured a run, shortened, and notes on how far they are known."""
    entry = provenance.entry(folder)
    if entry is None:
        named = [environment["commit"]] if environment.get("commit") else []
        notes = ["the run's own word; it is not recorded"] if named else [_UNKNOWN]
    else:
        named = [commit for some in entry["codes"].values() for commit in some]
        notes = {"commit": [], "code": [_BY_CODE], "none": [_UNKNOWN]}[entry["found"]]
    return [commit[:9] for commit in named], notes


def repeated(folder: Path, environment: dict, cells: int | None = None) -> tuple[str, list[str]]:
    """The command that repeats a run, that of its first session, and notes on it. Configs are given by name; one of
    which several commands ran parts is given whole. Notes say where the command plans other cells, or more than the
    `cells` that the run has."""
    commands = [each.get("command") or [""] for each in (*environment.get("earlier", ()), environment)]
    words = list(_without(_ELSEWHERE, commands[0][1:]))
    parts = sum(not any(word.startswith("--resume") for word in each) for each in commands) > 1
    plan = results.read_json(folder / results.PLAN) if (folder / results.PLAN).is_file() else {}
    name, notes = plan.get("name"), []
    if name not in (None, UNNAMED):
        if "--config" in words:
            at = words.index("--config")
            words = words[:1] if parts else words[:at] + words[at + 2 :]
        base = name.removesuffix("-short")
        shipped = shipped_configs()
        named = [name] if name in shipped or base not in shipped else [base, *["--short"] * ("--short" not in words)]
        words[1:1] = ["--config", *named]
        notes = [] if named[0] in shipped and _whole(named, words[2 + len(named) :], plan) else [_CONFIG]
    notes += [_SOME] if cells is not None and plan and cells < _planned(plan.get("cells", ())) else []
    return " ".join(["grailbench", *words]), notes


def _planned(cells: Iterable[Mapping]) -> int:
    """The number of cells of a plan, where those that differ in their seed alone are one, as in reports."""
    return len({without_seed(cell_of(cell)) if cell.get("trials") == 1 else cell_of(cell) for cell in cells})


def _whole(named: list[str], options: list[str], plan: Mapping) -> bool:
    """Whether a command with a config of the package plans the cells of a run, as far as options do not change them."""
    short = "--short" in (*named, *options)
    return any(_without(_NEUTRAL, options)) or make_plan(load_config(named[0], short)).digest == plan.get("digest")


def in_braces(command: str) -> str:
    """A command with the values of each option that it repeats in braces, which a shell takes apart: `--dim={1,2}`."""
    head, *options = re.split(r" (?=--)", command)
    values: dict[str, list[str]] = {}
    for option in options:
        name, *value = re.split(r"[ =]", option, maxsplit=1)
        values.setdefault(name, []).extend(value)
    for name, several in values.items():
        together = len(several) > 1 and all(map(_PLAIN.fullmatch, several))
        head += "".join(f" {name} {value}" for value in several) if several and not together else f" {name}"
        head += f"={{{','.join(several)}}}" if together else ""
    return head


def _without(options: Mapping[str, bool], words: list[str]) -> Iterator[str]:
    """The words of a command without some options, and without the word after each that takes a value."""
    skip = False
    for word in words:
        if skip or word.partition("=")[0] in options:
            skip = options.get(word, False)
        else:
            yield word
