"""`grailbench compare`: a run compared with a baseline, with limits from a gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from grailbench.cli import completion, options
from grailbench.cli.printing import note, put_json
from grailbench.report.render import terminal
from grailbench.report.table import Table
from grailbench.util import screen
from grailbench.util.words import brief, count, fine_ratio, grouped, listing

if TYPE_CHECKING:
    from grailbench.compare.runs import CellChange, Comparison, CounterChange, Side, TimeChange


@click.command("compare")
@click.argument("base", type=completion.RUN)
@click.argument("new", type=completion.RUN)
@options.comparison
@click.option("--reference", type=completion.IMPLEMENTATION, metavar="IMPL",
              help="Whose times of the same run are the unit across machines.")  # fmt: skip
@click.option("--times", type=click.Choice(("auto", "reference", "none")), help="ms on one machine and by reference "
              "across, always by reference, or counters alone. [default: auto]")  # fmt: skip
@click.option("--accept", is_flag=True, help="Take NEW as the baseline, in the place of BASE, also with regressions; "
              "a NEW with lost, wrong or incomplete cells is refused.")  # fmt: skip
@options.as_json
def command(base, new, gate_file, form, reference, metric, times, everything, require_all, accept, as_json):
    """Compare the run NEW with the run BASE and fail on a regression.

    Runs are folders or names. Cells are matched by configuration, queries and graph. Work counters are exact: any
    more is a regression. A time is one when new / base is beyond the gate (1.10), 1 is not in the bootstrap interval of
    the ratio, no side is unstable, and the least times show it too; a cell that was ok in BASE and is wrong, failed or
    out of time in NEW is one as well. Verdict and means are of the cells that both runs have. Those that only one has
    are listed apart; with --require-all, which is for CI, they and counters of NEW only are regressions too.

    With --accept, NEW takes the place of BASE after it was compared: among the recorded runs (results/baselines) as
    'grailbench record' does it, elsewhere with the old one kept beside it as BASE.before, or BASE.before-2
    and so on. It is done whole or not at all.

    \b
    A gate file, every key optional:
      ratio = 1.10              # new / base allowed on one machine
      across = 2.0              # the same in units of the reference, on two machines
      least_ms = 0.05           # smaller differences do not count
      reference = "dfs"
      metrics = ["label", "query"]
      times = "auto"            # auto, reference or none, as --times
      require_all = true        # as --require-all
      [sets]
      large = 1.05              # or { ratio = 1.05, across = 3.0, least_ms = 1.0 }

    \b
    Exit codes: 0 no regression, or accepted; 1 a regression, or not accepted for lost, wrong or incomplete cells;
    2 bad input; 3 nothing comparable.

    \b
    Examples:
      grailbench compare 20250131-120000-quickstart 20250201-120000-quickstart
      grailbench compare results/baselines/ci NEW --gate results/baselines/ci/gate.toml
      grailbench compare LAST NEW --require-all --times none
      grailbench compare BASE NEW --reference dfs --metric query --format markdown
      grailbench compare benchmarks/baseline NEW --accept
    """
    from grailbench.compare import accept as taking
    from grailbench.compare import runs as compare
    from grailbench.harness import baseline

    gate = compare.gate_of(gate_file, reference=reference, metrics=list(metric), times=times,
                           require_all=require_all)  # fmt: skip
    if settled := baseline.settle(base):
        note(f"{settled}: its new baseline, accepted before, is in its place now")
    found = compare.of_runs(base, new, gate)
    put(found, "json" if as_json else form, everything)
    if not accept:
        found.check()
        return
    for line in taking.accept(found):
        note(line)


FORMATS = ("table", "markdown", "json")
_ORDER = ("regression", "unclear", "improvement", "changed", "note", "same")
_WORDS = {"regression": "SLOWER", "improvement": "faster", "unclear": "unclear", "same": "same"}
_WORK = {"regression": "MORE WORK", "improvement": "less work", "changed": "changed", "note": "new"}
_CELLS = {"regression": "LOST", "note": "noted"}
ONE_SIDE = "Cells that only one run has"
_TIME_HEADS = [
    "Data set", "implementation", "phase", "unit", "base", "new", "new / base", "95 %", "of least", "gate", "verdict",
]  # fmt: skip
_FEW = 10  #: the most lines of the table of cells that only one run has
_NUMBERS = frozenset({"cells", "base", "new", "new / base", "95 %", "of least", "gate", "change", "graphs", "lost"})


def verdict(found: Comparison) -> str:
    """The result of the comparison in one line."""
    if not found.compared:
        return "nothing comparable"
    number = len(found.of("regression"))
    if not number:
        return f"no regression in the {count(found.matched, 'cell')} of both" if found.apart else "no regression"
    kinds = {"cells": found.cells, "counters": found.counters, "times": found.times, ONE_SIDE.lower(): found.apart}
    counts = {name: sum(each.verdict == "regression" for each in changes) for name, changes in kinds.items()}
    parts = [f"{number} in {name}" for name, number in counts.items() if number]
    return f"{count(number, 'regression')}: {', '.join(parts)}"


def header(found: Comparison) -> list[str]:
    """Lines that say what was compared, how, and how many cells, counters and times differ."""
    lines = [
        f"base: {found.base.name} ({found.base.machine})",
        f"new: {found.new.name} ({found.new.machine})",
        *(f"the {side} run began at {load}: other work disturbs its times" for side, load in _busy(found)),
        f"{'; '.join(_shared(found))}; {found.how}",
        _counted(found),
    ]
    if found.times:
        tally = Counter(each.verdict for each in found.times)
        parts = [f"{tally[name]} {_WORDS[name].lower()}" for name in _ORDER if tally[name]]
        lines.append(f"{len(found.times)} times compared: {', '.join(parts)}")
    for reason, number in Counter(each.reason for each in found.left_out).items():
        lines.append(f"{count(number, 'time')} not compared: {reason}")
    if found.exit_code == 0 and any(each.verdict in ("improvement", "changed") for each in found.counters):
        lines.append("the work changed and is no regression: record a new baseline, or it will hide the next change")
    return lines


def _shared(found: Comparison) -> Iterator[str]:
    """How many cells both runs have, and how many only one has."""
    from grailbench.compare.runs import ABSENT

    yield f"{count(found.matched, 'cell')} in both"
    for side in ("base", "new"):
        if number := len(found.only(side)):
            yield f"{number} only in {side}, not compared"
    if number := sum(ABSENT not in (each.base, each.new) for each in found.apart):
        yield f"{number} on other graphs of the same name, not compared"


def _busy(found: Comparison) -> Iterator[tuple[str, str]]:
    """The runs whose machine was busy when they began, and how busy."""
    from grailbench.compare.stability import loads

    for side, run in (("base", found.base), ("new", found.new)):
        if found.times and (busy := loads(run.environment)):
            yield side, ", later ".join(busy)


def _counted(found: Comparison) -> str:
    if not found.counted:
        return "no counters in both runs"
    if not found.counters:
        return f"{found.counted} counters compared, all equal"
    return f"{found.counted} counters compared, {len(found.counters)} differ"


def tables(found: Comparison, everything: bool = False) -> Iterator[Table]:
    """The tables that have lines; `everything` adds times that are the same."""
    if found.cells:
        cells = sorted(found.cells, key=lambda each: _ORDER.index(each.verdict))
        lines = [[c.dataset, c.label, c.base, c.new, c.reason, _CELLS[c.verdict]] for c in cells]
        yield Table("", "Cells", ["Data set", "implementation", "base", "new", "reason", "verdict"], lines, keys=2)
    if found.apart:
        yield _one_side(found.apart, everything)
    if found.counters:
        heads = ["Data set", "implementation", "counter", "base", "new", "change", "verdict"]
        changes = sorted(_telling(found.counters), key=lambda each: _ORDER.index(each.verdict))
        hidden = len(found.counters) - len(changes)
        notes = [f"{hidden} counters of modelled traffic that follow from these are not shown."] if hidden else []
        yield _table("Work (exact counters)", heads, [_counter_line(each) for each in changes], notes)
    shown = [each for each in found.times if everything or each.verdict != "same"]
    if shown:
        yield _times("Times" if everything else "Times that differ", shown)
    if found.means:
        lines = [[m.label, m.phase, f"{m.mean.measured}", f"{m.mean.missing}",
                  fine_ratio(m.mean.value) + (" (sampled)" if m.sampled else "")] for m in found.means]  # fmt: skip
        penalties = {m.mean.penalty for m in found.means if m.mean.missing}
        notes = [f"A lost cell counts as {max(penalties):g} times slower."] if penalties else []
        heads = ["implementation", "phase", "graphs", "lost", "new / base"]
        yield _table("Geometric means over graphs", heads, lines, notes)


def _table(title: str, heads: list[str], lines: list[list[str]], notes: list[str]) -> Table:
    return Table("", title, heads, lines, _NUMBERS, keys=2, notes=notes)


def _one_side(apart: list[CellChange], everything: bool) -> Table:
    """A line for each configuration with its number of cells and some of their graphs; if `everything`, all."""
    from grailbench.compare.runs import ABSENT

    groups: dict[tuple[str, str, str], list[CellChange]] = {}
    for each in apart:
        run = "new" if each.base == ABSENT else "base" if each.new == ABSENT else "both, other graphs"
        groups.setdefault((run, each.label, _CELLS[each.verdict]), []).append(each)
    most = len(apart) if everything else 3
    lines = [
        [run, label, f"{len(cells)}", listing(dict.fromkeys(each.dataset for each in cells), most, "graph"), word]
        for (run, label, word), cells in groups.items()
    ]
    shown = lines if everything else lines[:_FEW]
    hidden = sum(int(line[2]) for line in lines[len(shown) :])
    more = f"{count(hidden, 'cell')} of {len(lines) - len(shown)} more configurations: --all shows them."
    notes = [more] if hidden else []
    return _table(ONE_SIDE, ["run", "implementation", "cells", "Data sets", "verdict"], shown, notes)


def _telling(changes: list[CounterChange]) -> list[CounterChange]:
    """The changes without modelled traffic, for cells where a counted counter differs: it follows from that."""
    counted = {(each.dataset, each.label) for each in changes if not _modelled(each.counter)}
    return [each for each in changes if not _modelled(each.counter) or (each.dataset, each.label) not in counted]


def _modelled(counter: str) -> bool:
    return "_bytes" in counter or counter.endswith("_gathers")


def _times(title: str, changes: list[TimeChange]) -> Table:
    ordered = sorted(changes, key=lambda each: _ORDER.index(each.verdict))
    notes = []
    if any(each.verdict == "unclear" for each in changes):
        notes.append(
            "unclear: beyond the gate, but 1 lies in the interval of the ratio, a side is unstable, the least times do "
            "not show it, or only the reference changed; measure again."
        )
    if any(each.drifts for each in changes):
        notes.append("~: the trials drifted; the interval says less than it seems to.")
    return _table(title, _TIME_HEADS, [_time_line(each) for each in ordered], notes)


def _time_line(each: TimeChange) -> list[str]:
    from grailbench.compare.ratios import span

    return [
        each.dataset, each.label, each.phase, each.unit, _side(each.base), _side(each.new), fine_ratio(each.ratio),
        span(each.bounds, fine_ratio), fine_ratio(each.least), fine_ratio(each.allowed),
        _WORDS[each.verdict] + ("~" if each.drifts else ""),
    ]  # fmt: skip


def _side(side: Side) -> str:
    return f"{brief(side.median)} [{brief(side.interval.low)}, {brief(side.interval.high)}]"


def _counter_line(each: CounterChange) -> list[str]:
    both = each.base is not None and each.new is not None
    change = f"{(each.new - each.base) / each.base:+.2%}" if both and each.base else ""
    values = [grouped(value) for value in (each.base, each.new)]
    word = _WORK[each.verdict]
    if each.verdict == "regression" and not both:
        word = "NOT COUNTED" if each.new is None else "NOT IN BASE"
    return [each.dataset, each.label, each.counter, *values, change, word]


def put(found: Comparison, form: str = "table", everything: bool = False) -> None:
    """Prints a comparison on stdout in one of `FORMATS`."""
    if form == "json":
        put_json(records(found))
    elif form == "markdown":
        click.echo(markdown(found), nl=False)
    else:
        screen.put(show(found, everything))


def show(found: Comparison, everything: bool = False) -> Iterator:
    """Lines and tables for the screen."""
    yield from header(found)
    for table in tables(found, everything):
        yield ""
        yield from terminal(table)
    yield ""
    yield verdict(found)


def markdown(found: Comparison) -> str:
    """A comment for a pull request: the verdict, with all details in sections that are folded away."""
    from grailbench.report.render.markdown import content, paragraph, text

    parts = [f"## grailbench: {text(verdict(found))}\n"]
    parts.append(_folded("What was compared", "".join(f"- {paragraph(line)}\n" for line in header(found))))
    shown = [*tables(found), *([_times(f"All {len(found.times)} times", found.times)] if found.times else [])]
    return "\n".join([*parts, *(_folded(table.title, content(table)) for table in shown)])


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n</details>\n"


def records(found: Comparison) -> Iterator[dict]:
    """A record for each change and compared time, and the verdict last. An interval is a pair: low, high."""
    groups = {
        "cell": found.cells, "apart": found.apart, "counter": found.counters, "time": found.times,
        "left out": found.left_out,
    }  # fmt: skip
    for kind, changes in groups.items():
        for each in changes:
            yield {"kind": kind, **asdict(each)}
    for each in found.means:
        yield {"kind": "mean", "label": each.label, "phase": each.phase, **each.mean._asdict(), "sampled": each.sampled}
    yield {
        "kind": "verdict", "base": str(found.base.folder), "new": str(found.new.folder), "how": found.how,
        "matched": found.matched, "only_base": len(found.only("base")), "only_new": len(found.only("new")),
        "counters": found.counted, "times": len(found.times), "regressions": len(found.of("regression")),
        "exit_code": found.exit_code, "verdict": verdict(found),
    }  # fmt: skip
