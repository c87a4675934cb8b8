"""Two commits of this checkout against each other, their trials interleaved.

Each commit is put into a git worktree of its own, in a temporary folder, and runs as a process of its own that imports
its package from there; interpreter, dependencies and the cache of graphs are those of the caller. The two take turns,
a block of trials each (A B, B A, A B, ...), so that a machine that drifts moves both. What comes of it are two ordinary
run folders. Worktrees and processes are gone afterwards, also after Ctrl-C.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic

from grailbench import paths
from grailbench.bench.plan import config_from_flags, config_path, flag_name, make_plan
from grailbench.bench.runner import Interrupted
from grailbench.errors import InputError
from grailbench.guard import INTERRUPTS, prompt_interrupts
from grailbench.runs import folder as results

LOG = "ab.log"
ENTRY = Path("grailbench", "cli", "main.py")
_PROGRAM = ".".join(ENTRY.with_suffix("").parts)
PATIENCE_SECONDS = 10.0
_CHECK_FAILED = "error: "  # begins the last words of a run with code 1: cells are wrong or failed, and the rows say so


@dataclass(frozen=True)
class Revision:
    """One side: what the user called it, its commit, its worktree, and the folder of its run."""

    side: str
    name: str
    commit: str
    tree: Path
    run: Path

    def __str__(self) -> str:
        return f"{self.side} ({self.name}, {self.commit[:12]})"


def ab(
    names: tuple[str, str],
    flags: dict,
    rounds: int,
    note: Callable[[str], None],
    out: str | os.PathLike | None = None,
    fetch: bool = True,
    repo: Path | None = None,
) -> tuple[Path, Path]:
    """Run both revisions and return the folders of their runs: `out`/a and `out`/b, or two in results/runs.

    `flags`: fields of an experiment, and `config`, as `config_from_flags` takes them; every cell has the trials that
    they name, else the most that the config gives any cell, split into `rounds` blocks. `repo`: the checkout, by
    default the one this package runs from. Raises InputError for flags that do not hold, an unknown revision, a
    revision that cannot run, or a folder that holds a run; Interrupted after Ctrl-C.
    """
    trials = max(cell.trials for cell in make_plan(config_from_flags(**flags)).cells)
    words = [*_words(flags), *([] if fetch else ["--no-fetch"])]
    repo = repository(repo)
    commits = [commit_of(repo, name) for name in names]
    runs = _folders(out, commits)
    if commits[0] == commits[1]:
        note(f"both revisions are {commits[0][:12]}: the differences are noise")
    if _git(repo, "status", "--porcelain", "--untracked-files=no"):
        note("the working tree has changes that were not committed; they are in neither side")
    try:
        with prompt_interrupts(lambda: None, leave=False), worktrees(repo, commits) as trees:
            sides = [Revision(*each) for each in zip("AB", names, commits, trees, runs, strict=True)]
            _take_turns(sides, words, trials, min(rounds, trials), note)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: finished trials are kept in {runs[0]} and {runs[1]}") from None
    return runs[0], runs[1]


def _words(flags: dict) -> list[str]:
    """Fields of an experiment as the flags of `grailbench run`; files by their absolute path."""
    words = []
    for name, value in flags.items():
        flag = flag_name(name)
        for each in value if isinstance(value, list | tuple) else [value]:
            if name == "config" and each is not None:
                each = config_path(each).resolve()
            elif name == "queries" and Path(each).is_file():
                each = Path(each).resolve()
            words += [] if each is None or name == "trials" else [flag, str(each)]
    return words


def repository(repo: Path | None = None) -> Path:
    """The checkout whose commits are compared. Raises InputError when there is none, or no git."""
    root = repo or paths.checkout()
    if root is None:
        raise InputError("grailbench runs from an installed package", remedy="run it from a git checkout")
    if shutil.which("git") is None:
        raise InputError("there is no git on this machine")
    found = _git(root, "rev-parse", "--show-toplevel")
    if found is None or Path(found).resolve() != root.resolve():
        raise InputError("is no git checkout, so there are no revisions", path=root)
    return root


def commit_of(repo: Path, name: str) -> str:
    """The full hash of a revision. Raises InputError when there is none of that name, or nothing in it to run."""
    commit = None if name.startswith("-") else _git(repo, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if not commit:
        raise InputError(f"no revision {name!r}", path=repo, remedy="'git log --oneline' and 'git branch' show them")
    if _git(repo, "cat-file", "-e", f"{commit}:{ENTRY.as_posix()}") is None:
        raise InputError(f"revision {name!r} has no {ENTRY}, so nothing in it can be run", path=repo)
    return commit


def _folders(out: str | os.PathLike | None, commits: list[str]) -> list[Path]:
    if out is not None:
        folders = [Path(out).resolve() / side for side in "ab"]
    else:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        folders = [
            paths.runs_dir() / f"{stamp}-ab-{commit[:7]}-{side}" for commit, side in zip(commits, "ab", strict=True)
        ]
    for folder in folders:
        if (folder / results.ROWS).exists() or (folder / results.PLAN).exists():
            raise InputError("holds a run already", path=folder, remedy="choose another --out")
    return folders


# ------------------------------------------------------------------ worktrees


@contextmanager
def worktrees(repo: Path, commits: Sequence[str]) -> Iterator[list[Path]]:
    """A worktree of each commit in a temporary folder; both are removed at the end, whatever happened."""
    temporary = Path(tempfile.mkdtemp(prefix="grailbench-ab-"))
    trees = [temporary / side for side in "ab"]
    try:
        for tree, commit in zip(trees, commits, strict=True):
            done = _run_git(repo, "worktree", "add", "--detach", "--force", str(tree), commit)
            if done.returncode != 0:
                raise InputError(f"git worktree add failed: {_last_line(done.stderr)}", path=repo)
        yield trees
    finally:
        with _deaf():
            removed = [_run_git(repo, "worktree", "remove", "--force", str(tree)).returncode == 0 for tree in trees]
            shutil.rmtree(temporary, ignore_errors=True)
            if not all(removed):
                _run_git(repo, "worktree", "prune")


def _git(repo: Path, *words: str) -> str | None:
    """What git prints, stripped; None when it fails."""
    done = _run_git(repo, *words)
    return done.stdout.strip() if done.returncode == 0 else None


def _run_git(repo: Path, *words: str) -> subprocess.CompletedProcess:
    """Git in a session of its own, which a Ctrl-C in the terminal does not reach, and without the checkout's hooks."""
    command = ["git", "-C", str(repo), "-c", f"core.hooksPath={os.devnull}", *words]
    return subprocess.run(command, capture_output=True, text=True, start_new_session=True)


