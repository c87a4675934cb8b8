"""The command `grailbench cache`."""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import show, table, text
from grailbench.errors import InputError
from grailbench.report.table import Table
from grailbench.util import caches, kernelcache, paths
from grailbench.util.caches import KERNELS, KINDS, Entry
from grailbench.util.words import BLANK, count, decimal_size

STALE, FORMER, ABOVE = "left by a process that is gone", "of a former version", "above the bound, used longest ago"


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
    for entry in kernels:
        if not dry:
            shutil.rmtree(entry.path, ignore_errors=True)
        yield record(entry.path, KERNELS, entry.bytes, FORMER)
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
