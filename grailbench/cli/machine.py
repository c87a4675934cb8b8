"""The commands of this machine: limits, cluster, cache, completion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from grailbench.cli import options
from grailbench.cli.measure import client
from grailbench.cli.printing import note, show, table, text
from grailbench.errors import InputError
from grailbench.util import caches, kernelcache, paths
from grailbench.util.caches import KERNELS, KINDS, Entry
from grailbench.util.words import BLANK, brief, count, decimal_size, gib, listing, size

if TYPE_CHECKING:
    from grailbench.report.table import Table

NOISY = 1.5  #: limits whose most is more than this times their least are marked
STALE, FORMER, ABOVE = "left by a process that is gone", "of a former version", "above the bound, used longest ago"
SHELLS = ("bash", "zsh", "fish")
#: bash ends a word at a colon, but names such as 'peer:pyreachability-grail' contain one
_COLONS = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"

# ------------------------------------------------------------------ limits


@click.command
@click.option("--quick", is_flag=True, help="Smaller tables and fewer repeats: seconds instead of a minute.")
@click.option("--only", type=click.Choice(["cpu", "gpu"]), help="Measure only this; 'gpu' fails where there is none.")
@click.option("--again", is_flag=True, help="Measure again what is in the cache.")
@click.option("--simulate", is_flag=True,
              help="Run the GPU's operations in numba's simulator: checks them, records no time.")  # fmt: skip
@click.option("--out", type=options.Output(),
              help="Write limits.json and environment.json to this folder too.")  # fmt: skip
@options.as_json
def limits(quick, only, again, simulate, out, as_json):
    """Measure what this machine can do at most: copy, gather, atomics, launches, barriers, transfers.

    Streams and random 4-byte gathers on the processor, with one thread and with all; the same and more on the first
    NVIDIA GPU where there is one. Each figure is the median of several repeats, with the least and the most.
    Kept in the cache for this machine, software and thread settings. Measure on an idle machine.

    \b
    Exit codes: 1 when an operation computed something wrong, 2 usage or bad input, 4 when the GPU was asked for
    and there is none.

    \b
    Examples:
      grailbench limits
      grailbench limits --quick --json
      grailbench limits --only gpu --again --out results/baselines/my-machine/limits
      grailbench limits --simulate
    """
    from grailbench.harness import limits
    from grailbench.harness.limits import ceilings

    scale = limits.QUICK if quick else limits.FULL
    found = ceilings.measure((only,) if only else None, scale, again=again, simulate=simulate, note=note)
    show(as_json, ceilings.rows(found), [_limits(found)])
    if out and not simulate:
        for path in ceilings.export(found, Path(out)):
            note(f"written: {path}")


def _limits(document: dict) -> Table:
    """The measurements of a document of `ceilings.measure`, a line each."""
    from grailbench.harness.limits.ceilings import PARTS, rows

    def median(row: dict) -> str:
        noisy = row["least"] and row["most"] / row["least"] > NOISY
        return "right" if row["median"] is None else brief(row["median"]) + "*" * bool(noisy)

    columns = {
        "on": "where", "operation": lambda row: ", ".join(filter(None, (row["what"], row["variant"]))),
        "of": lambda row: "" if row["bytes"] is None else size(row["bytes"]), "blocks": "blocks", "threads": "threads",
        "median": median, "": lambda row: "" if row["median"] is None else row["unit"],
        "least": lambda row: brief(row["least"]), "most": lambda row: brief(row["most"]),
    }  # fmt: skip
    device = document.get("gpu", {}).get("device", {})
    names = {"cpu": f"{document['machine']['cpu']}, {document['machine']['cores']} cores", "gpu": device.get("name")}
    notes = [f"{part}: {names[part]} ({document[part]['at']})" for part in PARTS if part in document]
    notes += ["Measured quickly."] if document["quick"] else []
    notes += ["Simulated: every operation was checked, nothing timed."] if device.get("simulated") else []
    notes.append(f"*: the most is over {NOISY} times the least; measure again on an idle machine")
    return table("Limits", columns, rows(document), {*columns} - {"on", "operation", ""}, notes=notes)


# ------------------------------------------------------------------ cluster


@click.command
@click.option("--check", is_flag=True, help="Fail if a worker does not fit.")
@options.workers
@options.many("--dataset", options.GRAPH, "Also whether this graph is there, by its sha256; may repeat.", "datasets")
@options.as_json
def cluster(check, workers, scheduler, datasets, as_json):
    """Show what workers of dask have: host, cores, memory, GPUs, versions, graphs.

    With --scheduler, the workers that run there; else N workers are started on this machine (--workers, by default 1)
    and ended again. 'grailbench run' takes workers that have this version and commit of grailbench and declare their
    cores, and GPUs if they have some:

    \b
      dask scheduler
      dask worker tcp://HOST:8786 --nthreads 1 --resources "cores=8 gpu=1"

    Of the cores that its process may use, each worker gets as many as it declares for itself.

    \b
    Exit codes: 2 usage or bad input, 4 when no scheduler answers, dask is missing or, with --check, a worker does
    not fit.

    \b
    Examples:
      grailbench cluster --check --workers 2
      grailbench cluster --check --scheduler tcp://node1:8786 --dataset kegg
      grailbench cluster --scheduler tcp://node1:8786 --json
    """
    from grailbench.distributed.workers import records
    from grailbench.errors import MachineLacks

    with client(1 if scheduler is None and workers is None else workers, scheduler) as found:
        known = records(found, datasets)
    show(as_json, known, [_workers(known)] if known else [])
    faults = [fault for each in known for fault in each["faults"]] or ([] if known else ["there are no workers"])
    if faults and check:
        raise MachineLacks("; ".join(faults))
    for fault in faults:
        note(f"does not fit: {fault}")


def _workers(records: list[dict]) -> Table:
    """A line for each worker, of `distributed.workers.records`."""

    def graphs(each: dict) -> str:
        return "; ".join(f"{name}: {what}" for name, what in each["graphs"].items()) or f"{each['stored']} stored"

    def fits(each: dict) -> str:
        other = f"; other {listing(each['unlike'], 3)}" if each["unlike"] else ""
        return f"{'no' if each['faults'] else 'yes'}{other}"

    def version(each: dict) -> str:
        commit = f" {each['commit'][:9]}{' with changes' if each['dirty'] else ''}" if each["commit"] else ""
        return each["grailbench"] + commit

    columns = {
        "worker": "worker", "host": "host",
        "cores": lambda each: f"{each['resources'].get('cores', 0):g} of {len(each['cores'])}",
        "pinned to": lambda each: ", ".join(map(str, each["pinned"])) or BLANK,
        "memory": lambda each: gib(each["memory"], 0), "GPUs": lambda each: listing(each["gpu_names"], 3) or BLANK,
        "grailbench": version, "python": lambda each: each["python"].split()[-1],
        "numba": lambda each: each["packages"].get("numba", BLANK), "graphs": graphs, "fits": fits,
    }  # fmt: skip
    return table(count(len(records), "worker"), columns, records, ["memory"], keys=2)


# ------------------------------------------------------------------ cache


@click.command
@click.option("--list", "listed", is_flag=True, help="Show what the caches hold; the default without --prune.")
@click.option("--prune", is_flag=True, help="Remove what no process needs, and what is above the bound.")
@click.option("--dry-run", is_flag=True, help="With --prune: only list what would be removed.")
@options.as_json
def cache(listed, prune, dry_run, as_json):
    """Show the caches of this machine: their folders, entries, sizes, last use and bound; with --prune, clear them.

    --prune removes temporary files and folders whose process is gone, condensed graphs, queries and compiled kernels
    of former versions, which nothing reads any more, and then what was used longest ago, until all that can be had
    again is within the bound: 64 GB, or what GRAILBENCH_CACHE_SIZE says, such as 20GB, or none. Every command that adds
    to the cache keeps the bound too. Graphs that were imported, or generated under a name of your own, and measured
    limits are never removed, nor is what a running process uses.

    With --list and --prune, the caches are shown after they were cleared.

    \b
    Exit codes: 2 when GRAILBENCH_CACHE_SIZE is no size, or something could not be removed.

    \b
    Examples:
      grailbench cache
      grailbench cache --prune --dry-run
      grailbench cache --list --prune --json
    """
    if dry_run and not prune:
        raise InputError("--dry-run belongs to --prune")
    caches.bound()  # raises InputError
    gone = list(pruned(dry_run)) if prune else []
    if prune:
        show(as_json, gone, removed(gone, dry_run))
    if listed or not prune:
        found = list(records())
        show(as_json, found, listed_caches(found))
    if failed := [each["removed"] for each in gone if not (dry_run or each["done"])]:
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        remedy = "delete it by hand, or run this as its owner"
        raise InputError(f"cannot be removed{more}", path=failed[0], remedy=remedy)


def records() -> Iterator[dict]:
    """A record for each cache, and one for temporary files whose process is gone.

    Keys: cache, what, path, entries, bytes, used (ISO, UTC; None for an empty one), again (whether its entries can be
    had again, in words, and so count towards the bound; None if they are kept), bound (bytes of all of these together,
    or for kernels the states of a module that stay; None for no bound), counted (bytes that count towards the bound).
    """
    folder, most, every = paths.cache_dir(), caches.bound(), caches.entries()
    for name, kind in KINDS.items():
        own = [entry for entry in every if entry.kind == name]
        counted = sum(entry.bytes for entry in own if entry.again)
        yield _record(name, kind.what, folder / name, own, kind.again or None, most if kind.again else None, counted)
    kernels = caches.kernels()
    where = kernels[0].path.parent if kernels else None
    yield _record(KERNELS, "compiled kernels", where, kernels, "compiled again", kernelcache.STATES)
    yield _record("temporary", f"files {STALE}", None, caches.left_behind(dry=True), None, 0)


def _record(
    name, what, path: Path | None, found: list[Entry], again: str | None, most: int | None, counted: int = 0
) -> dict:
    return {
        "cache": name, "what": what, "path": path and str(path), "entries": len(found),
        "bytes": sum(entry.bytes for entry in found), "used": _time(entry.used for entry in found),
        "again": again, "bound": most, "counted": counted,
    }  # fmt: skip


def _time(ns: Iterable[int]) -> str | None:
    """The latest of some times, ISO; None without one, or where a clock was set to no year."""
    with suppress(OverflowError, OSError, ValueError):
        if latest := max(ns, default=0):
            return datetime.fromtimestamp(latest // 10**9, UTC).isoformat("T", "seconds")
    return None


def listed_caches(found: list[dict]) -> Iterator[Table | str]:
    """The records as a table, with the bound below it."""
    columns = {
        "cache": "cache", "holds": "what", "entries": "entries", "size": lambda each: decimal_size(each["bytes"]),
        "last use": lambda each: (each["used"] or BLANK)[:10],
        "folder": lambda each: paths.shown(Path(each["path"])) if each["path"] else BLANK,
    }  # fmt: skip
    yield table("", columns, found, ["entries", "size"])
    most, again = caches.bound(), sum(each["counted"] for each in found)
    limit = "there is no bound" if most is None else f"the bound is {decimal_size(most)}"
    yield f"{decimal_size(again)} can be had again; {limit} ({caches.SIZE} sets it)."
    permanent = ", ".join(each["cache"] for each in found if each["again"] is None and each["path"])
    yield f"Kept until you delete them: {permanent}, and generated graphs with names of their own."
    if found[-1]["entries"]:
        yield f"'grailbench cache --prune' removes files {STALE}."


def pruned(dry: bool) -> Iterator[dict]:
    """Removes what no process needs, and what is above the bound; if `dry`, only lists it. Gives a record for each:
    removed (its path), cache, bytes, why, done (whether it is gone)."""
    from grailbench.graph import store
    from grailbench.problems.reachability import queries

    def record(path: Path, cache: str, size: int, why: str) -> dict:
        return {"removed": str(path), "cache": cache, "bytes": size, "why": why, "done": not dry and not path.exists()}

    def taken(wanted: list[Entry], why: str) -> Iterator[dict]:
        gone = {entry.path for entry in caches.remove(wanted, dry)}
        for entry in wanted:
            if entry.path in gone or not caches.in_use(entry.path):
                yield record(entry.path, entry.kind, entry.bytes, why)

    yield from (record(left.path, "temporary", left.bytes, STALE) for left in caches.left_behind(dry))
    is_former = {"dags": store.is_former, "queries": queries.is_former}
    every = caches.entries()
    former = [entry for entry in every if entry.kind in is_former and is_former[entry.kind](entry.path)]
    yield from taken(former, FORMER)
    outdated = {*kernelcache.former()}
    kernels = [entry for entry in caches.kernels() if entry.path in outdated]
    kernelcache.remove(() if dry else outdated)
    yield from (record(entry.path, KERNELS, entry.bytes, FORMER) for entry in kernels)
    if (most := caches.bound()) is not None:
        yield from taken(caches.least_used([entry for entry in every if entry not in former], most), ABOVE)


def removed(found: list[dict], dry: bool) -> Iterator[Table | str]:
    """The removals as a table with a sum below it."""
    done = [each for each in found if dry or each["done"]]
    if done:
        columns = {"cache": "cache", "size": lambda each: decimal_size(each["bytes"]), "why": "why",
                   "path": lambda each: paths.shown(Path(each["removed"]))}  # fmt: skip
        yield table("", columns, done, ["size"])
    kinds = Counter(each["cache"] for each in done)
    many = f" ({text(dict(sorted(kinds.items())))})" if len(kinds) > 1 else ""
    things = count(len(done), "thing") if done else "nothing"
    size = decimal_size(sum(each["bytes"] for each in done))
    yield f"{things} {'would be ' * dry}removed{many}, {size}."


# ------------------------------------------------------------------ completion


@click.command
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx, shell):
    """Print a script that makes SHELL complete commands, options and values: names of graphs, implementations, configs,
    figures, tables and runs.

    bash must be 4.4 or newer. The script calls 'grailbench', which must be on the PATH then.

    \b
    Examples:
      eval "$(grailbench completion bash)"
      grailbench completion zsh > ~/.grailbench.zsh
      grailbench completion fish > ~/.config/fish/completions/grailbench.fish
    """
    found = get_completion_class(shell)(ctx.find_root().command, {}, "grailbench", "_GRAILBENCH_COMPLETE")
    click.echo((_COLONS if shell == "bash" else "") + found.source())
