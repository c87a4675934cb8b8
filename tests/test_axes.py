"""An axis is one entry: it is planned, keyed, labelled, shown and written from there."""

from commands import call

from grailbench.harness import axes
from grailbench.harness.axes import label
from grailbench.problems.reachability.index import CHOICES

CHOSEN = {"dim": 2, "search": "dfs", "filters": "level,tree", "order": "lexicographic", "threads": 1, "devices": 2}


def test_a_configuration_is_put_into_words_in_one_place():
    assert label("x", CHOSEN) == "x d=2 dfs level,tree lexicographic 1 thread 2 GPUs"
    assert label("x", CHOSEN, long=True) == "x d=2 dfs filters level,tree lexicographic order 1 thread 2 GPUs"
    assert label("x", CHOSEN, between=", ") == "x d=2 dfs level,tree lexicographic, 1 thread, 2 GPUs"
    assert label("x", {"threads": 2}, before="bfs", after="mine") == "bfs x 2 threads mine"
    assert label("x", {"order": "random", "filters": "none", "devices": 1, "dim": None, "memory": 0}) == "x"
    assert label("core", {"threads": 1, "memory": 1 << 20}) == "core 1 thread memory 1,048,576"


def test_options_offer_what_reachability_takes_and_run_help_says_every_axis_and_its_usual_value(capsys):
    assert {axis.name: axis.values for axis in axes.AXES if axis.values} == CHOICES
    _, out, _ = call(capsys, "run", "--help")
    said = " ".join(out.split())
    assert all(f"--{axis.name}" in said and f"{axis.help}; may repeat. [default: {axis.usual}]" in said
               for axis in axes.AXES)  # fmt: skip
