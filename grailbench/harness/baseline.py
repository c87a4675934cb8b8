"""Putting a run in the place of another, whole or not at all: how a run becomes the baseline of later ones.

The new folder is made complete beside the old one, then two renames follow: the old one becomes BASE.before, the new
one BASE. Whoever is killed between them leaves both whole, and `settle` makes the second rename when BASE is next used.
Only folders with names that nobody else gives are deleted: a folder BASE.before that is there stays.
"""

import os
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path

from grailbench.errors import InputError, of_system
from grailbench.harness import folder as results
from grailbench.util import outputs
from grailbench.util.outputs import atomic_file
from grailbench.util.paths import runs_dir

#: beside a run: the old one, the new one, and one half made or half deleted
BEFORE, NEXT, MAKING = ".before", ".grailbench-next", ".grailbench-making"
MADE = ("report", "figures")  #: folders that commands make from the rows: those of the old run are left out


def beside(folder: Path, ending: str) -> Path:
    """The folder of that role beside a run's."""
    return folder.with_name(folder.name + ending)


def replace(target: Path, source: Path, keep: bool = True) -> Path | None:
    """Put the run `source` in the place of the run `target`.

    keep  keep the old run, with reports on it, beside the new one: in BASE.before, or BASE.before-2 and so on if that
          is there. Otherwise it is deleted, and reports stay, as somebody put them there

    What else is in the folder `target`, such as a gate, stays. Returns the folder of the old run, if it is kept. Raises
    InputError if `source` changes meanwhile, or if a file cannot be written, and MachineLacks if the disk is full; the
    old run is then as it was.
    """
    following, making = beside(target, NEXT), beside(target, MAKING)
    names = (beside(target, BEFORE + (f"-{number}" if number > 1 else "")) for number in count(1))
    before = next(path for path in names if not os.path.lexists(path)) if keep else None
    try:
        for left in (making, following):
            if left.exists():
                shutil.rmtree(left)
        without = (*results.FILES, results.COMPRESSED)
        _copy_folder(target, making, (*without, *MADE) if keep else without)
        for file in results.FILES:
            if (found := results.content(source, file)) is not None:
                name, stored = _stored(file, found)
                (making / name).write_bytes(stored)
                if results.content(source, file) != found:
                    raise InputError("changed while it was copied", path=source, remedy="is it still being measured?")
        outputs.sync(making, whole=True)
        _move(making, following)  # each move is on the disk before the next, which would not be without it
        _move(target, before or making)
        _move(following, target)
        if before is None:
            shutil.rmtree(making)
    except OSError as error:
        with suppress(OSError):
            settle(target)
        with suppress(OSError):
            if target.exists():
                shutil.rmtree(making)
        raise of_system(error, target) from None
    return before


def _move(folder: Path, to: Path) -> None:
    os.replace(folder, to)
    outputs.sync(to.parent)


def place(source: Path, target: Path) -> None:
    """Copy a run to a folder without one; its plan, by which it is known, comes last. Raises InputError if a file
    cannot be written, and MachineLacks if the disk is full."""
    try:
        for file in (results.ENVIRONMENT, results.ROWS, results.PLAN):
            name, stored = _stored(file, results.content(source, file) or b"")
            with atomic_file(target / name) as stream:
                stream.write(stored)
    except OSError as error:
        raise of_system(error) from None


def _stored(file: str, content: bytes) -> tuple[str, bytes]:
    """The name and the bytes of one of the files of a run where it is recorded."""
    return (results.COMPRESSED, results.compressed(content)) if file == results.ROWS else (file, content)


def _copy_folder(source: Path, copy: Path, without: tuple[str, ...] = ()) -> None:
    """Copy a folder with all in it, but for these names. Raises the OSError of the first file that it cannot."""
    copy.mkdir()
    for path in sorted(source.iterdir()):
        if path.name not in without:
            if path.is_dir() and not path.is_symlink():
                _copy_folder(path, copy / path.name)
            else:
                shutil.copy2(path, copy / path.name, follow_symlinks=False)


def same(target: Path, source: Path) -> bool:
    """Whether two runs have equal files."""
    return all(results.content(target, file) == results.content(source, file) for file in results.FILES)


def settle(base: str | os.PathLike) -> Path | None:
    """End a `replace` that was cut short between its renames: the new run becomes BASE. Returns BASE, or None if there
    was nothing to do."""
    places = [Path(os.path.abspath(path)) for path in (base, runs_dir() / base)]  # with a name, also if that is '.'
    base = next((path for path in places if path.name and beside(path, NEXT).exists()), places[0])
    if not base.name:
        return None
    following = beside(base, NEXT)
    if base.exists() or not results.is_run(following):
        return None
    os.replace(following, base)
    return base
