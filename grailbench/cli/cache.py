"""`grailbench cache`: what the caches hold, and removing what is of no use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import show
from grailbench.errors import InputError
from grailbench.report.render import terminal
from grailbench.report.table import Table
from grailbench.util import caches, kernelcache, paths
from grailbench.util.caches import KERNELS, KINDS, Entry
from grailbench.util.screen import Grid
from grailbench.util.words import BLANK, count, decimal_size


@click.command("cache")
@click.option("--list", "listed", is_flag=True, help="Show what the caches hold; the default without --prune.")
@click.option("--prune", is_flag=True, help="Remove what no process needs, and what is above the bound.")
@click.option("--dry-run", is_flag=True, help="With --prune: only list what would be removed.")
@options.as_json
def command(listed, prune, dry_run, as_json):
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
    gone = pruned(dry_run) if prune else []
    if prune:
        show(as_json, removals(gone, dry_run), removed(gone, dry_run))
    if listed or not prune:
        show(as_json, records(), listed_caches())
    verdict(gone)


STALE, FORMER, ABOVE = "left by a process that is gone", "of a former version", "above the bound, used longest ago"
_KERNELS = "compiled kernels"


@dataclass(frozen=True)
class Removal:
    """Something that was removed, or would be: where, of which cache, its bytes, why, and whether it is still there
    although it should not."""

    path: Path
    cache: str
    bytes: int
    why: str
    failed: bool = False


# ------------------------------------------------------------------ the list


def records() -> Iterator[dict]:
    """A record for each cache, and one for temporary files whose process is gone.

    Keys: cache, what, path, entries, bytes, used (ISO, UTC; None for an empty one), again (whether its entries can be
    had again, in words, and so count towards the bound; None if they are kept), bound (bytes of all of these together,
    or for kernels the states of a module that stay; None for no bound), counted (bytes that count towards the bound).
    """
    folder, most = paths.cache_dir(), caches.bound()
    found: dict[str, list[Entry]] = {name: [] for name in KINDS}
    for entry in caches.entries():
        found[entry.kind].append(entry)
    for name, kind in KINDS.items():
        yield _record(name, kind.what, folder / name, found[name], kind.again or None, most if kind.again else None)
    kernels = caches.kernels()
    where = kernels[0].path.parent if kernels else None
    yield _record(KERNELS, _KERNELS, where, kernels, "compiled again", kernelcache.STATES)
    stale = caches.left_behind(dry=True)
    yield {
        "cache": "temporary", "what": f"files {STALE}", "path": None, "entries": len(stale),
        "bytes": sum(left.bytes for left in stale), "used": None, "again": None, "bound": 0, "counted": 0,
    }  # fmt: skip


def _record(name: str, what: str, path: Path | None, found: list[Entry], again: str | None, most: int | None) -> dict:
    return {
        "cache": name, "what": what, "path": path and str(path), "entries": len(found),
        "bytes": sum(entry.bytes for entry in found), "used": _time(max((entry.used for entry in found), default=None)),
        "again": again, "bound": most,
        "counted": sum(entry.bytes for entry in found if entry.again) if name in KINDS else 0,
    }  # fmt: skip


def _time(ns: int | None) -> str | None:
    if ns is None:
        return None
    try:
        return datetime.fromtimestamp(ns // 10**9, UTC).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):  # a clock that was set to no year
        return None


def listed_caches() -> Iterator[Grid | str]:
    """The list as a table, with the bound below it."""
    found, most = list(records()), caches.bound()
    heads = ["cache", "holds", "entries", "size", "last use", "folder"]
    lines = [
        [
            each["cache"], each["what"], f"{each['entries']:,}", decimal_size(each["bytes"]),
            (each["used"] or BLANK)[:10], str(paths.shown(Path(each["path"]))) if each["path"] else BLANK,
        ]
        for each in found
    ]  # fmt: skip
    yield from terminal(Table("caches", "", heads, lines, frozenset({"entries", "size"})))
    held = sum(each["counted"] for each in found)
    limit = "there is no bound" if most is None else f"the bound is {decimal_size(most)}"
    yield f"{decimal_size(held)} can be had again; {limit} ({caches.SIZE} sets it)."
    kept = ", ".join(each["cache"] for each in found if each["again"] is None and each["path"])
    yield f"Kept until you delete them: {kept}, and generated graphs with names of their own."
    if found[-1]["entries"]:
        yield f"'grailbench cache --prune' removes files {STALE}."


# ------------------------------------------------------------------ removing


def pruned(dry: bool) -> list[Removal]:
    """Removes what no process needs, and what is above the bound; if `dry`, only tells."""
    from grailbench.graph import store
    from grailbench.problems.reachability import queries

    found = [Removal(left.path, "temporary", left.bytes, STALE, _failed(left.path, dry))
             for left in caches.left_behind(dry)]  # fmt: skip
    unread = {"dags": store.is_former, "queries": queries.is_former}
    every = caches.entries()
    wanted = [entry for entry in every if entry.kind in unread and unread[entry.kind](entry.path)]
    found += _taken(wanted, dry, FORMER)
    former = {*kernelcache.former()}
    kernels = [entry for entry in caches.kernels() if entry.path in former]
    kernelcache.remove(() if dry else former)
    found += [Removal(each.path, KERNELS, each.bytes, FORMER, _failed(each.path, dry)) for each in kernels]
    if (most := caches.bound()) is not None:
        gone = {removal.path for removal in found}
        found += _taken(caches.least_used([entry for entry in every if entry.path not in gone], most), dry, ABOVE)
    return found


def _taken(wanted: list[Entry], dry: bool, why: str) -> list[Removal]:
    gone = {entry.path for entry in caches.remove(wanted, dry)}
    return [
        Removal(entry.path, entry.kind, entry.bytes, why, entry.path not in gone)
        for entry in wanted
        if entry.path in gone or not caches.in_use(entry.path)
    ]


def _failed(path: Path, dry: bool) -> bool:
    return not dry and path.exists()


def removals(found: Iterable[Removal], dry: bool) -> Iterator[dict]:
    """A record for each removal: removed (its path), cache, bytes, why, done (whether it is gone)."""
    for each in found:
        yield {
            "removed": str(each.path), "cache": each.cache, "bytes": each.bytes, "why": each.why,
            "done": not dry and not each.failed,
        }  # fmt: skip


def removed(found: list[Removal], dry: bool) -> Iterator[Grid | str]:
    """The removals as a table with a sum below it."""
    done = [each for each in found if not each.failed]
    if done:
        heads = ["cache", "size", "why", "path"]
        lines = [[each.cache, decimal_size(each.bytes), each.why, str(paths.shown(each.path))] for each in done]
        yield from terminal(Table("removed", "", heads, lines, frozenset({"size"})))
    kinds = Counter(each.cache for each in done)
    many = f" ({', '.join(f'{kinds[name]:,} {name}' for name in sorted(kinds))})" if len(kinds) > 1 else ""
    verb = "would be removed" if dry else "removed"
    things = count(len(done), "thing") if done else "nothing"
    yield f"{things} {verb}{many}, {decimal_size(sum(each.bytes for each in done))}."


def verdict(found: Iterable[Removal]) -> None:
    """Raises InputError if something could not be removed."""
    failed = [each for each in found if each.failed]
    if failed:
        raise InputError(
            f"cannot be removed, and {len(failed) - 1} more" if len(failed) > 1 else "cannot be removed",
            path=failed[0].path, remedy="delete it by hand, or run this as its owner",
        )  # fmt: skip
