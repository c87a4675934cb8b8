"""Folders that a user names and this program fills: one is used only if it is empty or bears the mark of this program.

A mark is a file that is written before anything else. So in a folder without one nothing is written, and nothing is
deleted; in one that bears it, only what its owner knows to have written there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from grailbench.errors import InputError


def marked(folder: Path, mark: str, what: str, remedy: str) -> bool:
    """Whether a folder bears a mark; False if it is empty or missing.

    Raises InputError if it has anything else and no mark, or is no folder; OSError if it cannot be read. `what` says
    what it should be, such as 'cache'.
    """
    path = folder / mark
    if path.is_file():
        return True
    if not os.path.lexists(folder):
        return False
    if not folder.is_dir():
        raise InputError("is no folder", path=folder, remedy=remedy)
    if os.listdir(folder) and not path.is_file():  # another process may have marked it meanwhile
        raise InputError(f"is not empty, and no {what} of grailbench's", path=folder, remedy=remedy)
    return path.is_file()


def require_own(folder: Path, others: Iterable[str], what: str) -> None:
    """Raises InputError if a marked folder has `others`: the names in it that are not of this program."""
    if names := sorted(others):
        more = f", and {len(names) - 1} more" if len(names) > 1 else ""
        raise InputError(
            f"holds {names[0]!r}, which no {what} wrote{more}", path=folder,
            remedy="move that elsewhere, or name another folder",
        )  # fmt: skip
