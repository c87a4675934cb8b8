"""Where things lie: what ships with the package, and what a user's machine keeps.

In a checkout (or an editable install) the shipped folders `datasets/`, `configs/` and `results/published/`
are those of the checkout, and the cache is `cache/` in it. In an installed wheel they lie in `grailbench/_shipped`
and the cache in the user's cache folder. `GRAILBENCH_CACHE` moves the cache, `GRAILBENCH_MIRROR` names a mirror.
"""

from __future__ import annotations

import os
from pathlib import Path

from grailbench.errors import InputError

_ELSEWHERE = "GRAILBENCH_CACHE names another folder"
_PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """The root of the checkout the package runs from, or None for an installed wheel."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "datasets").is_dir() else None


def _shipped(folder: str) -> Path:
    root = checkout()
    return root / folder if root is not None else _PACKAGE / "_shipped" / folder


def datasets_dir() -> Path:
    """The registry: one TOML a set."""
    return _shipped("datasets")


def configs_dir() -> Path:
    """The shipped experiment configs."""
    return _shipped("configs")


def published_dir() -> Path:
    """The papers' tables as CSV."""
    return _shipped("results/published")


def cache_dir() -> Path:
    """Downloads, condensed graphs, query sets; made on first use. Safe to delete.

    Raises InputError when it is no folder and cannot be made one.
    """
    chosen = os.environ.get("GRAILBENCH_CACHE")
    if chosen:
        path = Path(chosen).expanduser()
    elif (root := checkout()) is not None:
        path = root / "cache"
    else:
        import platformdirs

        path = Path(platformdirs.user_cache_dir("grailbench"))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is a file" if path.is_file() else error.strerror
        raise InputError(f"the cache cannot be kept here: {why}", path=path, remedy=_ELSEWHERE) from None
    return path


def runs_dir() -> Path:
    """The default folder of runs: `results/runs` of the checkout, else of the current folder."""
    return (checkout() or Path.cwd()) / "results" / "runs"


def shown(path: Path) -> Path:
    """The path as a message names it: from the current folder where it lies below that."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def mirror() -> str | None:
    """The mirror (folder or URL) named by the environment, if any."""
    return os.environ.get("GRAILBENCH_MIRROR") or None
