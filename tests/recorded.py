"""The recorded H200 runs and the page on them, for the tests that hold one against the other."""

from functools import cache
from pathlib import Path

import pandas

from grailbench.runs.cells import load

FOLDER = Path(__file__).parents[1] / "results" / "baselines" / "h200"
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")


@cache
def rows(name):
    """The rows that count of one run; not to be changed."""
    return pandas.DataFrame(load(FOLDER / name).rows)


def short(value):
    """Three significant digits, at most three decimals, thousands with a comma."""
    digits = next((places for least, places in ((1000, 0), (100, 0), (10, 1), (1, 2)) if value >= least), 3)
    return f"{value:,.{digits}f}"
