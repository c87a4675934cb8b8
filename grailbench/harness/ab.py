"""Comparing two commits of this checkout, or of a plug-in's, with their trials interleaved.

Each commit is checked out into its own git worktree in a temporary folder. Its runs are separate processes that import
its code from there, with the interpreter, the dependencies and the graph cache of the caller. The commits take turns
with blocks of trials (A B, B A, A B, ...), so that a drift of the machine affects both alike. The results are two
ordinary run folders. Worktrees and processes are removed at the end, also after Ctrl-C.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic

from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness import plugins
from grailbench.harness.environment import git
from grailbench.harness.plan import config_from_flags, config_path, flag_name, make_plan
from grailbench.harness.runner import Interrupted
from grailbench.problems.contract import registered
from grailbench.util import commands, paths, temporary
from grailbench.util.guard import INTERRUPTS, prompt_interrupts
from grailbench.util.visible import visible
from grailbench.util.words import listing

LOG = "ab.log"
ENTRY = Path("grailbench", "cli", "main.py")
_PROGRAM = ".".join(ENTRY.with_suffix("").parts)
PATIENCE_SECONDS = 10.0
_CHECK_FAILED = "error: "  # starts the last line of a run with exit code 1 that has rows with wrong or failed cells


@dataclass(frozen=True)
class Revision:
    """One of the two commits: its name as the user gave it, its hash, its worktree, the folder in it from which code is
    imported, and the folder of its run."""

    side: str
    name: str
    commit: str
    tree: Path
    code: Path
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
    """Run both revisions. Returns the folders of their runs: `out`/a and `out`/b, or two in results/runs.

    flags   as `config_from_flags` takes them. Every cell gets the most trials of any, split into `rounds` blocks
    note    called with messages for the user
    repo    the checkout; by default the one around the current folder, else the one that this package runs from

    Raises InputError for wrong flags, an unknown revision or one that cannot run, or a folder that contains a run, and
    Interrupted after Ctrl-C.
    """
    repo = repository(repo)
    cells = make_plan(config_from_flags(**flags)).cells
    trials = max(cell.trials for cell in cells)
    arguments = [*_arguments(flags), *([] if fetch else ["--no-fetch"])]
    used = [registered(*each) for each in dict.fromkeys((cell.impl, cell.problem) for cell in cells)]
    files = [ENTRY, *(plugins.module_file(each) for each in used if each is not None and plugins.outside(each))]
    found = [commit_of(repo, name, files) for name in names]
    commits = [commit for commit, _ in found]
    runs = _folders(out, commits)
    if commits[0] == commits[1]:
        note(f"both revisions are {commits[0][:12]}: the differences are noise")
    if git(repo, "status", "--porcelain", "--untracked-files=no"):
        note("the working tree has changes that were not committed; they are in neither side")
    try:
        with prompt_interrupts(lambda: None, leave=False), worktrees(repo, commits) as trees:
            code = [tree / folder for tree, (_, folder) in zip(trees, found, strict=True)]
            sides = [Revision(*each) for each in zip("AB", names, commits, trees, code, runs, strict=True)]
            _take_turns(sides, arguments, trials, min(rounds, trials), note)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: finished trials are kept in {visible(f'{runs[0]} and {runs[1]}')}") from None
    return runs[0], runs[1]


def _arguments(flags: dict) -> list[str]:
    """Fields of an experiment as command-line arguments of `grailbench run`, with absolute paths of files."""
    arguments = []
    for name, value in flags.items():
        flag = flag_name(name)
        if isinstance(value, bool):
            arguments += [flag] if value else []
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            if name == "config" and each is not None:
                each = config_path(each).resolve()
            elif name == "queries" and Path(each).is_file():
                each = Path(each).resolve()
            arguments += [] if each is None or name == "trials" else [flag, str(each)]
    return arguments


def repository(repo: Path | None = None) -> Path:
    """The checkout whose commits are compared. Raises InputError when there is no checkout or no git."""
    if shutil.which("git") is None:
        raise InputError("there is no git on this machine")
    here = None if repo else git(Path.cwd(), "rev-parse", "--show-toplevel")
    root = repo or (Path(here) if here else paths.checkout())
    if root is None:
        remedy = "run it in a git checkout, of grailbench or of a plug-in"
        raise InputError("grailbench runs from an installed package", remedy=remedy)
    found = here or git(root, "rev-parse", "--show-toplevel")
    if found is None or Path(found).resolve() != root.resolve():
        raise InputError("is not a git checkout, so there are no revisions", path=root)
    return root


def commit_of(repo: Path, name: str, files: Sequence[Path] = (ENTRY,)) -> tuple[str, str]:
    """The full hash of a revision, and the folder in it, '.' or 'src', that has one of the files. Raises InputError if
    there is no such revision or folder."""
    commit = None if name.startswith("-") else git(repo, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if not commit:
        raise InputError(f"no revision {name!r}", path=repo, remedy="'git log --oneline' and 'git branch' show them")
    for folder in (".", "src"):
        if any(git(repo, "cat-file", "-e", f"{commit}:{Path(folder, file).as_posix()}") is not None for file in files):
            return commit, folder
    lacking = f"revision {name!r} has no {listing(map(str, files), between=' and no ')}, so nothing in it can be run"
    raise InputError(lacking, path=repo, remedy="of a plug-in, name an implementation by --impl, or a config")


def _folders(out: str | os.PathLike | None, commits: list[str]) -> list[Path]:
    if out is not None:
        folders = [Path(out).resolve() / side for side in "ab"]
    else:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        names = [f"{stamp}-ab-{commit[:7]}-{side}" for commit, side in zip(commits, "ab", strict=True)]
        folders = [paths.runs_dir() / name for name in names]
    for folder in folders:
        results.require_no_run(folder, remedy="choose another --out")
    return folders


# ------------------------------------------------------------------ worktrees


@contextmanager
def worktrees(repo: Path, commits: Sequence[str]) -> Iterator[list[Path]]:
    """Make a worktree of each commit in a temporary folder. Both are removed at the end, also after an error."""
    made = temporary.Folder("ab")
    trees = [made.path / side for side in "ab"]
    try:
        for tree, commit in zip(trees, commits, strict=True):
            done = _run_git(repo, "worktree", "add", "--detach", "--force", str(tree), commit)
            if done.returncode != 0:
                raise InputError(f"git worktree add failed: {_last_line(done.stderr)}", path=repo)
        yield trees
    finally:
        with _interrupts_ignored():
            removed = [_run_git(repo, "worktree", "remove", "--force", str(tree)).returncode == 0 for tree in trees]
            made.close()
            if not all(removed):
                _run_git(repo, "worktree", "prune")


def _run_git(repo: Path, *words: str) -> subprocess.CompletedProcess:
    """Run git without the hooks of the checkout, and in a new session, so that a Ctrl-C does not reach it."""
    command = commands.git("-C", str(repo), *words)
    return subprocess.run(command, capture_output=True, text=True, start_new_session=True)  # noqa: S603 - no shell


# ------------------------------------------------------------------ turns


def _take_turns(sides: list[Revision], flags: Sequence[str], trials: int, rounds: int, note) -> None:
    for turn in range(rounds):
        upto = trials * (turn + 1) // rounds
        for side in sides if turn % 2 == 0 else reversed(sides):
            began = monotonic()
            _run_block(side, flags, upto, first=turn == 0)
            note(f"round {turn + 1} of {rounds}: {side}, {upto} of {trials} trials, {monotonic() - began:.0f} s")


def _run_block(side: Revision, flags: Sequence[str], upto: int, first: bool) -> None:
    """Continue the run of one revision up to `upto` trials. Raises InputError with its last message when it fails, or
    when the code that ran was not that in the worktree."""
    side.run.mkdir(parents=True, exist_ok=True)
    where = ["--out", str(side.run)] if first else [f"--resume={side.run}"]
    command = [sys.executable, "-m", _PROGRAM, "run", *flags, "--trials", str(upto), *where]
    with open(side.run / LOG, "ab") as log:
        log.write(f"$ {' '.join(command[1:])}\n".encode())
        log.flush()
        code = _run_child(command, side, log)
    last = _last_line((side.run / LOG).read_text(encoding="utf-8", errors="replace"))
    if code != 0 and not (code == 1 and last.startswith(_CHECK_FAILED)):  # an unexpected exception also gives code 1
        raise InputError(f"{side}: run ended with exit code {code}: {last}", path=side.run / LOG)
    if first:
        require_its_code(side, results.read_environment(side.run))


def require_its_code(side: Revision, environment: Mapping) -> None:
    """Raises InputError if a run was of other code than that in the worktree."""
    if (side.code / ENTRY).exists():
        ran = [environment.get("commit") or side.commit]
    else:
        facts = environment.get("implementations", {}).values()
        ran = [fact.get("commit") or plugins.title(fact) for fact in facts if "editable" in fact]
    if side.commit not in ran:
        raise InputError(
            f"{side}: {listing(each[:12] for each in ran) or 'no plug-in'} was imported instead", path=side.run
        )


def _run_child(command: list[str], side: Revision, log) -> int:
    """Run a process in the worktree and return its exit code. On an interrupt it gets SIGINT, and later SIGKILL."""
    child = subprocess.Popen(  # noqa: S603 - this Python, with words of the command line, no shell
        command, cwd=side.tree, env=_environment(side.code), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        start_new_session=True,
    )  # fmt: skip
    try:
        return child.wait()
    except KeyboardInterrupt:
        with _interrupts_ignored():
            os.killpg(child.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                child.wait(PATIENCE_SECONDS)
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        raise


def _environment(code: Path) -> dict[str, str]:
    """The environment of the caller, with the code first on the Python path and with the graph cache of the caller.

    NUMBA_CACHE_DIR is removed where this process set it for its own code: each worktree has its own compiled kernels.
    """
    env = dict(os.environ)
    chosen, own = env.get("NUMBA_CACHE_DIR"), Path(__file__).resolve().parents[1]
    if chosen and Path(chosen).is_relative_to(own):
        del env["NUMBA_CACHE_DIR"]
    env["PYTHONPATH"] = os.pathsep.join([str(code), *filter(None, [env.get("PYTHONPATH")])])
    env["GRAILBENCH_CACHE"] = str(paths.cache_dir().resolve())
    return env


# ------------------------------------------------------------------ signals


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore interrupts while cleaning up."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
