"""Runs in a program: data frames, figures, comparison, and what a notebook shows of them."""

import ast
import json
import sys
import types

import numpy as np
import pandas as pd
import pytest
from commands import ROOT
from compared import cell, steady, writer

import grailbench as gb
from grailbench.api import notebook

NOTEBOOK = ROOT / "docs" / "results.ipynb"


@pytest.fixture
def stored(tmp_path):
    return writer(tmp_path)


def test_cells_trials_and_environment_have_what_was_measured(stored):
    run = gb.read_run(stored("a", cell(ms=steady(2.0)), cell("dfs", ms=steady(1.0))))
    medians = run.cells[run.cells.phase == "query"].set_index("impl")["median"]
    assert medians["dfs"] * 2 == pytest.approx(medians["sequential"], rel=0.01)
    times = run.trials.query("phase == 'query' and impl == 'dfs'").ms
    assert np.median(times) == medians["dfs"]
    assert len(times) == run.cells.query("phase == 'query' and impl == 'dfs'").trials.item()
    assert run.environment.shape[0] == 1
    assert run.environment.cores.item() == 2


def test_a_slower_run_is_a_regression_of_the_earlier_one(stored):
    base = gb.read_run(stored("a", cell(ms=steady(2.0))))
    new = gb.read_run(stored("b", cell(ms=steady(6.0))))
    found = new.compare(base)
    slower = found.query("kind == 'time' and what == 'query'")
    assert slower.verdict.tolist() == ["regression"]
    assert slower.ratio.item() == pytest.approx(3.0, rel=0.02)
    assert slower.low.item() <= slower.ratio.item() <= slower.high.item()
    pd.testing.assert_frame_equal(new.compare(base.folder), found)


def test_a_figure_is_one_of_matplotlib_and_an_unknown_one_names_those_there_are(stored, tmp_path):
    run = gb.read_run(stored("a", cell(ms=steady(2.0)), cell("dfs", ms=steady(1.0))))
    drawn = run.figure("strips")
    drawn.savefig(tmp_path / "strips.pdf")
    assert (tmp_path / "strips.pdf").read_bytes().startswith(b"%PDF")
    assert drawn._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(gb.InputError, match="strips"):
        run.figure("nothing")
    with pytest.raises(gb.InputError, match="page 9"):
        run.figure("strips", page=9)


def test_a_run_is_measured_and_its_folder_can_be_read_again(tmp_path):
    run = gb.run("path-50", ["dfs", "sequential"], trials=3, count=100, out=tmp_path / "run")
    assert set(run.cells.status) == {"ok"}
    assert gb.read_run(tmp_path / "run").trials.equals(run.trials)


@pytest.mark.parametrize(
    ("how", "says"),
    [({}, "no graph is named"), ({"graphs": "kegg", "trails": 3}, "'trails'"), ({"graphs": [0.5]}, "names are"),
     ({"graphs": "no-such"}, "no-such"), ({"config": ""}, "config"), ({"graphs": "kegg", "progress": 1}, "progress")],
)  # fmt: skip
def test_what_run_does_not_understand_is_one_clear_error(how, says):
    with pytest.raises(gb.InputError, match=says):
        gb.run(**how)


@pytest.mark.parametrize("wrong", ["", None, 3, "no-such-run", b"run", object()])
def test_what_is_no_run_is_one_clear_error(wrong):
    with pytest.raises(gb.InputError):
        gb.read_run(wrong)


def test_the_library_lists_its_own_names_alone():
    assert dir(gb) == sorted(gb.__all__)
    assert {"run", "read_run", "Run"} <= set(dir(gb))


def test_names_in_html_are_text(stored):
    graph = gb.Graph.from_edges(["<script>"], ["b"])
    shown = [graph._repr_html_(), gb.build(graph)._repr_html_()]
    assert "&lt;script&gt;" in shown[0]
    assert not any("<script" in each for each in shown)
    html = gb.read_run(stored("a", cell(ms=steady(2.0)), cell("dfs", ms=steady(1.0))))._repr_html_()
    assert "2 cells: 2 ok" in html


def test_a_run_draws_its_progress_in_a_notebook(monkeypatch, tmp_path):
    drawn = []
    handle = types.SimpleNamespace(update=lambda html: drawn.append(html))
    shell = type("ZMQInteractiveShell", (), {})()
    kernel, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    kernel.get_ipython = lambda: shell
    display.HTML = str
    display.display = lambda html, display_id: (drawn.append(html), handle)[1]
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    gb.run("path-50", "dfs", trials=3, count=100, out=tmp_path / "run")
    assert drawn[-1].startswith('<progress value="5" max="5"')
    drawn.clear()
    gb.run("path-50", "dfs", trials=3, count=100, out=tmp_path / "other", progress=False)
    assert drawn == []


def test_outside_a_notebook_nothing_is_drawn():
    assert not notebook.here()


@pytest.mark.slow
def test_the_notebook_of_the_docs_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = {}
    for each in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if each["cell_type"] != "code":
            continue
        tree = ast.parse("".join(each["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, NOTEBOOK.name, "exec"), known)
        if last is not None:
            found = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), known)
            shown = [draw() for name in ("_repr_html_", "_repr_png_") if (draw := getattr(found, name, None))]
            assert found is None or any(shown)
    assert set(known["run"].cells.status) == {"ok"}
