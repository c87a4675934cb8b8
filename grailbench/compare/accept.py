"""Accepting a run as the baseline: what speaks against it, whatever its times, and doing it."""

from grailbench.compare.measures import grouped
from grailbench.compare.runs import Comparison
from grailbench.errors import CheckFailed, InputError, NothingMeasured
from grailbench.harness import pack, provenance
from grailbench.harness.rows import TIMED
from grailbench.util.visible import quoted
from grailbench.util.words import count, listing

_NAMED = 3  #: cells that an error names


def accept(found: Comparison) -> list[str]:
    """Take the new run of a comparison as the baseline: in the place of its base, whole or not at all
    (`provenance.accept`). Regressions of times and counters do not hinder it. Returns sentences on what was done.

    Raises CheckFailed if the new run lacks cells of the base, has wrong, failed or incomplete ones, or other answers;
    InputError if its rows are damaged, and the errors of `provenance.accept`;
    NothingMeasured if the runs have nothing in common. The baseline is then as it was.
    """
    if not found.compared:
        raise NothingMeasured(f"nothing comparable in {found.base.folder} and {found.new.folder}: nothing is accepted")
    new = found.new
    if new.damage.torn or new.damage.rows or not new.rows:
        raise InputError(
            "its last trial is cut short", path=new.folder, remedy=f"grailbench run --resume={quoted(new.folder)}"
        )
    if faults := list(_faults(found)):
        raise CheckFailed(f"{new.name} is not accepted as the baseline: {'; '.join(faults)}")
    done = provenance.accept(found.base.folder, new.folder)
    if slower := len(found.of("regression")):
        done.append(f"its {count(slower, 'regression')} from the old baseline will not be reported again")
    return done


def _faults(found: Comparison):
    """What the new run lacks or has wrong, in words."""
    status = grouped(
        (cell for cell in found.new.cells if cell.status in ("failed", "incomplete")
         or cell.status == "wrong" and not pack.racy(cell.problem, cell.impl)),
        lambda cell: cell.status,
    )  # fmt: skip
    for word, cells in status.items():
        yield _named(f"{word} in it", [f"{cell.dataset} {cell.name}" for cell in cells])
    absent = [each for each in found.only("base") if each.base in TIMED]
    if absent:
        yield _named("not in it", [f"{each.dataset} {each.label}" for each in absent])
    lost = [each for each in found.cells if each.verdict == "regression" and each.new not in status]
    if lost:
        yield _named("lost", [f"{each.dataset} {each.label} ({each.reason or each.new})" for each in lost])


def _named(what: str, names: list[str]) -> str:
    return f"{count(len(names), 'cell')} {what}: {listing(names, _NAMED)}"
