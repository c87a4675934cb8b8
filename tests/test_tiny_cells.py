"""`tests/faults/tiny_cells.py`, which says what the harness takes for a cell."""

import pytest
import record
import tiny_cells
from click.testing import CliRunner
from tiny_cells import Took

FOUND = {
    "cells": 400, "graphs": 2, "trials_s": 0.1, "start": {"wall": 1.0, "processor": 1.0, "peak": 1 << 27},
    "run": {"wall": 3.0, "processor": 2.0, "peak": 1 << 28}, "harness_wall_ms": 5.0,
    "reading": {"report": {"wall": 2.0, "processor": 1.5, "peak": 1 << 28}},
}  # fmt: skip


@pytest.mark.parametrize(("ms", "code", "kept"), [(2.9, 0, True), (3.1, 1, False)])
def test_more_than_the_limit_is_a_broken_promise(ms, code, kept, tmp_path, monkeypatch):
    monkeypatch.setattr(tiny_cells, "measured", lambda cells, folder: {**FOUND, "harness_ms": ms})
    written = []
    monkeypatch.setattr(record, "write", lambda name, **fields: written.append((name, fields)))
    done = CliRunner().invoke(tiny_cells.main, ["--cells", "400", "--record", "cost"])
    assert (done.exit_code, [(name, fields["kept"]) for name, fields in written]) == (code, [("cost", kept)])
    assert f"400 cells on 2 graphs: {ms:.2f} ms" in done.output


@pytest.mark.processes
def test_the_cost_is_what_is_left_of_the_whole_command(tmp_path, monkeypatch):
    true = tiny_cells.timed

    def counted(*words, **env):
        if "--config" in words and words[-1].name == "run":
            true(*words, **env)
            return Took(9.0, 5.0, 1)
        return Took(1.0, 1.0, 1)  # a start, and what compiles

    monkeypatch.setattr(tiny_cells, "timed", counted)
    found = tiny_cells.measured(tiny_cells.EACH, tmp_path, short=True)
    assert (found["cells"], found["graphs"], found["reading"]) == (tiny_cells.EACH, 1, {})
    assert 0 < found["trials_s"] < 4
    assert found["harness_ms"] == pytest.approx(1000 * (5.0 - 1.0 - found["trials_s"]) / tiny_cells.EACH)
