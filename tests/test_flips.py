"""Index files with a changed byte, of every implementation that saves (`tests/faults/flips.py`)."""

from __future__ import annotations

import os
import signal

import flips
import pytest

from grailbench.graph import mapped


@pytest.mark.slow
def test_a_changed_byte_is_refused_or_does_no_harm(tmp_path):
    """A changed byte in the file of an index without arrays of its own crashed the process."""
    names = flips.saving()
    assert {"core", "dfs", "sequential", "sweep"} <= {*names}
    for name in names:
        refused, right, wrong = flips.trials(1, 30, flips.saved(name, tmp_path), tmp_path)
        assert (wrong, refused + right) == ([], 30)
        assert refused > 5


@pytest.mark.slow
def test_the_program_sees_a_wrong_answer_and_a_crash(tmp_path, monkeypatch):
    files = flips.saved("bfs", tmp_path)
    monkeypatch.setattr(mapped.Check, "_compare", lambda self: None)
    monkeypatch.setattr(flips, "QUESTIONS", {"ids": flips.QUESTIONS["ids"], "nbytes": flips.QUESTIONS["nbytes"]})
    assert any("ids: another answer" in line for line in flips.trials(1, 60, files, tmp_path)[2])

    def crash(seed, number, *given):
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return True, []

    monkeypatch.setattr(flips, "trial", crash)
    assert flips.trials(1, 5, files, tmp_path) == (4, 0, ["bfs, seed 1, flip 3: the process ended: SIGKILL"])
