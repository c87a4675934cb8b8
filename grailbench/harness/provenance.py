"""Recorded runs and their manifest; run as a program, writes the stamp of a clean checkout (`runs.commit`).

Recorded runs are in `results/baselines`, where `grailbench record` puts them. The file `manifest.json` there has, for
each of them, the sha256 of its files (of the rows before they were compressed) and the commits of each code version in
it. `found` says how the commits are known: 'commit' if the run names them and was made from clean checkouts; 'code' if
the run names another commit or none, but the sources of these commits have the code hash in the keys of its rows;
'none' if no commit has that code.
"""

import sys
from pathlib import Path

from grailbench.errors import InputError
from grailbench.harness import baseline, pack
from grailbench.harness import folder as results
from grailbench.harness.cells import read
from grailbench.harness.commit import write_stamp
from grailbench.util import paths, temporary
from grailbench.util.visible import quoted

MANIFEST = "manifest.json"
_LISTED = (*results.FILES, "limits.json", "stages.jsonl")  #: files whose checksums are in the manifest


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

    Raises InputError when rows are damaged or the last trial is incomplete, when a cell failed or is wrong (unless its
    implementation is wrong as printed), when a session was not made from a clean commit, and when the name is taken and
    `replace` is False.
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
        if (target / results.PLAN).exists() and not replace:
            raise InputError("a run is recorded there", path=target, remedy="--replace, or another name")
        baseline.settle(target)
        if (target / results.PLAN).exists():
            if folder.resolve() != target.resolve():
                baseline.replace(target, folder, keep=False)  # git has it
        else:
            baseline.place(folder, target)
        enter(name, target, codes, "commit")
    return target


def accept(base: Path, new: Path) -> list[str]:
    """Put the run `new` in the place of the run `base`, whole or not at all; returns sentences that say what was done.

    Among the recorded runs that is `record`, with its checks. Elsewhere the old one is kept as BASE.before, or
    BASE.before-2 and so on if that is there. Raises InputError if `new` is `base`, and the errors of `record` and of
    `baseline.replace`; the baseline is then as it was.
    """
    base, new = base.resolve(), new.resolve()
    if base == new:
        raise InputError("is the baseline already", path=new, remedy="name another run to accept")
    if is_recorded(base):
        name = base.relative_to(baselines().resolve()).as_posix()
        record(str(new), name, replace=True)
        return [f"accepted: {new} is recorded as {name} and entered in the manifest"]
    if baseline.same(base, new):  # or the old one, which is kept, would be this one
        return [f"accepted before: {base} is a copy of {new} already"]
    made = [name for name in baseline.MADE if (base / name).exists()]
    again = "'grailbench report' and 'plot' make them again"
    dropped = [f"left out, as of the old rows: {' and '.join(made)} ({again})"] if made else []
    before = baseline.replace(base, new)
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
    if not is_recorded(folder):
        return None
    return manifest().get(folder.resolve().relative_to(baselines().resolve()).as_posix())


def _clean_commits(folder: Path) -> dict[str, list[str]]:
    """The commits of each code version in the sessions of a run. Raises InputError unless all code was clean."""
    environment = results.read_environment(folder)
    codes: dict[str, list[str]] = {}
    for session in pack.every_session(environment):
        if which := pack.doubt(session):
            raise InputError(
                f"was measured with {which}, so nobody can repeat it",
                path=folder,
                remedy="commit, then run again; a copy without git data needs COMMIT.json, see docs/measuring.md",
            )
        known = codes.setdefault(session["code"], [])
        if session["commit"] not in known:
            known.append(session["commit"])
    return codes


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{write_stamp()}\n")
    except InputError as error:
        sys.exit(f"error: {error}")
