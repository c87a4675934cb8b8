"""What is said loudly of times that cannot be trusted: the verdicts of a run's cells as lines, with the remedy.

The rules are those of `runs.stability`; here are only their words and the commands that help.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

from grailbench.harness import stability
from grailbench.harness.cells import Cell
from grailbench.harness.stability import LEAST_TRIALS, LOAD, MOST_WIDTH, RULES, WIDE, Verdict
from grailbench.util.visible import quoted
from grailbench.util.words import count

LOUD = "UNSTABLE: run again."  #: how the first line begins
_SHOWN = 5  #: cells that are named
_MOST_TRIALS = 200  #: that are proposed
_TOLD = {"--out", "--answers"}  # options of a run, with a value, that another run cannot have again


def verdicts(cells: Iterable[Cell], environment: Mapping) -> dict[tuple, Verdict]:
    """The verdicts on the cells of a run with this environment, by `Cell.key`."""
    return {cell.key: stability.verdict(cell, environment) for cell in cells}


def lines(cells: Iterable[Cell], environment: Mapping, run: str = "", found: Mapping | None = None) -> list[str]:
    """What is said of the cells of a run: which are unstable, why, and the commands that help; those with too few
    trials; nothing if all are stable. Lines that begin with spaces belong to the one above.

    run    its name or folder, for commands; '' for a run that cannot be gone on with, such as a recorded one
    found  the verdicts, if they are known already
    """
    cells = list(cells)
    found = verdicts(cells, environment) if found is None else found
    return [*_unstable(cells, found, environment, run), *_few(cells, found, run)]


def _unstable(cells: list[Cell], found: Mapping[tuple, Verdict], environment: Mapping, run: str) -> Iterator[str]:
    bad = [cell for cell in cells if not found[cell.key].stable]
    if not bad:
        return
    rules = Counter(rule for cell in bad for rule in found[cell.key].rules)
    told = ", ".join(f"{rule} ({rules[rule]})" for rule in RULES if rules[rule])
    timed = sum(bool(cell.times) and cell.sound for cell in cells)
    yield f"{LOUD} Not to be trusted are the times of {len(bad)} of {count(timed, 'cell')}: {told}."
    if rules[LOAD]:
        yield f"  The machine had other work when the run began: {', later '.join(stability.loads(environment))}."
    named = [cell for cell in bad if found[cell.key].rules != (LOAD,)]
    for cell in named[:_SHOWN]:
        why = [each.reason for each in found[cell.key].findings if each.rule != LOAD]
        yield f"  {cell.dataset} {cell.name}: {'; '.join(why)}."
    if (more := len(named) - _SHOWN) > 0:
        yield f"  {count(more, 'more cell')}: see the column 'stability' of all cells (--details, report.md)."
    if rules.keys() - {WIDE}:
        again = _again(environment)
        how = f": {again}" if again else ", with the same plan"
        yield f"  Stop other work on the machine, let it rest, and measure anew{how}"
    if rules[WIDE] and run:
        wide = [cell for cell in bad if WIDE in found[cell.key].rules]
        yield f"  More trials make intervals narrower: {_more(run, cells, max(map(_needed, wide)))}"


def _few(cells: list[Cell], found: Mapping[tuple, Verdict], run: str) -> Iterator[str]:
    if few := [cell for cell in cells if found[cell.key].few]:
        how = f": {_more(run, cells, LEAST_TRIALS)}" if run else ""
        yield (
            f"{count(len(few), 'cell')} of {len(cells)} {'has' if len(few) == 1 else 'have'} too few trials to tell if "
            f"{'it is' if len(few) == 1 else 'they are'} stable, {LEAST_TRIALS} are needed{how}"
        )


def _needed(cell: Cell) -> int:
    """The trials with which the interval of a cell's median would be narrow enough: its width falls with their root."""
    phases = [stats for name in stability.judged_phases(cell) if (stats := cell.stats(name)) is not None]
    return max(math.ceil(each.trials * max(1.0, stability.width(each) / MOST_WIDTH) ** 2) for each in phases)


def _more(run: str, cells: Iterable[Cell], trials: int) -> str:
    """The command that goes on with a run to so many trials, in tens, and no fewer than any cell was planned."""
    planned = max((cell.planned or 0 for cell in cells), default=0)
    wanted = max(planned, min(-(-trials // 10) * 10, _MOST_TRIALS))
    return f"grailbench run --resume={quoted(run)} --trials {wanted}"


def _again(environment: Mapping) -> str:
    """The command with which a run was begun, without the options that name its own files; '' if that says no plan."""
    command = [str(word) for word in environment.get("command") or ()]
    if not command or not PurePath(command[0]).name.startswith(("grailbench", "__main__")) or command[1:2] != ["run"]:
        return ""
    kept, words = [], iter(command[2:])
    for word in words:
        if word in _TOLD:
            next(words, None)
        elif word.partition("=")[0] not in {*_TOLD, "--resume"}:
            kept.append(word)
    whole = {word.partition("=")[0] for word in kept} & {"--config", "--dataset", "--set"}
    return f"grailbench run {' '.join(map(quoted, kept))}" if whole else ""
