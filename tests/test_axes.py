"""An axis is one entry: it is planned, keyed, labelled, shown and written from there."""

import csv
import json
import os

import pytest
from commands import ROOT, call, in_python
from stored import trials

from grailbench.harness import axes
from grailbench.harness.axes import label
from grailbench.harness.cells import cells
from grailbench.problems.reachability.index import CHOICES

ENTRY = """
    Axis("width", "width", "Words a vertex", 64, "W", least=1, words=lambda w: f"{w} wide", unsaid=(None, 64),
         hidden=(None, 64), late=True),
)  # fmt: skip
"""
#: grailbench in a process whose table of axes has one entry more, with an implementation that obeys it
MADE_UP = f"""
import dataclasses, sys
from types import ModuleType

import grailbench.harness as package

source = open({axes.__file__!r}).read().replace("\\n)  # fmt: skip\\n", {ENTRY!r}, 1)
module = package.axes = sys.modules["grailbench.harness.axes"] = ModuleType("grailbench.harness.axes")
exec(source, module.__dict__)

import toys
from grailbench.cli.main import main
from grailbench.problems.reachability import index, problem

@dataclasses.dataclass(frozen=True)
class Params(problem.Params):
    width: int = 64

problem.Params = Params
index.register(toys._toy("wide", toys.Toy, ("width",)))
sys.stderr = sys.stdout
for words in COMMANDS:
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, words
    print("\\n---")
"""


@pytest.mark.slow
@pytest.mark.processes
def test_a_made_up_axis_of_one_entry_is_in_plan_keys_labels_summary_tables_and_csv(diamond, tmp_path):
    run, report = tmp_path / "run", tmp_path / "report"
    said = ["--dataset", diamond, "--impl", "toy:wide", "--width", "8", "--width", "64", "--count", "50"]
    commands = [["plan", *said], ["plan", "--json", *said], ["run", "--trials", "2", "--out", run, *said],
                ["report", run, "--out", report], ["compare", run, run, "--all", "--json"]]  # fmt: skip
    words = [[str(word) for word in command] for command in commands]
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    code, out = in_python(f"COMMANDS = {words!r}\n{MADE_UP}", PYTHONPATH=path)
    assert code == 0, out
    plan, planned, summary, shown, compared = (part.splitlines() for part in out.split("\n---\n")[:5])
    assert any("8 wide" in line for line in plan)
    assert [json.loads(line)["width"] for line in planned if '"impl"' in line] == [8, 64]
    assert any({"dataset", "width", "trials"} <= set(line.split()) for line in summary)
    assert any({"graph", "width", "trials"} <= set(line.split()) for line in shown)
    labels = {json.loads(line).get("label") for line in compared if line.startswith("{")}
    assert labels == {"toy:wide 8 wide", "toy:wide", None}
    rows = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert len({(row["key"], row["width"]) for row in rows}) == 2
    assert {line["width"] for line in csv.DictReader((report / "cells.csv").open())} == {"8", "64"}


CHOSEN = {"dim": 2, "search": "dfs", "filters": "level,tree", "order": "lexicographic", "threads": 1, "devices": 2}


def test_a_configuration_is_put_into_words_in_one_place():
    assert label("x", CHOSEN) == "x d=2 dfs level,tree lexicographic 1 thread 2 GPUs"
    assert label("x", CHOSEN, long=True) == "x d=2 dfs filters level,tree lexicographic order 1 thread 2 GPUs"
    assert label("x", CHOSEN, between=", ") == "x d=2 dfs level,tree lexicographic, 1 thread, 2 GPUs"
    assert label("x", {"threads": 2}, before="bfs", after="mine") == "bfs x 2 threads mine"
    assert label("x", {"order": "random", "filters": "none", "devices": 1, "dim": None, "memory": 0}) == "x"
    assert label("core", {"threads": 1, "memory": 1 << 20}) == "core 1 thread memory 1,048,576"


def test_names_that_options_offer_are_those_that_reachability_takes():
    assert {axis.name: axis.values for axis in axes.AXES if axis.values} == CHOICES


def test_run_help_says_every_axis_and_its_usual_value(capsys):
    _, out, _ = call(capsys, "run", "--help")
    said = " ".join(out.split())
    assert all(f"--{axis.name}" in said and f"{axis.help}; may repeat. [default: {axis.usual}]" in said
               for axis in axes.AXES)  # fmt: skip


def cell(values):
    """A cell of implementation x with these values by axis."""
    (found,) = cells(trials(impl="x", **values)[:1])
    return found
