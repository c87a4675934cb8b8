"""What a run shows while it goes: a view in a terminal, plain lines elsewhere, rows for machines."""

import io
import json
import re

import pytest
from planned import planned
from rich.console import Console

from grailbench.cli.plan import plan_table
from grailbench.cli.progress import RunView, View
from grailbench.harness import environment
from grailbench.harness.rows import FIELDS
from grailbench.harness.runner import run, verify


@pytest.fixture
def plan(toys, diamond):
    """Two cells of three trials on the diamond."""
    block = {"datasets": [diamond], "implementations": ["toy:right", "toy:other"], "count": 50, "trials": 3}
    return planned(block)


def view_of(plan):
    return View(plan, sum(1 + cell.warmup + cell.trials for cell in plan.cells))


def trial(cell, label, query):
    base = dict.fromkeys(FIELDS) | cell.columns() | {"under": "", "status": "ok"}
    return [base | {"phase": "label", "ms": label}, base | {"phase": "query", "ms": query}]


def test_view_tells_cell_trial_last_times_and_the_best_so_far(plan):
    view = view_of(plan)
    one, other = plan.cells
    assert view.lines() == []
    view.step(one, "trial 1 of 3", 1)
    view.rows(trial(one, 0.5, 8.0))
    view.step(other, "trial 1 of 3", 1)
    view.rows(trial(other, 0.25, 2.0))
    view.step(one, "trial 2 of 3", 1)
    view.rows(trial(one, 0.5, 9.0))
    view.step(one, "trial 3 of 3", 0)
    assert view.lines() == [
        f"diamond: {one.label()}",
        "trial 3 of 3; last label 0.5 ms, query 9 ms",
        f"best query so far on diamond: 2 ms, {other.label()}",
    ]


def test_steps_of_cells_that_were_done_before_or_are_given_up_are_over(plan):
    view = view_of(plan)
    one, other = plan.cells  # verified, warmed up, three trials each
    view.step(one, "done before", 5)
    view.step(other, "verified", 1)
    view.rows([dict.fromkeys(FIELDS) | other.columns() | {"status": "wrong"}])
    assert (view.done, view.steps) == (10, 10)


# ------------------------------------------------------------------ on a screen


def shown(plan, folder, action=run, **console):
    """All that a run writes to a screen."""
    out = io.StringIO()
    where = {} if action is verify else {"out": folder / "run"}
    with RunView(console=Console(file=out, width=100, highlight=False, **console)) as screen:
        action(plan, screen, fetch=False, **where)
        if screen.live is not None:
            screen.live.refresh()
    return out.getvalue()


@pytest.mark.slow
def test_terminal_shows_the_view_and_takes_it_away_at_the_end(plan, tmp_path):
    text = shown(plan, tmp_path, force_terminal=True)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    assert "diamond: toy:" in plain
    assert "trial 3 of 3; last label" in plain
    assert "best query so far on diamond" in plain
    assert "10/10" in plain
    assert re.search(r"10/10 0:00:\d\d 0:00:00", plain)
    assert text.rstrip().endswith("\x1b[2K")


@pytest.mark.slow
def test_elsewhere_there_are_plain_lines_only(plan, tmp_path):
    text = shown(plan, tmp_path)
    assert "\x1b" not in text
    assert "\r" not in text
    assert "best query" not in text
    assert "2 cells verified by closure" in text


def test_more_threads_than_cores_are_said_before_anything_is_timed(diamond, tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "usable_cores", lambda: 2)
    block = {"datasets": [diamond], "implementations": ["parallel"], "threads": [2, 64], "count": 50, "trials": 1}
    plan = planned(block)
    text = shown(plan, tmp_path)
    assert "64 threads on 2 cores" in text
    assert text.index("64 threads on 2 cores") < text.index("verified by")
    assert "64 threads on 2 cores" in shown(plan, tmp_path, verify)
    assert ["2 cores here" in line[-1] for line in plan_table(plan, []).lines] == [False, True]


@pytest.mark.slow
def test_json_rows_on_a_terminal_have_it_for_themselves(plan, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    out = io.StringIO()
    with RunView(as_json=True, console=Console(file=out, force_terminal=True, width=100)) as screen:
        run(plan, screen, fetch=False, out=tmp_path / "run")
        assert screen.live is None
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 2 * 3 * 3
