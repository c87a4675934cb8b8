"""`grailbench plot`: files that are whole, the same each time, and honest about what is missing."""

import csv

import pytest
from outcomes import as_json, succeeds, tells
from stored import everything, lost, store, trials, unguided

from grailbench.report import figures
from grailbench.report.captions import CAPTIONS


@pytest.fixture
def run(tmp_path):
    return store(tmp_path / "run", everything())


@pytest.mark.slow
def test_every_figure_is_written_as_svg_with_its_data(capsys, run):
    out, _ = succeeds(capsys, "plot", run, "--all", "--format", "svg")
    names = {path.name for path in (run / "figures").iterdir()}
    others = ("computation", "closure", "traversal", "reading", "tradeoff-memory", "tradeoff-energy")
    usual = [name for name in CAPTIONS if not name.startswith(others)]
    assert {f"{name}.{kind}" for name in usual for kind in ("svg", "csv")} <= names
    assert set(out.split()) == {str(run / "figures" / name) for name in names}
    for path in (run / "figures").iterdir():
        start = path.read_bytes()[:200]
        assert {".svg": b"<?xml", ".csv": b""}[path.suffix] in start


@pytest.mark.slow
def test_four_figures_are_drawn_unless_some_are_named_also_as_pdf(capsys, run, tmp_path):
    paths = succeeds(capsys, "plot", run, "--format", "pdf")[0].split()
    drawn = [path for path in (run / "figures").glob("*.pdf") if path.read_bytes().startswith(b"%PDF")]
    assert {path.stem.removesuffix("-2") for path in drawn} == {"speedup", "edges", "tradeoff-build", "printed"}
    assert len(paths) == len(drawn) + 4
    succeeds(capsys, "plot", run, "--format", "pdf", "--out", tmp_path / "again")
    assert all((tmp_path / "again" / path.name).read_bytes() == path.read_bytes() for path in drawn)


@pytest.mark.parametrize(("run", "is_drawn"), [("h200/traversal", False), ("h200/billion", True)])
def test_every_trial_is_drawn_of_a_run_with_less_than_four_other_figures(monkeypatch, tmp_path, run, is_drawn):
    monkeypatch.setattr(figures.draw, "save", lambda drawn, *_: [each.name for each in drawn])
    names = figures.write(run, out=tmp_path)
    assert (figures.TRIALS in names) == is_drawn
    assert len(names) == figures.FEW or is_drawn


@pytest.mark.slow
def test_data_beside_a_figure_are_its_marks(capsys, run, tmp_path):
    paths = {each["path"] for each in as_json(capsys, "plot", run, "--figure", "edges", "--out", tmp_path / "o")}
    assert {str(tmp_path / "o" / name) for name in ("edges.svg", "edges.png", "edges.csv")} <= paths
    rows = list(csv.DictReader((tmp_path / "o" / "edges.csv").open()))
    kegg = next(r for r in rows if (r["dataset"], r["config"], r["phase"]) == ("kegg", "dfs", "query"))
    assert (float(kegg["median"]), int(kegg["edges"])) == (pytest.approx(40.2), 5576)


@pytest.mark.parametrize(
    ("rows", "words", "says"),
    [
        (lost("failed", "boom"), (), "1 failed"),
        (unguided(), ("--figure", "counters"), "counters"),
        (trials(dataset="mine"), ("--figure", "printed"), "printed"),
    ],
)
def test_nothing_to_draw_exits_with_3_and_writes_nothing(capsys, tmp_path, rows, words, says):
    run = store(tmp_path / "run", rows)
    tells(capsys, 3, says, "plot", run, *words)
    assert not (run / "figures").exists()
