"""Putting a run in the place of another, whole or not at all: how a run becomes the baseline of later ones.

The new folder is made complete beside the old one, then two renames follow: the old one becomes BASE.before, the new
one BASE. Whoever is killed between them leaves both whole, and `settle` makes the second rename when BASE is next used.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from grailbench.errors import InputError
from grailbench.graph.store import sha256_file
from grailbench.paths import runs_dir
from grailbench.runs import folder as results

FILES = (results.ROWS, results.PLAN, results.ENVIRONMENT)  #: of a run; all others are made from them
BEFORE, NEXT, MAKING = ".before", ".next", ".making"  #: beside a run: the old one, the new one, and a new one half made
MADE = ("report", "figures")  #: folders that commands make from the rows: those of the old run are left out


def beside(folder: Path, ending: str) -> Path:
    """The folder of that role beside a run's."""
    return folder.with_name(folder.name + ending)


def replace(target: Path, source: Path) -> Path:
    """Put the run `source` in the place of the run `target`. Returns the folder of the old one, BASE.before.

    What else is in the folder `target`, such as a gate, stays, except reports on the old run. Raises InputError if
    BASE.before is there and holds no run, if `source` changes meanwhile, or if a file cannot be written; the old run is
    then as it was.
    """
    before, following, making = (beside(target, ending) for ending in (BEFORE, NEXT, MAKING))
    if before.exists() and not _is_run(before):
        raise InputError("is there and holds no run", path=before, remedy="move it away, the old run is kept there")
    try:
        for left in (making, following):
            if left.exists():
                shutil.rmtree(left)
        shutil.copytree(target, making, symlinks=True, ignore=_left_out(target))
        for file in FILES:
            with suppress(FileNotFoundError):
                (making / file).unlink()
            if (source / file).exists():
                _copy(source / file, making / file)
        os.replace(making, following)
        if before.exists():
            os.replace(before, making)
            shutil.rmtree(making)
        os.replace(target, before)
        os.replace(following, target)
    except OSError as error:
        with suppress(OSError):
            settle(target)
        why = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror or error
        raise InputError(f"cannot be replaced: {why}", path=target) from None
    return before


def _left_out(target: Path):
    """For `copytree`: the folders of reports in `target` itself."""
    return lambda folder, names: [name for name in names if Path(folder) == target and name in MADE]


def _copy(source: Path, copy: Path) -> None:
    """Copy a file onto the disk. Raises InputError if it changed meanwhile."""
    shutil.copyfile(source, copy)
    with open(copy, "rb+") as stream:
        os.fsync(stream.fileno())
    if sha256_file(source) != sha256_file(copy):
        raise InputError("changed while it was copied", path=source, remedy="is it still being measured?")


def settle(base: str | os.PathLike) -> Path | None:
    """End a `replace` that was cut short between its renames: BASE.next becomes BASE. Returns BASE, or None if there
    was nothing to do."""
    base = next((path for path in (Path(base), runs_dir() / base) if beside(path, NEXT).exists()), Path(base))
    following = beside(base, NEXT)
    if not base.name or base.exists() or not (_is_run(following) and _is_run(beside(base, BEFORE))):
        return None
    os.replace(following, base)
    return base


def _is_run(folder: Path) -> bool:
    return (folder / results.PLAN).is_file() or (folder / results.ROWS).is_file()
