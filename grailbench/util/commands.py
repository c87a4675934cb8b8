"""Other programs and what they print, and git in folders that come from strangers."""

import os
import subprocess
from collections.abc import Mapping

#: variables by which git would read another repository than the one that is named
_ELSEWHERE = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"}
_NO_PROGRAMS = {"core.fsmonitor": "false", "core.hooksPath": os.devnull, "log.showSignature": "false"}


def git(*words: str) -> list[str]:
    """The command line of git for a repository that may be a stranger's, to be run with `git_environment()`.

    A repository brings a configuration of its own, in which programs are named that git starts: to watch for changes,
    as hooks, to fetch objects that are missing. None of these is started.
    """
    return ["git", *(part for key, value in _NO_PROGRAMS.items() for part in ("-c", f"{key}={value}")), *words]


def git_environment() -> dict[str, str]:
    """The environment in which git reads the repository that it is told, changes nothing there and fetches nothing."""
    env = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    # No protocol is allowed, which no configuration overrides: 'ext::' is a program, and 'file' may name one.
    return env | {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}


def output(command: list[str], seconds: float, environment: Mapping[str, str] | None = None) -> str | None:
    """Returns what a command prints, stripped; None if it is missing, fails or takes longer than `seconds`. It gets
    these variables, or those of this process."""
    try:
        done = subprocess.run(  # noqa: S603 - ours, no shell
            command, capture_output=True, text=True, timeout=seconds, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
