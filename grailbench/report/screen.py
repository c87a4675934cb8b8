"""Where tables for people go."""

from __future__ import annotations

import sys

from rich.console import Console

_ANY_WIDTH = 10_000


def console() -> Console:
    """A rich console on stdout, plain when that is no terminal or NO_COLOR is set.

    Tables take the width they need: a pipe loses no column, and a narrow window folds lines but hides
    nothing.
    """
    return Console(file=sys.stdout, highlight=False, width=_ANY_WIDTH)
