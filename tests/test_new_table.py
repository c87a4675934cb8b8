"""A table of a report is one module of `report.papers`: a made-up one is shown and written."""

import pytest
from outcomes import as_json, succeeds
from stored import row, store, trials

from grailbench.report import papers
from grailbench.report.table import Column, tabulate

SOURCE = """
from grailbench.report.measured import STATUS
from grailbench.report.papers import Part
from grailbench.report.table import Column, tabulate


def _mine(report):
    columns = [
        Column("graph", lambda cell: cell.dataset, key=True),
        Column("n", lambda cell: cell.trials),
        STATUS,
    ]
    records = [{"dataset": cell.dataset} for cell in report.run.cells]
    return [tabulate("mine", "A table of mine", columns, report.run.cells, records=records)]


PARTS = (Part("mine", _mine, (PROBLEM,)),)
"""


@pytest.fixture(params=["reachability", "closure"])
def folder(request, tmp_path, monkeypatch):
    """The folder of a run of a problem for which a table was added."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / f"of_{request.param}.py").write_text(SOURCE.replace("PROBLEM", repr(request.param)))
    monkeypatch.setattr(papers, "__path__", [*papers.__path__, str(tmp_path / "papers")])
    papers.parts.cache_clear()
    closed = {"problem": "closure", "dim": None, "search": None, "filters": None, "order": None, "phase": "solve"}
    rows = trials() if request.param == "reachability" else [row(trial=n, ms=20.0, **closed) for n in (0, 1)]
    yield store(tmp_path / "run", rows)
    monkeypatch.undo()
    papers.parts.cache_clear()


@pytest.mark.slow
def test_it_is_in_the_report(folder, capfd, tmp_path):
    assert "A table of mine" in succeeds(capfd, "report", folder, "--html", "--out", tmp_path / "out")[0]
    assert "A table of mine" in (tmp_path / "out" / "report.md").read_text()
    assert "A table of mine" in (tmp_path / "out" / "report.html").read_text()
    assert {"table": "mine", "dataset": "kegg"} in as_json(capfd, "report", folder)


def test_columns_have_text_values_and_notes_and_are_left_out_where_they_say_nothing():
    columns = [
        Column("name", lambda thing: thing[0], key=True),
        Column("size", lambda thing: thing[1], "{:,}".format, none="-"),
        Column("kind", lambda thing: "real", usual=("real",)),
        Column("state", lambda thing: "ok", notes=lambda thing: [f"of {thing[0]}"] if thing[1] is None else []),
    ]
    found = tabulate("t", "T", columns, [("a", 1234), ("b", None)], notes=["first"], after=["last"])
    assert found.headers == ["name", "size", "state"]
    assert found.lines == [["a", "1,234", "ok"], ["b", "-", "ok [1]"]]
    assert found.values == [["a", 1234, "ok"], ["b", None, "ok"]]
    assert found.notes == ["first", "[1] of b", "last"]
    assert (found.right, found.keys) == ({"size", "state"}, 1)
