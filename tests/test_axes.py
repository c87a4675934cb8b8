"""An axis is one entry: it is planned, keyed, labelled, shown and written from there."""

import csv
import json
import os

import pytest
from commands import ROOT, call, in_python

from grailbench.bench.plan import Config
from grailbench.runs import axes
from grailbench.runs.axes import label

ENTRY = """
    Axis("width", "width", "Words a vertex", 64, "W", least=1, words=lambda w: f"{w} wide", unsaid=(None, 64),
         hidden=(None, 64), late=True),
)  # fmt: skip
"""
#: grailbench in a process whose table of axes has one entry more, with an implementation that obeys it
MADE_UP = f"""
import dataclasses, sys
from types import ModuleType

import grailbench.runs as package

source = open({axes.__file__!r}).read().replace("\\n)  # fmt: skip\\n", {ENTRY!r}, 1)
module = package.axes = sys.modules["grailbench.runs.axes"] = ModuleType("grailbench.runs.axes")
exec(source, module.__dict__)

import toys
from grailbench.cli.main import main
from grailbench.reachability import index, problem

@dataclasses.dataclass(frozen=True)
class Params(problem.Params):
    width: int = 64

problem.Params = Params
index.register(toys._toy("wide", toys.Toy, ("width",)))
main(sys.argv[1:])
"""


@pytest.fixture
def made_up(diamond):
    """Runs `grailbench WORDS` with the axis; returns what it printed."""

    def run(command, *words):
        said = ["--dataset", diamond, "--impl", "toy:wide", "--width", "8", "--width", "64", "--count", "50"]
        words = [command, *map(str, words), *(said if command in ("run", "plan") else [])]
        code, out = in_python(
            f"import sys; sys.argv[1:] = {words!r}\n{MADE_UP}",
            PYTHONPATH=os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
        )
        assert code == 0, out
        return out

    return run


@pytest.mark.processes
def test_a_made_up_axis_of_one_entry_is_in_plan_keys_labels_summary_tables_and_csv(made_up, tmp_path):
    assert "8 wide" in made_up("plan")
    planned = [json.loads(line) for line in made_up("plan", "--json").splitlines() if line.startswith("{")]
    assert [each["width"] for each in planned if "dataset" in each] == [8, 64]
    summary = made_up("run", "--trials", "2", "--out", tmp_path / "run")
    (heads,) = [line.split() for line in summary.splitlines() if "dataset" in line and "trials" in line]
    assert "width" in heads
    rows = [json.loads(line) for line in (tmp_path / "run" / "trials.jsonl").read_text().splitlines()]
    assert {row["width"] for row in rows} == {8, 64}
    assert len({row["key"] for row in rows}) == 2
    assert "width" in made_up("report", tmp_path / "run", "--out", tmp_path / "report")
    cells = list(csv.DictReader((tmp_path / "report" / "cells.csv").open()))
    assert {line["width"] for line in cells} == {"8", "64"}
    compared = made_up("compare", tmp_path / "run", tmp_path / "run", "--all", "--json")
    left_out = [json.loads(line) for line in compared.splitlines()]
    assert {each["label"] for each in left_out if "label" in each} == {"toy:wide 8 wide", "toy:wide"}


CHOSEN = {"dim": 2, "search": "dfs", "filters": "level,tree", "order": "lexicographic", "threads": 1, "devices": 2}


def test_a_configuration_is_put_into_words_in_one_place():
    assert label("x", CHOSEN) == "x d=2 dfs level,tree lexicographic 1 thread 2 GPUs"
    assert label("x", CHOSEN, long=True) == "x d=2 dfs filters level,tree lexicographic order 1 thread 2 GPUs"
    assert label("x", CHOSEN, between=", ") == "x d=2 dfs level,tree lexicographic, 1 thread, 2 GPUs"
    assert label("x", {"threads": 2}, before="bfs", after="mine") == "bfs x 2 threads mine"
    assert label("x", {"order": "random", "filters": "none", "devices": 1, "dim": None}) == "x"


def test_every_axis_is_a_field_of_plans_with_its_usual_value():
    block = {"datasets": ["kegg"], "implementations": ["parallel"]}
    experiment = Config.model_validate({"experiment": [block]}).experiment[0]
    assert {axis.name: getattr(experiment, axis.name) for axis in axes.AXES} == {a.name: [a.usual] for a in axes.AXES}


def test_run_help_says_every_axis_and_its_usual_value(capsys):
    _, out, _ = call(capsys, "run", "--help")
    said = " ".join(out.split())
    assert all(f"--{axis.name}" in said and f"{axis.help}; may repeat. [default: {axis.usual}]" in said
               for axis in axes.AXES)  # fmt: skip
