"""Where not every answer was checked, whatever shows a time says so beside it: 'sampled'."""

import pytest
from outcomes import as_json, succeeds
from planned import planned
from stored import ENVIRONMENT, evaluation, store, trials

from grailbench.cli.progress import View
from grailbench.harness import folder as results
from grailbench.harness.cells import cells
from grailbench.harness.rows import FIELDS, sampled
from grailbench.report import document, figures
from grailbench.report.page import page as page_of
from grailbench.report.papers import computation
from grailbench.report.render.csv import csv

PEER = {"impl": "peer:pyreachability-grail", "search": None, "filters": None, "threads": 1}
SOME = {"verified": "sample of 1,000"}
#: mean times of the sampled cells, as tables show them
TIMES = ("77.38", "77.39", "33.16", "33.17")


def run_of(more, count=2):
    """Rows of a run: kegg, all of it checked, and human, a look-alike and another graph with `more`."""
    out, gpu = [], {"impl": "gpu", "search": None, "filters": None}
    for name, other in (("kegg", {}), ("human", more), ("human-like", more), ("mine", more)):
        ms = {"count": count, "planned": count} | ({"label": 33.0, "query": 77.0} if other is more else {})
        for config in ({}, {"dim": 1}, {"impl": "parallel", "threads": 2}, PEER, gpu | {"dim": 1}, gpu):
            out += trials(dataset=name, **config, **ms, **other)
    return out


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return store(tmp_path_factory.mktemp("sampled") / "run", run_of(SOME))


def unsaid(lines):
    """Lines with a sampled time that do not say so."""
    return [line for line in lines if any(time in line for time in TIMES) and "sampled" not in line]


@pytest.mark.parametrize(
    ("verified", "checked"),
    [
        ("sample of 1,000", "1,000"), ("search of 16", "16"), ("search", ""), ("sweep", ""), ("closure", ""),
        (None, ""),
        ("packed sweep, rows of it by searches", ""), ("certificate", ""),
    ],
)  # fmt: skip
def test_rows_of_this_and_of_older_versions_say_how_many_answers_were_checked(verified, checked):
    assert sampled(verified) == checked


def test_cell_is_sampled_when_a_row_is_and_says_its_trials_too():
    rows = trials(count=2) + [row | {"trial": row["trial"] + 2} for row in trials(count=2, **SOME)]
    (whole,) = cells(rows)
    assert (whole.status, whole.sound, whole.verified) == ("sampled", True, "sample of 1,000")
    assert whole.reason == "1,000 of 100,000 answers checked"
    (short,) = cells(trials(planned=9, **SOME))
    assert (short.status, short.reason) == ("sampled", "1,000 of 100,000 answers checked, 2 of 9 trials")


def test_every_line_with_a_time_says_sampled_in_markdown_csv_and_the_terminal(run, capsys):
    out, _ = succeeds(capsys, "report", run, "--details", "--all", "--out", run / "report")
    assert unsaid(out.splitlines()) == []
    tables = (run / "report" / "report.md").read_text()
    assert "6 ok, 18 sampled" in tables
    assert sum(f" {time} (sampled)" in tables for time in TIMES) == 2
    assert unsaid(tables.splitlines()) == []
    files = sorted((run / "report").glob("*.csv"))
    assert {"cells.csv", "rivals.csv", "table-2.4.csv", "table-6.1.csv"} <= {path.name for path in files}
    for path in files:
        assert unsaid(path.read_text().splitlines()) == [], path.name


def test_every_json_record_with_a_time_says_sampled(run, capsys):
    records = as_json(capsys, "report", run)
    with_times = [each for each in records if isinstance(each.get("measured"), float) and 20 < each["measured"] < 90]
    assert len(with_times) > 9
    assert {each["status"] for each in with_times} == {"sampled"}


def test_speed_ups_of_sampled_times_are_sampled(run):
    report = document.of_run(str(run))
    table = next(table for table in report.tables if table.name == "6.1")
    by_graph = {row.dataset: row.entries for row in table.rows}
    column = next(column for column in table.columns if column.startswith("sequential / "))
    assert (by_graph["kegg"][column].status, by_graph["human"][column].status) == ("ok", "sampled")


