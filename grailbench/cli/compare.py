"""The command `grailbench compare`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import click

from grailbench.cli import options, printing
from grailbench.cli.printing import note, put_json
from grailbench.report.table import Table
from grailbench.util.words import brief, count, fine_ratio, grouped, listing

if TYPE_CHECKING:
    from grailbench.compare.runs import Comparison, CounterChange, Side, TimeChange


@click.command
@click.argument("base", type=options.RUN)
@click.argument("new", type=options.RUN)
@options.comparison
@click.option("--reference", type=options.IMPLEMENTATION,
              help="Whose times of the same run are the unit across machines.")  # fmt: skip
@click.option("--times", type=click.Choice(("auto", "reference", "none")), help="ms on one machine and by reference "
              "across, always by reference, or counters alone. [default: auto]")  # fmt: skip
@click.option("--accept", is_flag=True, help="Take NEW as the baseline, in the place of BASE, also with regressions; "
              "a NEW with lost, wrong or incomplete cells is refused.")  # fmt: skip
@options.as_json
def compare(base, new, gate_file, form, reference, metric, times, everything, require_all, accept, as_json):
    """Compare the run NEW with the run BASE and fail on a regression.

    Runs are folders or names. Cells are matched by configuration, queries and graph. Work counters are exact: any
    more is a regression. A time is one when new / base is beyond the gate (1.10), 1 is not in the bootstrap interval of
    the ratio, no side is unstable, and the least times show it too; a cell that was ok in BASE and is wrong, failed or
    out of time in NEW is one as well. Verdict and means are of the cells that both runs have. Those that only one has
    are listed apart; with --require-all, which is for CI, they and counters of NEW only are regressions too.

    With --accept, NEW takes the place of BASE after it was compared: among the recorded runs (results/baselines) as
    'grailbench record' does it, elsewhere the old one stays beside it as BASE.before, or BASE.before-2
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
    from grailbench.compare import runs
    from grailbench.harness import provenance

    gate = runs.gate_of(gate_file, reference=reference, metrics=list(metric), times=times, require_all=require_all)
    if settled := provenance.settle(base):
        note(f"{settled}: its new baseline, accepted before, is in its place now")
    found = runs.of_runs(base, new, gate)
    try:
        put(found, "json" if as_json else form, everything)
    finally:  # also where nobody reads on
        if not accept:
            found.check()
    if not accept:
        return
    for line in runs.accept(found):
        note(line)


_ORDER = ("regression", "unclear", "small", "improvement", "changed", "note", "same")
_WORDS = {"regression": "SLOWER", "improvement": "faster", "unclear": "unclear", "small": "small",
          "same": "same"}  # fmt: skip
_WORK = {"regression": "MORE WORK", "improvement": "less work", "changed": "changed", "note": "new"}
_CELLS = {"regression": "LOST", "note": "noted"}
ONE_SIDE = "Cells that only one run has"
_FEW = 5  #: the most lines of the table of cells that only one run has
_NUMBERS = frozenset({"cells", "base", "new", "new / base", "95 %", "of least", "gate", "change", "graphs", "lost"})
_table = partial(printing.table, right=_NUMBERS, keys=2)
_PLACE = {"Data set": "dataset", "implementation": "label"}  #: the first columns of most tables


def verdict(found: Comparison) -> str:
    """The result of the comparison in one line."""
    if not found.compared:
        return "nothing comparable"
    number = len(found.of("regression"))
    if not number:
        return f"no regression in the {count(found.matched, 'cell')} of both" if found.one_sided else "no regression"
    kinds = {"cells": found.cells, "counters": found.counters, "times": found.times, ONE_SIDE.lower(): found.one_sided}
    counts = {name: sum(each.verdict == "regression" for each in changes) for name, changes in kinds.items()}
    return f"{count(number, 'regression')}: {', '.join(f'{n} in {name}' for name, n in counts.items() if n)}"


def header(found: Comparison) -> Iterator[str]:
    """Lines that say what was compared, how, and how many cells, counters and times differ."""
    from grailbench.compare.runs import ABSENT

    yield f"base: {found.base.name} ({found.base.machine})"
    yield f"new: {found.new.name} ({found.new.machine})"
    for side, run in (("base", found.base), ("new", found.new)):
        if found.times and (busy := dict.fromkeys(cell.load for cell in run.cells if cell.load)):
            yield f"the {side} run: {listing(busy, 3)}, which disturbs its times"
    parts = [f"{count(found.matched, 'cell')} in both"]
    parts += [f"{n} only in {side}, not compared" for side in ("base", "new") if (n := len(found.only(side)))]
    if other := sum(ABSENT not in (each.base, each.new) for each in found.one_sided):
        parts.append(f"{other} on other graphs of the same name, not compared")
    yield f"{'; '.join(parts)}; {found.how}"
    differ = f"{len(found.counters)} differ" if found.counters else "all equal"
    yield f"{found.counted} counters compared, {differ}" if found.counted else "no counters in both runs"
    if found.times:
        tally = Counter(each.verdict for each in found.times)
        parts = [f"{tally[name]} {_WORDS[name].lower()}" for name in _ORDER if tally[name]]
        yield f"{len(found.times)} times compared: {', '.join(parts)}"
    for reason, number in Counter(each.reason for each in found.left_out).items():
        yield f"{count(number, 'time')} not compared: {reason}"
    if found.exit_code == 0 and any(each.verdict in ("improvement", "changed") for each in found.counters):
        yield "the work changed and is no regression: record a new baseline, or it will hide the next change"


