"""Where tables for people go."""

from __future__ import annotations

import sys

from rich.console import Console

_LEAST_WIDTH = 132


def console() -> Console:
    """A rich console on stdout, plain when that is no terminal or NO_COLOR is set.

    It is never narrower than the widest table, so that a pipe or a narrow window loses no column.
    """
    screen = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    if screen.width < _LEAST_WIDTH:
        screen.width = _LEAST_WIDTH
    return screen
