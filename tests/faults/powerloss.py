"""What a loss of power may leave of each command that writes: nothing that was not synced is sure to be there.

    python tests/faults/powerloss.py --record power-loss
    python tests/faults/powerloss.py --only import --every 3

The operations of an undisturbed command are written down with their bytes. After each of them the power may go: then
what was written to a file since its last fsync is there, lost, zeros, or half of it; and a name that was made, moved or
removed since the last fsync of its folder is there or not. For each folder that may be left so, readers must be refused
or see the truth, trials that were synced must be there, and the command, called again, must end as if nothing had been;
after its end, readers must not be refused. Exit code 1 if not.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
import failpoints
import interrupted
import record
from interrupted import Reference, Tally
from tasks import Stage, Task, Wrong

LOST = ("all", "synced", "zeros", "half")  #: what is there of bytes that were not synced
#: what is made anew when it is needed and is not there or damaged, and so is not synced; marks of use of processes that
#: are gone are swept by the next one that uses the cache, which a command that has nothing left to do is not
CACHED = ("cache/dags", "cache/queries")
DROPPED = 4  #: so many of the last names that were not synced are left out one by one


@dataclass(eq=False)
class File:
    """A file: what was done to it, as (number of the operation, offset, bytes), or (number, size, None) for a
    truncation; and the numbers of its fsyncs."""

    content: bytes = b""
    done: list[tuple[int, int, bytes | None]] = field(default_factory=list)
    synced: list[int] = field(default_factory=list)

    def at(self, number: int, what: str) -> bytes:
        """Its content if the power went after an operation."""
        sure = self._after(max((each for each in self.synced if each <= number), default=0))
        whole = self._after(number)
        if what == "all" or sure == whole:
            return whole
        if what == "synced":
            return sure
        if what == "half":
            return whole[: (len(sure) + len(whole)) // 2]
        return sure[: len(whole)].ljust(len(whole), b"\0")

    def _after(self, number: int) -> bytes:
        found = bytearray(self.content)
        for when, at, data in self.done:
            if when > number:
                break
            if data is None:
                found = found[:at].ljust(at, b"\0")
            else:
                found = found.ljust(at, b"\0")
                found[at : at + len(data)] = data
        return bytes(found)


@dataclass(eq=False)
class Folder:
    """A folder: what it holds in the end by name, and what it surely held from the beginning."""

    names: dict[str, File | Folder | str] = field(default_factory=dict)
    first: dict[str, File | Folder | str] = field(default_factory=dict)


#: of one operation: folder, name, and what it names then, None for nothing
Change = tuple[Folder, str, "File | Folder | str | None"]


@dataclass
class Named:
    """An operation on names; `sure` is the number of the fsync that has it on the disk, if any."""

    number: int
    changes: list[Change]
    sure: int | None = None


class Disk:
    """What was written down of a command in `work`, as a disk without a cache would have it."""

    def __init__(self, work: Path, before: Path, log: Path, operations: list[dict], first: dict[int, str]):
        self._work, self.last = work, len(operations)
        self.root, self.named = _folder(before), []
        self._files: dict[int, File] = {
            inode: found for inode, path in first.items() if isinstance(found := self._at(path), File)
        }
        opened = [json.loads(line) for line in (log / "inodes.jsonl").read_text().splitlines()]
        self._new = {(each["path"], each["after"]): each["inode"] for each in opened}
        for each in operations:
            self._take(each, log)

    def _take(self, done: dict, log: Path) -> None:
        kind, path, number = done["kind"], os.path.relpath(done["path"], self._work), done["number"]
        if kind == "create":
            file = self._files[self._new[done["path"], number]] = File()
            if not done.get("nameless"):
                self._name(number, (path, file))
        elif kind == "write":
            self._files[done["inode"]].done.append((number, done["offset"], (log / done["data"]).read_bytes()))
        elif kind == "truncate":
            self._files[done["inode"]].done.append((number, done["size"], None))
        elif kind == "fsync" and done["folder"]:
            folder = self._at(path)
            for each in self.named:
                if each.sure is None and any(where is folder for where, _, _ in each.changes):
                    each.sure = number
        elif kind == "fsync":
            file = self._files[done["inode"]]
            file.done.append((number, 0, (log / done["data"]).read_bytes()))
            file.synced.append(number)
        elif kind == "link":
            self._name(number, (path, self._files[done["inode"]]))
        elif kind == "rename":
            source = os.path.relpath(done["source"], self._work)
            self._name(number, (path, self._at(source)), (source, None))
        elif kind in ("unlink", "rmdir"):
            self._name(number, (path, None))
        elif kind == "mkdir":
            self._name(number, (path, Folder()))

    def _at(self, path: str) -> File | Folder | str:
        found = self.root
        for part in Path(path).parts:
            found = found.names[part]
        return found

    def _name(self, number: int, *changes: tuple[str, File | Folder | str | None]) -> None:
        made = []
        for path, thing in changes:
            above, name = self._at(os.path.dirname(path)), os.path.basename(path)
            made.append((above, name, thing))
            above.names.pop(name, None)
            if thing is not None:
                above.names[name] = thing
        self.named.append(Named(number, made))

    def states(self, number: int) -> Iterator[tuple[str, dict[str, bytes | str | None]]]:
        """What may be there if the power goes after an operation: in words, and as a tree: bytes of files, targets of
        links, None for folders, by path."""
        seen = set()
        until = [each for each in self.named if each.number <= number]
        unsure = [each for each in until if each.sure is None or each.sure > number]
        choices = {"all names": set(), "no name": {id(each) for each in unsure}}
        for some in unsure[1 : 1 + DROPPED]:
            choices[f"names before {some.number}"] = {id(each) for each in unsure if each.number >= some.number}
        for some in unsure[-DROPPED:]:
            choices[f"all names but {some.number}"] = {id(some)}
        for said, without in choices.items():
            there: dict[int, dict] = {}
            for each in until:
                for folder, name, thing in each.changes if id(each) not in without else ():
                    held = there.setdefault(id(folder), dict(folder.first))
                    held.pop(name, None)
                    if thing is not None:
                        held[name] = thing
            for what in LOST:
                tree = dict(_listed(self.root, there, number, what, ""))
                mark = hashlib.sha256(repr(sorted(tree.items())).encode()).digest()
                if mark not in seen:
                    seen.add(mark)
                    yield f"{said}, of unsynced bytes {what}", tree


def _folder(path: Path) -> Folder:
    """A folder that was there before, on the disk."""
    made = Folder()
    for each in path.iterdir():
        if each.is_symlink():
            made.first[each.name] = os.readlink(each)
        else:
            made.first[each.name] = _folder(each) if each.is_dir() else File(each.read_bytes())
    made.names = dict(made.first)
    return made


def _listed(folder: Folder, there: dict[int, dict], number: int, what: str, above: str) -> Iterator[tuple]:
    for name, thing in there.get(id(folder), folder.first).items():
        if isinstance(thing, Folder):
            yield f"{above}{name}", None
            yield from _listed(thing, there, number, what, f"{above}{name}/")
        else:
            yield f"{above}{name}", thing.at(number, what) if isinstance(thing, File) else thing


# ------------------------------------------------------------------ trying


def written_down(stage: Stage, task: Task) -> Disk:
    """Run a command, and keep all that it writes."""
    stage.restore()
    first = {path.stat().st_ino: path.relative_to(stage.work).as_posix()
             for path in stage.work.rglob("*") if path.is_file() and not path.is_symlink()}  # fmt: skip
    ended = stage.call(*task.words, order=stage.order("record"))
    if ended.code:
        raise Wrong(f"undisturbed, it ends with {ended.code}: {ended.err[-600:]}")
    return Disk(stage.work, stage.pristine, stage.log, failpoints.read(stage.log), first)


def one(stage: Stage, task: Task, whole: Reference, disk: Disk, number: int, tree: dict) -> None:
    """Tries what a loss of power left."""
    state = stage.home / "state"
    interrupted.lay(state, tree, stage.pristine)
    stage.restore(state)

    def synced_is_there(rows: list[bytes], refused: int) -> None:
        if (sure := synced_rows(disk, task, number)) > len(rows):
            raise Wrong(f"{sure} rows were synced, {len(rows)} are there")
        if refused and number == disk.last:
            raise Wrong(f"it had ended, and {refused} of {len(task.reads)} reads are refused")

    interrupted.check_recovery(stage, task, whole, CACHED, synced_is_there)


def synced_rows(disk: Disk, task: Task, number: int) -> int:
    """How many rows of complete trials the task's run surely has."""
    folder = disk.root.names.get(task.rows) if task.rows else None
    file = folder.names.get("trials.jsonl") if isinstance(folder, Folder) else None
    return file.at(number, "synced").count(b"\n") if isinstance(file, File) else 0