@pytest.mark.slow
def test_html_page_says_sampled_in_its_head_tables_and_captions(run):
    report = document.of_run(str(run))
    page = page_of(report)
    assert "6 ok, 18 sampled" in page
    assert page.count("(sampled)") > 9
    assert page.count("Sampled, not every answer checked: human,") >= 4
    assert "! sampled" in page.replace("! </span>", "! ") or 'class="status weak">! sampled' in page


@pytest.mark.slow
def test_every_figure_with_a_time_of_such_a_graph_names_it_and_no_other():
    made = figures.of_cells(cells(run_of(SOME)), [])
    noted = {name for name, figure in made.items() if "Sampled" in figure.note}
    assert {"phases", "edges", "speedup"} <= noted
    assert made["edges"].note.endswith("checked: human, human-like, mine.")
    balanced = trials(dataset="kegg", query_set="balanced-100000-s1", **SOME)
    made = figures.of_cells(cells(run_of({}) + balanced), [])
    assert made["edges"].note.endswith("checked: kegg (balanced-100000-s1).")
    exact = figures.of_cells(cells(run_of({})), [])
    assert not any("ampled" in figure.note for figure in exact.values())


@pytest.mark.slow
def test_drawn_bars_of_sampled_times_are_marked(run, tmp_path):
    path, *_ = figures.write(str(run), ["phases"], out=tmp_path, form="svg")
    drawn = path.read_text()
    assert drawn.count(" ms (sampled)") == 18
    assert "Sampled, not every answer checked" in drawn


def test_claims_say_how_many_of_their_ratios_are_sampled():
    rows = [row | (SOME if row["dataset"] == "dag_01-like" else {}) for row in evaluation()]
    found = computation.checks(cells(rows))
    counted = {(each.claim.what, each.claim.set): each.sampled for each in found if each.cells}
    assert counted["labeling", "home-made"] == 3
    assert counted["labeling", "benchmark"] == counted["memory", "home-made"] == 0
    lines = computation.claims_table(found).lines
    assert any("3 sampled" in line[-2] for line in lines)
    assert "sampled" in csv([computation.claims_table(found)]).splitlines()[0].split(",")


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_compared_times_say_sampled_where_a_side_is(tmp_path, form, capsys):
    exact = store(tmp_path / "exact", run_of({}, 10), ENVIRONMENT)
    some = store(tmp_path / "some", run_of(SOME, 10), ENVIRONMENT)
    out, _ = succeeds(capsys, "compare", exact, some, "--all", "--format", form)
    lines = [line for line in out.splitlines() if " query " in line or '"query"' in line]
    assert len(lines) >= 20
    assert {("human" in line or "mine" in line) == ("ms, sampled" in line) for line in lines} == {True}


def test_live_view_says_sampled(toys, diamond):
    block = {"datasets": [diamond], "implementations": ["toy:right"], "count": 50, "trials": 3}
    plan = planned(block)
    view, (cell,) = View(plan, 5), plan.cells
    view.step(cell, "trial 1 of 3", 1)
    base = dict.fromkeys(FIELDS) | cell.columns() | {"under": "", "status": "ok", "phase": "query", "ms": 8.0}
    view.rows([base | SOME])
    assert all("sampled" in line for line in view.lines()[1:])


@pytest.mark.slow
@pytest.mark.parametrize("asked", [("--sample", "500"), ("--oracle-seconds", "0")])
def test_run_that_checks_a_sample_says_so_in_rows_lines_and_table(toys, large, tmp_path, asked, capsys):
    words = ["--dataset", large, "--impl", "toy:chains", "--count", 3000, "--trials", 1, "--warmup", 0]
    words += ["--seed", 7 + len(asked[0])]
    out, err = succeeds(capsys, "run", *words, *asked, "--out", tmp_path / "run")
    rows, _ = results.read_rows(tmp_path / "run")
    assert all(sampled(row["verified"]) for row in rows)
    assert "their times are sampled" in err
    line = next(line for line in out.splitlines() if "toy:chains" in line)
    assert line.rstrip().endswith("sampled [1]")
    assert out.count("answers checked") == 1
    out, err = succeeds(capsys, "run", *words, "--out", tmp_path / "again")
    assert "verified by sweep" in err
    assert "sampled" not in out + err
