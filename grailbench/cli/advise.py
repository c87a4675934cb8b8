"""`grailbench advise`: a short tournament on a graph that ends in a recommendation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import completion, options
from grailbench.cli.printing import note, put, put_json, table
from grailbench.util import paths
from grailbench.util.words import decimal_size, multiple, short, size

if TYPE_CHECKING:
    from grailbench.api.advise.advice import Advice, Option, Step
    from grailbench.api.advise.tournament import Entry, Outcome
    from grailbench.report.table import Table

DEFAULT_QUERIES = 1_000_000
NS = 1e6  #: ns in a ms


class _Updates(click.ParamType):
    """'no', which is None, or a number of queries between two changes."""

    name = "updates"

    def convert(self, value, param, ctx):
        return None if value in ("no", None) else click.IntRange(1).convert(value, param, ctx)


@click.command("advise")
@click.argument("graph", type=completion.GRAPH_OR_FILE)
@click.option("--queries", type=click.IntRange(1), metavar="N", default=DEFAULT_QUERIES, show_default=True,
              help="How many pairs you will ask in all.")  # fmt: skip
@click.option("--pairs", type=completion.FILE, metavar="FILE", help="Pairs like those that you will ask, `u v [0|1]` a "
              "line. [default: random and balanced ones, half each]")  # fmt: skip
@click.option("--memory", type=options.Size(), metavar="SIZE", help="The most that the winner may need, as 500MB or "
              "2GiB: of its process, interpreter and graph included.")  # fmt: skip
@click.option("--updates", type=_Updates(), metavar="no|N", default="no", show_default=True,
              help="'no' if the graph stays as it is, else how many pairs you ask between two changes: each change "
              "needs a new build.")  # fmt: skip
@click.option("--gpu", is_flag=True, help="Implementations on a GPU take part too.")
@click.option("--impl", "implementations", type=completion.IMPLEMENTATION, multiple=True, metavar="NAME",
              help="Only this implementation takes part; may repeat. [default: all that are installed]")  # fmt: skip
@click.option("--budget", type=options.Seconds(1), metavar="SECONDS", default=60.0, show_default=True,
              help="About how long it may take; on a graph of millions of edges it takes longer.")  # fmt: skip
@click.option("--process", type=click.Choice(["own", "shared"]), default="own", show_default=True,
              help="'own': a process for each cell of the last round, which measures its memory.")  # fmt: skip
@click.option("--out", type=options.Output(), metavar="DIR",
              help="Folder of the run. [default: a new one in results/runs]")  # fmt: skip
@click.option("--no-fetch", is_flag=True, help="Do not fetch a graph that is missing.")
@options.as_json
def command(graph, queries, pairs, memory, updates, gpu, implementations, budget, process, out, no_fetch, as_json):
    """Say which index to take for GRAPH, a name or a file, and why.

    Every implementation and every installed peer is tried on this graph and these pairs, with a few settings: once
    with few pairs and little time, then the best again with many trials. What wins costs least for the number of
    queries that you expect: its build from edges, once, and its queries. Every answer is verified; what was wrong,
    failed or too slow is named and never recommended. Of candidates that differ by less than the noise, the one with
    the smallest index is taken.

    The rows, the figure and its data stay in the folder of the run, which all commands read.

    \b
    Exit codes: 2 bad input, or no candidate fits --memory; 3 when no candidate could be measured; 4 when --gpu is
    given and there is none.

    \b
    Examples:
      grailbench advise kegg
      grailbench advise edges.txt --queries 50000 --pairs mine.txt --memory 2GiB
      grailbench advise kegg --updates 1000 --impl sequential --impl parallel --budget 20
    """
    from grailbench.api.advise import tournament
    from grailbench.api.advise.advice import advise, program
    from grailbench.cli.progress import RunView
    from grailbench.data.imported import named

    name, sha256 = named(graph, note)
    entry = tournament.Entry(
        name, min(queries, updates or queries), pairs, implementations, gpu, memory, budget, process, sha256
    )
    outcome = tournament.hold(entry, partial(RunView, quiet=True), out=out, fetch=not no_fetch)
    found = advise(outcome.last or outcome.first, entry.queries, memory)
    drawn = list(_draw(outcome, found))
    advice = sentences(found, outcome.dropped, queries, updates)
    if as_json:
        put_json(records(entry, outcome, found))
        put_json([_advice(entry, outcome, found, advice, drawn) | {"queries": queries, "updates": updates}])
        return
    put([*tables(entry, outcome, found), *advice])
    put(["", *(f"  {line}" for line in program(entry.graph, found.best)), ""])
    put([f"rows: {paths.shown(outcome.folder)}", *(f"figure: {paths.shown(path)}" for path in drawn)])


def _draw(outcome: Outcome, found: Advice) -> Iterator[Path]:
    """Writes the figure and its data into the folder of the run; gives the paths."""
    from grailbench.api.advise.advice import figure
    from grailbench.harness.cells import read
    from grailbench.report import draw
    from grailbench.report.destination import save

    source = f"Run {outcome.folder.name}. {read(outcome.folder).machine}"
    for name, data in draw.files(figure([*found.ratios, *found.too_large, *found.lost], outcome.dropped), source):
        yield save(outcome.folder / "figures" / name, data)


# ------------------------------------------------------------------ tables

#: the first columns of each table
_COSTS = {"configuration": "name", "build ms": lambda o: short(o.build), "ns a query": lambda o: short(NS * o.query)}


def tables(entry: Entry, outcome: Outcome, found: Advice) -> Iterator[Table]:
    """The candidates of the last round, the cheapest by number of queries, and who was left out."""
    yield _last(entry, outcome, found)
    yield _steps(found)
    yield _left_out(outcome, found)


def _last(entry: Entry, outcome: Outcome, found: Advice) -> Table:
    from grailbench.api.advise.advice import front
    from grailbench.compare.ratios import EQUAL

    best, shown = front(found.ratios), [*found.ratios, *found.too_large]

    def words(option: Option) -> str:
        remarks = {
            "take this": option is found.best, EQUAL: option in found.level and option is not found.best,
            "front": option in best, "needs too much memory": option not in found.ratios, "sampled": option.sampled,
            f"asked {option.part or 0:,} pairs of each set": option.part,
        }  # fmt: skip
        return ", ".join(word for word, holds in remarks.items() if holds)

    columns = _COSTS | {
        "index": lambda o: _size(o.index_bytes), "peak memory": lambda o: _size(o.peak_bytes),
        f"{entry.queries:,} queries": lambda o: span(o.cost(entry.queries)),
        "times the best": lambda o: "1" if o is found.best else str(found.ratios.get(o, "")), "": words,
    }  # fmt: skip
    trials = min(option.trials for option in outcome.last if option.sound)
    notes = [
        f"Asked in batches: {outcome.pairs}; medians of {trials} trials or more.",
        "build: from edges in memory. front: no other is better in build, query and index alike.",
    ]
    if any(option.peak_bytes for option in found.ratios):
        notes.append("peak memory: of the process, with interpreter, libraries and graph.")
    return table(f"The last round on {entry.graph}", columns, shown, list(columns)[1:-1], notes=notes)


def _steps(found: Advice) -> Table:
    steps, texts = found.steps, iter(_ranges(found.steps))
    columns = {
        "queries": lambda step: next(texts), "cheapest": lambda step: step.option.name,
        "build ms": lambda step: short(step.option.build), "ns a query": lambda step: short(NS * step.option.query),
    }  # fmt: skip
    notes = ["A change of the row is where the dearer build has paid."] if len(steps) > 1 else []
    return table("The cheapest by number of queries", columns, steps, list(columns)[2:], notes=notes)


def _ranges(steps: Sequence[Step]) -> list[str]:
    """'up to 1,200', 'from 1,201 to 5,000', 'from 5,001'."""
    if len(steps) == 1:
        return ["any"]
    middle = [f"{step.since:,} to {after.since - 1:,}" for step, after in pairwise(steps[1:])]
    return [f"up to {steps[1].since - 1:,}", *middle, f"from {steps[-1].since:,}"]


def _left_out(outcome: Outcome, found: Advice) -> Table:
    """The candidates that were slower in the first round; notes name those without times, and why they have none."""
    first = {option.name: option for option in outcome.first}
    best = first.get(found.best.name, found.best).cost(found.queries)  # as measured in the first round
    slower = sorted((o for o in outcome.dropped if o.sound), key=lambda o: o.cost(found.queries))
    why: dict[str, list[str]] = {}
    for option in (*found.lost, *(option for option in outcome.dropped if not option.sound)):
        status, reason = option.worst.status, option.worst.reason
        word = status.upper() if status in ("wrong", "failed") else status
        why.setdefault(f"{word}: {reason}" if reason else word, []).append(option.name)
    for name, reason in outcome.absent.items():
        why.setdefault(f"not here: {reason}", []).append(name)
    columns = _COSTS | {"times the best": lambda option: multiple(option.cost(found.queries) / best)}
    title = "Left out: slower in the first round" if slower else "Left out"
    notes = [f"{', '.join(names)}: {reason}." for reason, names in why.items()]
    return table(title, columns, slower, list(columns)[1:], notes=notes)


# ------------------------------------------------------------------ sentences


def sentences(found: Advice, dropped: list[Option], queries: int, updates: int | None) -> list[str]:
    """The recommendation in sentences, with its numbers.

    dropped           the options that did not come to the last round
    queries, updates  how many pairs are asked in all and, if the graph changes, between two changes
    """
    from grailbench.api.advise.advice import unindexed
    from grailbench.compare.ratios import EQUAL

    best, steps = found.best, found.steps
    index = f"an index of {size(best.index_bytes)}" if best.index_bytes else "no index"
    lines = [f"Take {best.name}: {span(best.build)} to build from edges, {span(best.query)} a query, "
             f"{index}. {_total(best, queries, updates)}"]  # fmt: skip
    if found.fastest is not best:
        its = found.fastest.index_bytes or 0
        larger = its > (best.index_bytes or 0)
        why = f"has a larger index, {size(its)}" if larger else "asks more of the machine"
        lines.append(f"{found.fastest.name} is {EQUAL} to it in time, and {why}.")
    if level := [option.name for option in found.level if option not in (found.fastest, best)]:
        lines.append(f"Others are {EQUAL} to it in time: {', '.join(level)}.")
    if others := [(option, ratio) for option, ratio in found.ratios.items() if option not in found.level]:
        option, ratio = others[0]
        equal = "" if ratio.order else f"is {EQUAL} to it in time: it "
        lines.append(f"Next comes {option.name}, which {equal}takes {ratio} times as long.")
    at = max(i for i, step in enumerate(steps) if step.since <= found.queries)
    if at > 0 and (before := steps[at - 1].option) not in found.level:
        lines.append(f"For fewer than {steps[at].since:,} queries {before.name} costs less.")
    if at + 1 < len(steps) and (after := steps[at + 1]).option not in found.level:
        lines.append(f"From {after.since:,} queries on the dearer build of {after.option.name} pays.")
    if against := unindexed(found.ratios, best):
        since = "never pays" if against.since is None else f"pays from {max(1, against.since):,} queries on"
        lines.append(f"Against {against.option.name}, which keeps no index, its build {since}.")
    if found.too_large:
        least = found.too_large[0]
        lines.append(f"Without the bound on memory: {least.name}, which needs {decimal_size(least.memory)}.")
    if wrong := [option.name for option in (*found.lost, *dropped) if option.worst.status == "wrong"]:
        lines.append(f"WRONG answers came from {', '.join(wrong)}.")
    return lines


def _total(best: Option, queries: int, updates: int | None) -> str:
    if updates is None or updates >= queries:
        return f"{queries:,} queries take {span(best.cost(queries))} in all."
    builds = -(-queries // updates)
    whole = builds * best.build + queries * best.query
    changing = f"{queries:,} queries with a change after every {updates:,}"
    return f"{changing} are {builds:,} builds and take {span(whole)} in all."


def span(ms: float) -> str:
    """A duration in the unit that fits: '35 ns', '1.2 µs', '16.3 ms', '4.5 s'."""
    for unit, length in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if ms >= length:
            return f"{short(ms / length)} {unit}"
    return f"{short(ms * NS)} ns"


def _size(value: int | None) -> str:
    return "" if value is None else size(value)


# ------------------------------------------------------------------ records


def records(entry: Entry, outcome: Outcome, found: Advice) -> Iterator[dict]:
    """A record for each candidate, break-even number and absent implementation."""
    from grailbench.api.advise.advice import front

    best = front(found.ratios)
    for option in (*outcome.last, *outcome.dropped):
        ratio, sound = found.ratios.get(option), option.sound
        yield {
            "kind": "candidate", **_configuration(option), "round": "last" if option in outcome.last else "first",
            "build_ms": option.build if sound else None, "query_ns": NS * option.query if sound else None,
            "cost_ms": option.cost(found.queries) if sound else None,
            "index_bytes": option.index_bytes, "peak_bytes": option.peak_bytes, "trials": option.trials,
            "part": option.part, "ratio": ratio and ratio.value, "interval": ratio and ratio.interval,
            "level": option in found.level, "front": option in best, "too_large": option in found.too_large,
            "status": option.worst.status, "reason": option.worst.reason or None,
        }  # fmt: skip
    for step in found.steps:
        yield {"kind": "break-even", "since": step.since, **_configuration(step.option)}
    for name, reason in outcome.absent.items():
        yield {"kind": "absent", "implementation": name, "reason": reason}


def _advice(entry: Entry, outcome: Outcome, found: Advice, lines: list[str], drawn: list[Path]) -> dict:
    """The record of the recommendation."""
    from grailbench.api.advise.advice import program, unindexed

    against = unindexed(found.ratios, found.best)
    return {
        "kind": "advice", "graph": entry.graph, "pairs": outcome.pairs, "memory": entry.memory,
        **_configuration(found.best), "fastest": found.fastest.name,
        "level": [option.name for option in found.level], "sentences": lines,
        "without_index": against and {"since": against.since, **_configuration(against.option)},
        "program": program(entry.graph, found.best), "run": str(outcome.folder),
        "files": [str(path) for path in drawn],
    }  # fmt: skip


def _configuration(option: Option) -> dict:
    from grailbench.harness import axes

    cell = option.cells[0]
    return {"configuration": option.name, "implementation": option.impl,
            **{axis.name: cell.shown(axis) or None for axis in axes.shown()}}  # fmt: skip