# ------------------------------------------------------------------ turns


def _take_turns(sides: list[Revision], flags: Sequence[str], trials: int, rounds: int, note) -> None:
    for turn in range(rounds):
        upto = trials * (turn + 1) // rounds
        for side in sides if turn % 2 == 0 else reversed(sides):
            began = monotonic()
            _block(side, flags, upto, first=turn == 0)
            note(f"round {turn + 1} of {rounds}: {side}, {upto} of {trials} trials, {monotonic() - began:.0f} s")


def _block(side: Revision, flags: Sequence[str], upto: int, first: bool) -> None:
    """Bring one side's run up to that many trials. Raises InputError with its own words when it cannot."""
    side.run.mkdir(parents=True, exist_ok=True)
    where = ["--out", str(side.run)] if first else [f"--resume={side.run}"]
    command = [sys.executable, "-m", _PROGRAM, "run", *flags, "--trials", str(upto), *where]
    with open(side.run / LOG, "ab") as log:
        log.write(f"$ {' '.join(command[1:])}\n".encode())
        log.flush()
        code = _child(command, side.tree, log)
    said = _last_line((side.run / LOG).read_text(encoding="utf-8", errors="replace"))
    if code != 0 and not (code == 1 and said.startswith(_CHECK_FAILED)):  # a crash of Python itself ends with 1 too
        raise InputError(f"{side}: run ended with exit code {code}: {said}", path=side.run / LOG)
    if first:
        _check_origin(side)


def _child(command: list[str], tree: Path, log) -> int:
    """Run a process in the tree until it ends; an interrupt ends it, politely first."""
    child = subprocess.Popen(
        command, cwd=tree, env=_environment(tree), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        start_new_session=True,
    )  # fmt: skip
    try:
        return child.wait()
    finally:
        with _deaf():
            for word in (signal.SIGINT, signal.SIGKILL):
                if child.poll() is not None:
                    break
                os.killpg(child.pid, word)
                try:
                    child.wait(PATIENCE_SECONDS)
                except subprocess.TimeoutExpired:
                    continue


def _environment(tree: Path) -> dict[str, str]:
    """The caller's environment, with the tree's package first and the caller's cache of graphs.

    A folder of compiled kernels that this process chose for its own code is left out: each tree chooses its own.
    """
    env = dict(os.environ)
    chosen, own = env.get("NUMBA_CACHE_DIR"), Path(__file__).resolve().parents[1]
    if chosen and Path(chosen).is_relative_to(own):
        del env["NUMBA_CACHE_DIR"]
    env["PYTHONPATH"] = os.pathsep.join([str(tree), *filter(None, [env.get("PYTHONPATH")])])
    env["GRAILBENCH_CACHE"] = str(paths.cache_dir().resolve())
    return env


def _check_origin(side: Revision) -> None:
    """Make sure that the package that ran is that of the tree. Raises InputError when another one was imported."""
    ran = results.read_environment(side.run).get("commit")
    if ran is not None and ran != side.commit:
        raise InputError(f"{side}: the package of commit {ran[:12]} was imported instead", path=side.run)


# ------------------------------------------------------------------ signals


@contextmanager
def _deaf() -> Iterator[None]:
    """Hear no interrupt while cleaning up."""
    before = {}
    try:
        for number in INTERRUPTS:
            before[number] = signal.signal(number, signal.SIG_IGN)
    except ValueError:  # not the main thread: signals go elsewhere
        before.clear()
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
