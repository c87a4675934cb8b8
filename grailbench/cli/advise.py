"""`grailbench advise`: a short tournament on a graph that ends in a recommendation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import completion, options
from grailbench.cli.printing import note, put, put_json
from grailbench.report.render import terminal
from grailbench.report.table import Table
from grailbench.util import paths
from grailbench.util.words import decimal_size, multiple, short, size

if TYPE_CHECKING:
    from grailbench.api.advise.advice import Advice, Option, Step
    from grailbench.api.advise.tournament import Entry, Outcome

DEFAULT_QUERIES = 1_000_000


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
    from grailbench.api.advise.advice import advise
    from grailbench.cli.progress import RunView
    from grailbench.data.imported import named

    name, sha256 = named(graph, note)
    entry = tournament.Entry(
        name, min(queries, updates or queries), pairs, implementations, gpu, memory, budget, process, sha256
    )
    outcome = tournament.hold(entry, partial(RunView, quiet=True), out=out, fetch=not no_fetch)
    found = advise(outcome.last or outcome.first, entry.queries, memory)
    _put(entry, outcome, found, queries, updates, as_json)


FOLDER = "figures"


def _put(entry: Entry, outcome: Outcome, found: Advice, queries: int, updates: int | None, as_json: bool) -> None:
    """Prints a recommendation and its evidence, and draws the figure into the folder of the run.

    queries, updates  how many pairs are asked in all and, if the graph changes, between two changes
    """
    from grailbench.api.advise.advice import program

    drawn = list(_draw(outcome, found))
    if as_json:
        put_json(records(entry, outcome, found, queries, updates, drawn))
        return
    put(tables(entry, outcome, found))
    put(sentences(found, outcome.dropped, queries, updates))
    put(["", *(f"  {line}" for line in program(entry.graph, found.best)), ""])
    put([f"rows: {paths.shown(outcome.folder)}", *(f"figure: {paths.shown(path)}" for path in drawn)])


def _draw(outcome: Outcome, found: Advice) -> Iterator[Path]:
    """Writes the figure and its data; gives the paths."""
    from grailbench.api.advise.advice import figure
    from grailbench.harness.cells import read
    from grailbench.report import draw
    from grailbench.report.destination import save

    source = f"Run {outcome.folder.name}. {read(outcome.folder).machine}"
    for name, data in draw.files(figure([*found.ratios, *found.too_large, *found.lost], outcome.dropped), source):
        yield save(outcome.folder / FOLDER / name, data)


# ------------------------------------------------------------------ tables


def tables(entry: Entry, outcome: Outcome, found: Advice) -> Iterator:
    """The candidates of the last round, the cheapest by number of queries, and who was left out."""
    yield from terminal(_last(entry, outcome, found))
    yield from terminal(_steps(found))
    yield from terminal(_left_out(outcome, found))


def _last(entry: Entry, outcome: Outcome, found: Advice) -> Table:
    from grailbench.api.advise.advice import NS, front
    from grailbench.compare.ratios import EQUAL

    heads = ["configuration", "build ms", "ns a query", "index", "peak memory", f"{entry.queries:,} queries",
             "times the best", ""]  # fmt: skip
    best = front(found.ratios)
    lines = []
    for option in (*found.ratios, *found.too_large):
        ratio = found.ratios.get(option)
        times = "" if ratio is None else "1" if option is found.best else str(ratio)
        words = [
            "take this" if option is found.best else EQUAL if option in found.level else "",
            "front" if option in best else "",
            "needs too much memory" if ratio is None else "",
            "sampled" if option.sampled else "",
            f"asked {option.part:,} pairs of each set" if option.part else "",
        ]
        lines.append([
            option.name, short(option.build), short(NS * option.query), _size(option.index_bytes),
            _size(option.peak_bytes), span(option.cost(entry.queries)), times,
            ", ".join(filter(None, words)),
        ])  # fmt: skip
    trials = min(option.trials for option in outcome.last if option.sound)
    notes = [
        f"Asked in batches: {outcome.asked}; medians of {trials} trials or more.",
        "build: from edges in memory. front: no other is better in build, query and index alike.",
    ]
    if any(option.peak_bytes for option in found.ratios):
        notes.append("peak memory: of the process, with interpreter, libraries and graph.")
    return Table("candidates", f"The last round on {entry.graph}", heads, lines, frozenset(heads[1:-1]), notes=notes)


def _steps(found: Advice) -> Table:
    from grailbench.api.advise.advice import NS

    heads = ["queries", "cheapest", "build ms", "ns a query"]
    lines = [
        [text, step.option.name, short(step.option.build), short(NS * step.option.query)]
        for text, step in zip(_ranges(found.steps), found.steps, strict=True)
    ]
    notes = ["A change of the row is where the dearer build has paid."] if len(lines) > 1 else []
    return Table("break-even", "The cheapest by number of queries", heads, lines, frozenset(heads[2:]), notes=notes)


def _ranges(steps: list[Step]) -> Iterator[str]:
    """'up to 1,200', 'from 1,201 to 5,000', 'from 5,001'."""
    for at, step in enumerate(steps):
        last = at + 1 == len(steps)
        since, until = f"{step.since:,}", "" if last else f"{steps[at + 1].since - 1:,}"
        yield "any" if last and at == 0 else f"from {since}" if last else f"up to {until}" if at == 0 \
            else f"{since} to {until}"  # fmt: skip


def _left_out(outcome: Outcome, found: Advice) -> Table:
    """The candidates that were slower in the first round; notes name those without times, and why they have none."""
    from grailbench.api.advise.advice import NS

    heads = ["configuration", "build ms", "ns a query", "times the best"]
    slower = sorted(
        (option for option in outcome.dropped if option.sound), key=lambda option: option.cost(found.queries)
    )  # fmt: skip
    lines = [[option.name, short(option.build), short(NS * option.query), multiple(_estimated(option, outcome, found))]
             for option in slower]  # fmt: skip
    why: dict[str, list[str]] = {}
    for option in (*found.lost, *(option for option in outcome.dropped if not option.sound)):
        why.setdefault(_why(option), []).append(option.name)
    for name, reason in outcome.absent.items():
        why.setdefault(f"not here: {reason}", []).append(name)
    notes = [f"{', '.join(names)}: {reason}." for reason, names in why.items()]
    title = "Left out: slower in the first round" if lines else "Left out"
    return Table("left out", title, heads, lines, frozenset(heads[1:]), notes=notes)


def _estimated(option: Option, outcome: Outcome, found: Advice) -> float:
    """How many times as long an option of the first round takes as the best, both as measured there."""
    there = {other.name: other for other in outcome.first}
    return option.cost(found.queries) / there.get(found.best.name, found.best).cost(found.queries)


def _why(option: Option) -> str:
    """'WRONG: 3 answers', 'timeout: the limit was reached (3 s)'."""
    worst = option.worst
    word = worst.status.upper() if worst.status in ("wrong", "failed") else worst.status
    return f"{word}: {worst.reason}" if worst.reason else word


# ------------------------------------------------------------------ sentences


def sentences(found: Advice, dropped: list[Option], queries: int, updates: int | None) -> list[str]:
    """The recommendation in sentences, with its numbers; `dropped` did not come to the last round."""
    from grailbench.compare.ratios import EQUAL

    best = found.best
    lines = [f"Take {best.name}: {span(best.build)} to build from edges, {span(best.query)} a query, "
             f"{_index(best)}. {_total(best, queries, updates)}"]  # fmt: skip
    if found.fastest is not best:
        lines.append(f"{found.fastest.name} is {EQUAL} to it in time, and {_larger(found.fastest, best)}.")
    level = [option for option in found.level if option not in (found.fastest, best)]
    if level:
        lines.append(f"Others are {EQUAL} to it in time: {', '.join(option.name for option in level)}.")
    others = [(option, ratio) for option, ratio in found.ratios.items() if option not in found.level]
    if others:
        option, ratio = others[0]
        equal = "" if ratio.order else f"is {EQUAL} to it in time: it "
        lines.append(f"Next comes {option.name}, which {equal}takes {ratio} times as long.")
    lines += _before_and_after(found)
    lines += _against_none(found)
    if found.too_large:
        least = found.too_large[0]
        lines.append(f"Without the bound on memory: {least.name}, which needs {decimal_size(least.memory)}.")
    if wrong := [option.name for option in (*found.lost, *dropped) if option.worst.status == "wrong"]:
        lines.append(f"WRONG answers came from {', '.join(wrong)}.")
    return lines


def _before_and_after(found: Advice) -> Iterator[str]:
    """For which other numbers of queries a configuration is cheaper that is not level here."""
    at = max(i for i, step in enumerate(found.steps) if step.since <= found.queries)
    if at > 0 and found.steps[at - 1].option not in found.level:
        step = found.steps[at]
        before = found.steps[at - 1].option
        yield f"For fewer than {step.since:,} queries {before.name} costs less."
    if at + 1 < len(found.steps) and found.steps[at + 1].option not in found.level:
        after = found.steps[at + 1]
        yield f"From {after.since:,} queries on the dearer build of {after.option.name} pays."


def _against_none(found: Advice) -> Iterator[str]:
    """From how many queries the advised index pays against doing without one."""
    from grailbench.api.advise.advice import unindexed

    if against := unindexed(found.ratios, found.best):
        since = "never pays" if against.since is None else f"pays from {max(1, against.since):,} queries on"
        yield f"Against {against.option.name}, which keeps no index, its build {since}."


def _total(best: Option, queries: int, updates: int | None) -> str:
    if updates is None or updates >= queries:
        return f"{queries:,} queries take {span(best.cost(queries))} in all."
    builds = -(-queries // updates)
    whole = builds * best.build + queries * best.query
    changing = f"{queries:,} queries with a change after every {updates:,}"
    return f"{changing} are {builds:,} builds and take {span(whole)} in all."


def _index(option: Option) -> str:
    return f"an index of {size(option.index_bytes)}" if option.index_bytes else "no index"


def _larger(other: Option, best: Option) -> str:
    mine, its = best.index_bytes or 0, other.index_bytes or 0
    return f"has a larger index, {size(its)}" if its > mine else "asks more of the machine"


def span(ms: float) -> str:
    """A duration in the unit that fits: '35 ns', '1.2 µs', '16.3 ms', '4.5 s'."""
    from grailbench.api.advise.advice import NS

    for unit, length in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if ms >= length:
            return f"{short(ms / length)} {unit}"
    return f"{short(ms * NS)} ns"


def _size(value: int | None) -> str:
    return "" if value is None else size(value)


# ------------------------------------------------------------------ records


def records(
    entry: Entry, outcome: Outcome, found: Advice, queries: int, updates: int | None, drawn: list[Path]
) -> Iterator[dict]:
    """A record for each candidate, break-even number and absent implementation, and the advice last."""
    from grailbench.api.advise.advice import NS, front, program, unindexed

    best = front(found.ratios)
    for turn, candidates in (("last", outcome.last), ("first", outcome.dropped)):
        for option in candidates:
            ratio = found.ratios.get(option)
            times = {"build_ms": option.build, "query_ns": NS * option.query, "cost_ms": option.cost(found.queries)} \
                if option.sound else dict.fromkeys(("build_ms", "query_ns", "cost_ms"))  # fmt: skip
            yield {
                "kind": "candidate", **_configuration(option), "round": turn, **times,
                "index_bytes": option.index_bytes, "peak_bytes": option.peak_bytes, "trials": option.trials,
                "part": option.part, "ratio": ratio and ratio.value, "interval": ratio and ratio.interval,
                "level": option in found.level,
                "front": option in best, "too_large": option in found.too_large, "status": option.worst.status,
                "reason": option.worst.reason or None,
            }  # fmt: skip
    for step in found.steps:
        yield {"kind": "break-even", "since": step.since, **_configuration(step.option)}
    for name, reason in outcome.absent.items():
        yield {"kind": "absent", "implementation": name, "reason": reason}
    against = unindexed(found.ratios, found.best)
    yield {
        "kind": "advice", "graph": entry.graph, "queries": queries, "updates": updates, "pairs": outcome.asked,
        "memory": entry.memory, **_configuration(found.best), "fastest": found.fastest.name,
        "level": [option.name for option in found.level],
        "sentences": sentences(found, outcome.dropped, queries, updates),
        "without_index": against and {"since": against.since, **_configuration(against.option)},
        "program": program(entry.graph, found.best), "run": str(outcome.folder),
        "files": [str(path) for path in drawn],
    }  # fmt: skip


def _configuration(option: Option) -> dict:
    from grailbench.harness import axes

    cell = option.cells[0]
    return {"configuration": option.name, "implementation": option.impl,
            **{axis.name: cell.shown(axis) or None for axis in axes.shown()}}  # fmt: skip