def lose_all(stage: Stage, task: Task, every: int = 1) -> Tally:
    """Every state that a loss of power may leave of a task, each once: after every N-th operation, and the last."""
    whole = interrupted.undisturbed(stage, task)
    disk, known = written_down(stage, task), set()

    def attempts() -> Iterator[tuple[str, Callable[[], None]]]:
        for number in sorted({*range(0, disk.last, every), disk.last}):
            for state, tree in disk.states(number):
                mark = (number == disk.last, hashlib.sha256(repr(sorted(tree.items())).encode()).digest())
                if mark not in known:
                    known.add(mark)
                    yield (f"{task.name}, after {number} of {disk.last}, {state}",
                           lambda number=number, tree=tree: one(stage, task, whole, disk, number, tree))  # fmt: skip

    return interrupted.tried(disk.last, attempts())


@record.program(
    "Kills, power loss and full disks",
    "After a loss of power at any moment, what a command had reported as finished is there and whole, and of the rest "
    "nothing passes for whole that is not.",
    night="After every fourth operation, for `make faults`.",
)
@click.option("--only", multiple=True, help="A task; may repeat. [default: all]")
@click.option("--every", default=1, show_default=True, help="After every N-th operation only.")
def main(only: tuple[str, ...], every: int, nightly: bool) -> record.Found:
    every = 4 if nightly else every
    return interrupted.every_task(
        only,
        "{tries:,} states of the disk, {faults} faults",
        lambda stage, task: iter([(task.name, lose_all(stage, task, every * task.dear))]),
    )


if __name__ == "__main__":
    main()
