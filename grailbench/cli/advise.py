"""`grailbench advise`: a short tournament on a graph that ends in a recommendation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from grailbench.cli import options
from grailbench.cli.printing import note, put, put_json, table
from grailbench.report.table import Table
from grailbench.util import paths
from grailbench.util.words import decimal_size, short, size

if TYPE_CHECKING:
    from grailbench.api.advise import Advice, Option, Outcome

NS = 1e6  #: ns in a ms


@click.command
@click.argument("graph", type=options.GRAPH_OR_FILE)
@click.option("--queries", type=options.Whole(1), default=1_000_000, show_default=True,
              help="How many pairs you will ask in all.")  # fmt: skip
@click.option("--pairs", type=options.FILE, help="Pairs like those that you will ask, `u v [0|1]` a line. [default: "
              "random and balanced ones, half each]")  # fmt: skip
@click.option("--memory", type=options.Size(), help="The most that the winner may need, as 500MB or 2GiB: of its "
              "process, interpreter and graph included.")  # fmt: skip
@click.option("--updates", type=options.Whole(1), help="How many pairs you ask between two changes of the graph: each "
              "needs a new build. [default: the graph stays as it is]")  # fmt: skip
@click.option("--gpu", is_flag=True, help="Implementations on a GPU take part too.")
@options.many("--impl", options.IMPLEMENTATION,
              "Only this implementation takes part; may repeat. [default: all that are installed]")  # fmt: skip
@click.option("--budget", type=options.Seconds(1), default=60.0, show_default=True,
              help="About how long it may take; on a graph of millions of edges it takes longer.")  # fmt: skip
@click.option("--process", type=click.Choice(["own", "shared"]), default="own", show_default=True,
              help="'own': a process for each cell of the last round, which measures its memory.")  # fmt: skip
@options.run_folder
@options.no_fetch
@options.as_json
def advise(graph, queries, pairs, memory, updates, gpu, impl, budget, process, out, no_fetch, as_json):
    """Say which index to take for GRAPH, a name or a file, and why.

    Every implementation and every installed peer is tried on this graph and these pairs, with a few settings: once
    with few pairs and little time, then the best again with many trials. What wins costs least for the number of
    queries that you expect: its build from edges, once, and its queries. Every answer is verified; what was wrong,
    failed or too slow is named and never recommended. Of candidates that differ by less than the noise, the one with
    the smallest index is taken.

    The rows and the figures of trade-offs stay in the folder of the run, which all commands read.

    \b
    Exit codes: 2 bad input, or no candidate fits --memory; 3 when no candidate could be measured; 4 when --gpu is
    given and there is none.

    \b
    Examples:
      grailbench advise kegg
      grailbench advise edges.txt --queries 50000 --pairs mine.txt --memory 2GiB
      grailbench advise kegg --updates 1000 --impl sequential --impl parallel --budget 20
    """
    from grailbench.api import advise
    from grailbench.cli.progress import RunView
    from grailbench.data.imported import named
    from grailbench.harness.cells import read
    from grailbench.report import draw, tradeoffs

    name, sha256 = named(graph, note)
    between = min(queries, updates or queries)
    outcome = advise.hold(
        name, between, partial(RunView, quiet=True), pairs=pairs, chosen=impl, gpu=gpu, memory=memory, seconds=budget,
        process=process, sha256=sha256, out=out, fetch=not no_fetch,
    )  # fmt: skip
    found = advise.advise(outcome.last or outcome.first, between, memory)
    run = read(outcome.folder)
    figures = [figure for figure in tradeoffs.of_run(run) if figure.drawable]
    drawn = draw.save(figures, outcome.folder / "figures", f"Run {run.name}. {run.machine}")
    program = advise.program(name, found.best)
    lines, records = sentences(found, outcome.dropped, queries, updates), [*candidates(outcome, found)]
    if as_json:
        without = None
        if against := advise.unindexed(found.ratios, found.best):
            since = None if against.since == math.inf else against.since
            without = {"since": since, **_configuration(against.option)}
        # each break-even number, and each implementation that is not here
        steps = [{"kind": "break-even", "since": each.since, **_configuration(each.option)} for each in found.steps]
        absent = ({"kind": "absent", "implementation": each, "reason": why} for each, why in outcome.absent.items())
        put_json([*records, *steps, *absent])
        put_json([{
            "kind": "advice", "graph": name, "pairs": outcome.pairs, "memory": memory,
            **_configuration(found.best), "fastest": found.fastest.name,
            "level": [option.name for option in found.level], "sentences": lines, "without_index": without,
            "program": program, "run": str(outcome.folder), "files": [str(path) for path in drawn],
            "queries": queries, "updates": updates,
        }])  # fmt: skip
        return
    put([_table(name, outcome, found, records), *lines])
    put(["", *(f"  {line}" for line in program), ""])
    put([f"rows: {paths.shown(outcome.folder)}", *(f"figure: {paths.shown(path)}" for path in drawn)])


# ------------------------------------------------------------------ records


def candidates(outcome: Outcome, found: Advice) -> Iterator[dict]:
    """A record for each candidate, those of the last round first."""
    from grailbench.api.advise import front

    best = front(found.ratios)
    for option in (*outcome.last, *outcome.dropped):
        ratio, cost = found.ratios.get(option), option.cost
        yield {
            "kind": "candidate", **_configuration(option), "round": "last" if option in outcome.last else "first",
            "build_ms": cost and cost.once, "query_ns": cost and NS * cost.each,
            "cost_ms": cost and cost.of(found.queries),
            "index_bytes": option.index_bytes, "peak_bytes": option.peak_bytes, "trials": option.trials,
            "part": option.part, "ratio": ratio and ratio.value, "interval": ratio and ratio.interval,
            "level": option in found.level, "front": option in best, "too_large": option in found.too_large,
            "status": option.worst.status, "reason": option.worst.reason or None,
        }  # fmt: skip


def _configuration(option: Option) -> dict:
    from grailbench.harness import axes

    cell = option.cells[0]
    return {"configuration": option.name, "implementation": option.impl,
            **{axis.name: cell.shown(axis) or None for axis in axes.shown()}}  # fmt: skip


# ------------------------------------------------------------------ tables


def _table(graph: str, outcome: Outcome, found: Advice, records: list[dict]) -> Table:
    """A line for each candidate that has times, the cheapest of the last round first; notes name the others and why
    they have none."""
    from grailbench.compare.ratios import EQUAL, Ratio

    def remarks(record: dict) -> str:
        best = record["configuration"] == found.best.name
        words = {
            "take this": best, EQUAL: record["level"] and not best, "front": record["front"],
            "needs too much memory": record["too_large"], "sampled": record["status"] == "sampled",
            f"asked {record['part'] or 0:,} pairs of each set": record["part"],
            "first round alone": record["round"] == "first",
        }  # fmt: skip
        return ", ".join(remark for remark, holds in words.items() if holds)

    def of_bytes(key: str):
        return lambda record: "" if record[key] is None else size(record[key])

    columns = {
        "configuration": "configuration", "build ms": lambda record: short(record["build_ms"]),
        "ns a query": lambda record: short(record["query_ns"]), "index": of_bytes("index_bytes"),
        "peak memory": of_bytes("peak_bytes"), f"{found.queries:,} queries": lambda record: span(record["cost_ms"]),
        "times the best": lambda record: record["ratio"] and str(Ratio(record["ratio"], record["interval"])),
        "": remarks,
    }  # fmt: skip
    timed = sorted((each for each in records if each["cost_ms"] is not None),
                   key=lambda each: (each["round"] == "first", each["cost_ms"]))  # fmt: skip
    why: dict[str, list[str]] = {}
    for each in records:
        if each["cost_ms"] is None:
            word = each["status"].upper() if each["status"] in ("wrong", "failed") else each["status"]
            why.setdefault(f"{word}: {each['reason']}" if each["reason"] else word, []).append(each["configuration"])
    for name, reason in outcome.absent.items():
        why.setdefault(f"not here: {reason}", []).append(name)
    trials = min(each["trials"] for each in timed if each["round"] == "last")
    notes = [
        f"Asked in batches: {outcome.pairs}; medians of {trials} trials or more.",
        "build: from edges in memory. front: no other is better in build, query and index alike. peak memory: of the "
        "process, with interpreter, libraries and graph.",
        *(f"{', '.join(names)}: {reason}." for reason, names in why.items()),
    ]
    return table(f"Candidates on {graph}", columns, timed, list(columns)[1:-1], notes=notes)


# ------------------------------------------------------------------ sentences


def sentences(found: Advice, dropped: list[Option], queries: int, updates: int | None) -> list[str]:
    """The recommendation in sentences, with its numbers.

    dropped           the options that did not come to the last round
    queries, updates  how many pairs are asked in all and, if the graph changes, between two changes
    """
    from grailbench.api.advise import unindexed
    from grailbench.compare.ratios import EQUAL

    best = found.best
    index = f"an index of {size(best.index_bytes)}" if best.index_bytes else "no index"
    builds = -(-queries // (updates or queries))
    changing = f" with a change after every {updates:,} are {builds:,} builds and" if builds > 1 else ""
    taking = f"{queries:,} queries{changing} take"
    lines = [f"Take {best.name}: {span(best.cost.once)} to build from edges, {span(best.cost.each)} a query, "
             f"{index}. {taking} {span(builds * best.cost.once + queries * best.cost.each)} in all."]  # fmt: skip
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
    if len(found.steps) > 1:
        first, *later = found.steps
        pays = "; ".join(f"from {step.since:,} on {step.option.name}" for step in later)
        lines.append(f"The cheapest by number of queries: {first.option.name}; {pays}.")
    if against := unindexed(found.ratios, best):
        since = "never pays" if against.since == math.inf else f"pays from {max(1, against.since):,} queries on"
        lines.append(f"Against {against.option.name}, which keeps no index, its build {since}.")
    if found.too_large:
        least = found.too_large[0]
        lines.append(f"Without the bound on memory: {least.name}, which needs {decimal_size(least.memory)}.")
    if wrong := [option.name for option in (*found.lost, *dropped) if option.worst.status == "wrong"]:
        lines.append(f"WRONG answers came from {', '.join(wrong)}.")
    return lines


def span(ms: float) -> str:
    """A duration in the unit that fits: '35 ns', '1.2 µs', '16.3 ms', '4.5 s'."""
    for unit, length in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if ms >= length:
            return f"{short(ms / length)} {unit}"
    return f"{short(ms * NS)} ns"