def tables(found: Comparison, everything: bool = False) -> Iterator[Table]:
    """The tables that have lines; `everything` adds times that are the same, and all cells that only one run has."""
    from grailbench.compare.runs import ABSENT

    if found.cells:
        columns = _PLACE | {"base": "base", "new": "new", "reason": "reason", "verdict": lambda c: _CELLS[c.verdict]}
        yield _table("Cells", columns, _worst_first(found.cells), right=())
    if found.one_sided:
        shown = found.one_sided if everything else found.one_sided[:_FEW]
        columns = {
            "run": lambda c: "new" if c.base == ABSENT else "base" if c.new == ABSENT else "both, other graphs",
            **_PLACE, "verdict": lambda c: _CELLS[c.verdict],
        }  # fmt: skip
        hidden = len(found.one_sided) - len(shown)
        notes = [f"{count(hidden, 'more cell')}: --all shows them."] if hidden else []
        yield _table(ONE_SIDE, columns, shown, notes=notes)
    if found.counters:
        changes = _telling(found.counters)
        hidden = len(found.counters) - len(changes)
        notes = [f"{hidden} counters of modelled traffic that follow from these are not shown."] if hidden else []
        columns = _PLACE | {
            "counter": "counter", "base": lambda c: grouped(c.base), "new": lambda c: grouped(c.new),
            "change": lambda c: f"{(c.new - c.base) / c.base:+.2%}" if c.base and c.new is not None else "",
            "verdict": _counted,
        }  # fmt: skip
        yield _table("Work (exact counters)", columns, _worst_first(changes), notes=notes)
    if shown := [each for each in found.times if everything or each.verdict != "same"]:
        yield _times("Times" if everything else "Times that differ", shown)
    if found.means:
        penalties = {m.mean.penalty for m in found.means if m.mean.missing}
        notes = [f"A lost cell counts as {max(penalties):g} times slower."] if penalties else []
        columns = {
            "implementation": "label", "phase": "phase", "graphs": lambda m: m.mean.measured,
            "lost": lambda m: m.mean.missing,
            "new / base": lambda m: fine_ratio(m.mean.value) + (" (sampled)" if m.sampled else ""),
        }  # fmt: skip
        yield _table("Geometric means over graphs", columns, found.means, notes=notes)


def _worst_first(changes: list) -> list:
    return sorted(changes, key=lambda each: _ORDER.index(each.verdict))


def _telling(changes: list[CounterChange]) -> list[CounterChange]:
    """The changes without modelled traffic, for cells where a counted counter differs: it follows from that."""

    def modelled(change: CounterChange) -> bool:
        return "_bytes" in change.counter or change.counter.endswith("_gathers")

    counted = {(each.dataset, each.label) for each in changes if not modelled(each)}
    return [each for each in changes if not modelled(each) or (each.dataset, each.label) not in counted]


def _counted(change: CounterChange) -> str:
    """The verdict on a counter in words."""
    if change.verdict == "regression" and None in (change.base, change.new):
        return "NOT COUNTED" if change.new is None else "NOT IN BASE"
    return _WORK[change.verdict]


def _times(title: str, changes: list[TimeChange]) -> Table:
    from grailbench.compare.ratios import span

    notes = []
    if any(each.verdict == "unclear" for each in changes):
        notes.append(
            "unclear: beyond the gate, but 1 lies in the interval of the ratio, a side is unstable, the least times do "
            "not show it, or only the reference changed; measure again."
        )
    if any(each.verdict == "small" for each in changes):
        notes.append(
            "small: beyond the gate, but by less than its least_ms, so that it counts as the same; measure more pairs "
            "(count), or lower least_ms."
        )
    if any(each.drifts for each in changes):
        notes.append("~: the trials drifted; the interval says less than it seems to.")

    def side(found: Side) -> str:
        return f"{brief(found.median)} [{brief(found.interval.low)}, {brief(found.interval.high)}]"

    columns = _PLACE | {
        "phase": "phase", "unit": "unit", "base": lambda c: side(c.base), "new": lambda c: side(c.new),
        "new / base": lambda c: fine_ratio(c.ratio), "95 %": lambda c: span(c.bounds, fine_ratio),
        "of least": lambda c: fine_ratio(c.least), "gate": lambda c: fine_ratio(c.allowed),
        "verdict": lambda c: _WORDS[c.verdict] + ("~" if c.drifts else ""),
    }  # fmt: skip
    return _table(title, columns, _worst_first(changes), notes=notes)


def put(found: Comparison, form: str, everything: bool = False) -> None:
    """Prints a comparison on stdout as 'table', 'markdown' or 'json'."""
    if form == "json":
        put_json(records(found))
    elif form == "markdown":
        click.echo(markdown(found), nl=False)
    else:
        shown = (part for table in tables(found, everything) for part in ("", table))
        printing.put([*header(found), *shown, "", verdict(found)])


def markdown(found: Comparison) -> str:
    """A comment for a pull request: the verdict, with all details in sections that are folded away."""
    from grailbench.report.render.markdown import content, paragraph, text

    shown = [*tables(found), *([_times(f"All {len(found.times)} times", found.times)] if found.times else [])]
    parts = [("What was compared", "".join(f"- {paragraph(line)}\n" for line in header(found)))]
    parts += [(table.title, content(table)) for table in shown]
    folded = (f"<details><summary>{title}</summary>\n\n{body}\n</details>\n" for title, body in parts)
    return "\n".join([f"## grailbench: {text(verdict(found))}\n", *folded])


def records(found: Comparison) -> Iterator[dict]:
    """A record for each change and compared time, and the verdict last. An interval is a pair: low, high."""
    groups = {
        "cell": found.cells, "one run": found.one_sided, "counter": found.counters, "time": found.times,
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
