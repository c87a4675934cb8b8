"""A problem is one line in `contract.PROBLEMS`: a made-up one is planned, run, verified, reported and compared."""

import degrees
import pytest
from commands import call
from outcomes import as_json, succeeds, tells

from grailbench.cli import options as _options  # noqa: F401 - whose help names the problems as it is imported
from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.problems import contract


@pytest.fixture
def degree(monkeypatch):
    """The problem 'degree', registered for one test."""
    monkeypatch.setitem(contract.PROBLEMS, "degree", ("degrees", "Degree"))
    monkeypatch.setattr(contract, "_registry", {**contract._registry})
    degrees.register_all()


@pytest.fixture
def folder(degree, diamond, tmp_path, capfd):
    """The folder of a run of it: one implementation is right, one is wrong."""
    words = ["--problem", "degree", "--impl", "bincount", "--impl", "guess", "--dataset", diamond, "--trials", 5]
    graph = ["--out", tmp_path / "run", "--no-fetch"]
    code, _, err = call(capfd, "run", *words, *graph)
    assert code == (1 if "WRONG" in err else 0), err
    return tmp_path / "run"


def test_a_new_problem_is_planned_with_its_usual_implementation(degree, diamond, capfd):
    (cell,) = as_json(capfd, "plan", "--problem", "degree", "--dataset", diamond)
    assert (cell["problem"], cell["impl"], cell["query_set"]) == ("degree", "bincount", "all")


def test_its_trials_end_with_its_last_phase(folder):
    rows, damage = results.read_rows(folder)
    ends = [row for row in rows if row["impl"] == "bincount"]
    assert [(row["phase"], row["trial"], row["positives"]) for row in ends] == [("count", n, 2) for n in range(5)]
    assert damage == results.Damage()


def test_it_is_reported(folder, capfd, tmp_path):
    assert "bincount" in succeeds(capfd, "report", folder, "--out", tmp_path / "report")[0]
    assert {"bincount", "guess"} <= {each.get("impl") for each in as_json(capfd, "report", folder)}


def test_it_is_compared(folder, capfd):
    assert "degree bincount" in succeeds(capfd, "compare", folder, folder, "--all")[0]


def test_the_row_of_a_problem_that_is_not_known_is_one_error_with_file_and_line(folder, monkeypatch, capfd):
    monkeypatch.delitem(contract.PROBLEMS, "degree")
    with pytest.raises(InputError, match=r"trials\.jsonl, line 1: is a row of problem 'degree', which this grailbench"):
        results.read_rows(folder)
    tells(capfd, 2, "read it with the one that measured it", "report", folder)
