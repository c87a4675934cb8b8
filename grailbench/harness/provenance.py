"""Recorded runs and their manifest, and baselines, which another run replaces whole or not at all; run as a program,
writes the stamp of a clean checkout (`harness.environment`).

Recorded runs are in `results/baselines`, where `grailbench record` puts them. The file `manifest.json` there has, for
each of them, the sha256 of its files (of the rows before they were compressed) and the commits of each code version in
it. `found` says how the commits are known: 'commit' if the run names them and was made from clean checkouts; 'code' if
the run names another commit or none, but the sources of these commits have the code hash in the keys of its rows.
"""

import os
import shutil
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path

from grailbench.errors import InputError, of_system, page
from grailbench.harness import folder as results
from grailbench.harness import pack
from grailbench.harness.cells import read
from grailbench.harness.environment import write_stamp
from grailbench.util import outputs, paths, temporary
from grailbench.util.outputs import atomic_file
from grailbench.util.visible import quoted

MANIFEST = "manifest.json"
_LISTED = (*results.FILES, "limits.json", "stages.jsonl")  #: files whose checksums are in the manifest
#: beside a run: the old one, the new one, and one half made or half deleted
BEFORE, NEXT, MAKING = ".before", ".grailbench-next", ".grailbench-making"
MADE = ("report", "figures")  #: folders that commands make from the rows: those of the old run are left out


def baselines() -> Path:
    """The folder of recorded runs. Raises InputError outside a checkout."""
    root = paths.checkout()
    if root is None:
        raise InputError("recorded runs are in a checkout of the project, and this is not one")
    return root / "results" / "baselines"


def is_recorded(folder: Path) -> bool:
    """Whether a folder is among the recorded runs."""
    return paths.checkout() is not None and folder.resolve().is_relative_to(baselines().resolve())


def record(run: str, name: str, replace: bool = False) -> Path:
    """Copy a run to `results/baselines/NAME` and add it to the manifest. Returns its new folder.

    Raises InputError when rows or the manifest are damaged or the last trial is incomplete, when a cell failed or is
    wrong (unless its implementation is wrong as printed), when a session was not made from a clean commit, and when the
    name is taken and `replace` is False.
    """
    folder, home = results.find_run(run), baselines()
    target = home / name
    if not target.resolve().is_relative_to(home.resolve()) or target.resolve() == home.resolve():
        raise InputError(f"{name!r} is not the name of a recorded run", remedy="such as my-machine/fused")
    run = read(folder)
    if run.damage.torn or run.damage.rows or not run.rows:
        raise InputError("has no complete trials", path=folder, remedy=f"grailbench run --resume={quoted(folder)}")
    pack.require_sound(run.rows, folder)
    codes = _clean_commits(folder)
    with temporary.exclusive(home):  # the name and the manifest
        manifest()  # before a folder is written that a damaged one could not list
        if (target / results.PLAN).exists() and not replace:
            raise InputError("a run is recorded there", path=target, remedy="--replace, or another name")
        settle(target)
        if (target / results.PLAN).exists():
            if folder.resolve() != target.resolve():
                exchange(target, folder, keep=False)  # git has it
        else:
            place(folder, target)
        enter(name, target, codes, "commit")
    return target


def accept(base: Path, new: Path) -> list[str]:
    """Put the run `new` in the place of the run `base`, whole or not at all; returns sentences that say what was done.

    Among the recorded runs that is `record`, with its checks. Elsewhere the old one is kept as BASE.before, or
    BASE.before-2 and so on if that is there. Raises InputError if `new` is `base`, and the errors of `record` and of
    `exchange`; the baseline is then as it was.
    """
    base, new = base.resolve(), new.resolve()
    if base == new:
        raise InputError("is the baseline already", path=new, remedy="name another run to accept")
    if is_recorded(base):
        name = recorded_name(base)
        record(str(new), name, replace=True)
        return [f"accepted: {new} is recorded as {name} and entered in the manifest"]
    if same(base, new):  # or the old one, which is kept, would be this one
        return [f"accepted before: {base} is a copy of {new} already"]
    made = [name for name in MADE if (base / name).exists()]
    again = "'grailbench report' and 'plot' make them again"
    dropped = [f"left out, as of the old rows: {' and '.join(made)} ({again})"] if made else []
    before = exchange(base, new)
    return [f"accepted: {base} is a copy of {new} now", f"the old baseline is kept in {before}", *dropped]


def enter(name: str, folder: Path, codes: dict[str, list[str]], found: str) -> None:
    """Write the entry of a run to the manifest. `codes`: the commits of each code version in its rows."""
    known = manifest()
    files = results.checksums(folder, _LISTED)
    known[name] = {"found": found, "codes": codes, "files": files}
    results.write_json(baselines() / MANIFEST, dict(sorted(known.items())))


def manifest() -> dict[str, dict]:
    """The entries by the name of the run, which is its folder below `results/baselines`; see the module docstring."""
    path = baselines() / MANIFEST
    return results.read_json(path) if path.exists() else {}


def entry(folder: Path) -> dict | None:
    """The entry of a recorded run in the manifest; None for other runs."""
    name = recorded_name(folder)
    return None if name is None else manifest().get(name)


def recorded_name(folder: Path) -> str | None:
    """The name of a recorded run, its folder below `results/baselines`; None for other runs."""
    return folder.resolve().relative_to(baselines().resolve()).as_posix() if is_recorded(folder) else None


def _clean_commits(folder: Path) -> dict[str, list[str]]:
    """The commits of each code version in the sessions of a run. Raises InputError unless all code was clean."""
    environment = results.read_environment(folder)
    codes: dict[str, list[str]] = {}
    for session in pack.every_session(environment):
        if which := pack.doubt(session):
            copy = f"a copy without git data needs COMMIT.json, see {page('explanation/measuring')}"
            remedy = f"commit, then run again; {copy}"
            raise InputError(f"was measured with {which}, so nobody can repeat it", path=folder, remedy=remedy)
        known = codes.setdefault(session["code"], [])
        if session["commit"] not in known:
            known.append(session["commit"])
    return codes


# ------------------------------------------------------------------ in the place of another run
#
# The new folder is made complete beside the old one, then two renames follow: the old one becomes BASE.before, the new
# one BASE. Whoever is killed between them leaves both whole, and `settle` makes the second rename when BASE is next
# used. Only folders with names that nobody else gives are deleted: a folder BASE.before that is there stays.


def beside(folder: Path, ending: str) -> Path:
    """The folder of that role beside a run's."""
    return folder.with_name(folder.name + ending)


def exchange(target: Path, source: Path, keep: bool = True) -> Path | None:
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
    """End an `exchange` that was cut short between its renames: the new run becomes BASE. Returns BASE, or None if
    there was nothing to do."""
    both = base, paths.runs_dir() / base
    places = [Path(os.path.abspath(path)) for path in both]  # with a name, also if that is '.'
    base = next((path for path in places if path.name and beside(path, NEXT).exists()), places[0])
    if not base.name:
        return None
    following = beside(base, NEXT)
    if base.exists() or not results.is_run(following):
        return None
    os.replace(following, base)
    return base


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{write_stamp()}\n")
    except InputError as error:
        sys.exit(f"error: {error}")
