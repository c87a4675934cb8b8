"""The command line as a user meets it: help, exit codes, machine-readable output."""

import json

import pytest
from click.testing import CliRunner
from commands import call, heavy_imports
from stored import row, store, trials

from grailbench import __version__
from grailbench.cli.generate import account
from grailbench.cli.main import COMMANDS, cli
from grailbench.data.registry import registry
from grailbench.harness import folder as results
from grailbench.report import document

# ------------------------------------------------------------------ help


def test_help_lists_every_command_and_the_exit_codes_also_without_a_command(capsys):
    code, out, _ = shown = call(capsys, "--help")
    assert code == 0
    assert all(f"  {name} " in out for name in COMMANDS)
    assert "3 nothing was measured" in out
    assert call(capsys) == shown
    assert __version__ in call(capsys, "--version")[1]


def test_help_starts_without_the_heavy_libraries():
    assert heavy_imports("--help")[1] == set()


# ------------------------------------------------------------------ exit codes


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",), ("list", "nonsense"), ("list", "--nonsense"), ("info", "nonsense"),
        ("plan", "--trials", "nonsense"),
    ],
)  # fmt: skip
def test_usage_errors_exit_with_2_and_one_line_that_begins_with_the_same_word(capsys, words):
    code, out, err = call(capsys, *words)
    assert (code, "nonsense" in err, "Traceback" in out + err) == (2, True, False)
    assert [line.split()[0] for line in err.splitlines() if line.lower().startswith("error")] == ["error:"]
    assert words[0] in ("nonsense", "info") or f"Try 'grailbench {words[0]} -h' for help.\n\nerror: " in err


# ------------------------------------------------------------------ list and info


def records(capsys, *words):
    """The records that a command prints."""
    code, out, err = call(capsys, *words, "--json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_list_gives_every_graph_with_its_published_counts_and_every_implementation(capsys):
    found = {record["name"]: record for record in records(capsys, "list", "datasets")}
    assert set(registry()) <= set(found)
    kegg = found["kegg"]
    assert (kegg["published_vertices"], kegg["published_edges"], kegg["set"]) == (3618, 5576, "small-sparse")
    listed = records(capsys, "list", "implementations")
    own = {record["name"]: record for record in listed if record["problem"] == "reachability"}
    assert {"dfs", "bfs", "sequential", "parallel"} <= set(own)
    assert {"bfs", "sssp", "apsp"} <= {record["problem"] for record in listed}
    assert (own["sequential"]["needs"], own["peer:pyreachability-grail"]["needs"]) == ([], ["peers"])
    assert all(record["source"] for record in own.values())
    assert {record["name"]: record for record in records(capsys, "list", "configs")}["quickstart"]["description"]
    assert "25,037,601" in call(capsys, "list", "datasets")[1]
    recorded = {record["name"]: record["cells"] for record in records(capsys, "list", "runs") if record["recorded"]}
    assert recorded["h200/thesis-gpu"] > 100


def test_info_is_of_an_alias_a_graph_with_cycles_the_machine_and_all_of_one_name(capsys, diamond):
    (record,) = records(capsys, "info", "uniprot150")
    assert (record["kind"], record["name"], record["published_edges"]) == ("dataset", "uniprotenc_150", 46687655)
    (record,) = records(capsys, "info", diamond)
    assert (record["file_vertices"], record["file_edges"]) == (7, 7)
    assert record["vertices"] == 7  # two in one component, and the super-root
    (record,) = records(capsys, "info")
    assert (record["kind"], record["cores"] >= 1, "numpy" in record["packages"]) == ("machine", True, True)
    assert [record["problem"] for record in records(capsys, "info", "floyd-warshall")] == ["apsp", "closure"]
    assert [record["kind"] for record in records(capsys, "info", "dask")] == ["implementation", "config"]
    for name in ("machine", "kegg", "dask"):
        code, out, _ = call(capsys, "info", name)
        assert (code, len(out.splitlines()) >= 4) == (0, True)
    assert out.count("kind ") == 2


def test_a_run_names_its_folder_from_where_it_was_called(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("run", "--problem", "closure", "--dataset", "path-4", "--impl", "condense-bits", "--trials", "1")
    code, out, err = call(capsys, *words, "--out", str(tmp_path / "mine"))
    assert code == 0
    assert "\nrows: mine\n" in out
    assert "rows go to mine\n" in err


@pytest.mark.parametrize(("name", "super_root"), [("kegg-like", True), ("dag_01-like", False)])
def test_generate_says_what_its_two_counts_count(name, super_root):
    vertices, edges = (3618, 5576) if super_root else (250_000, 12_518_774)
    record = {"name": name, "path": "x.npz", "vertices": 3617 if super_root else vertices, "seconds": 0.1,
              "edges": 4395 if super_root else edges, "basis": "measured"}  # fmt: skip
    rows = [{"quantity": q, "wanted": n, "generated": n, "relative": 0.0} for q, n in
            (("vertices", vertices), ("edges", edges))]  # fmt: skip
    table, *lines, path = account(record | {"differences": rows})
    assert table.title == f"{name}: {record['vertices']:,} vertices, {record['edges']:,} edges in its file, 0.10 s"
    assert any("with the super-root and its 1,181 edges" in line for line in lines) == super_root
    assert path == "x.npz"


# ------------------------------------------------------------------ report of a stored run


@pytest.fixture
def run(tmp_path):
    """A folder with a run of two trials of one cell."""
    rows = [
        row(phase=phase, trial=i, ms=2.0 + i, impl="dfs", planned=2) for i in range(2) for phase in ("label", "query")
    ]
    return store(tmp_path / "run", rows, {"cpu": "Test CPU", "cores": 2})


def test_report_shows_measured_beside_printed_and_writes_nothing_unless_told(capsys, run):
    before = sorted(run.rglob("*"))
    code, out, _ = call(capsys, "report", run)
    assert (code, "Table 2.4" in out, "209.85" in out, "2.50" in out) == (0, True, True, True)
    code, printed, err = call(capsys, "report", run, "--table", "2.6", "--format", "csv")
    assert (code, err, printed.splitlines()[0][:8]) == (0, "", "dataset,")
    markdown, latex = (call(capsys, "report", run, "--format", form)[1] for form in ("markdown", "latex"))
    assert markdown.startswith("# Run run\n")
    assert latex.count(r"\toprule") > 1
    assert sorted(run.rglob("*")) == before
    assert call(capsys, "report", run, "--table", "2.6", "--format", "csv", "--out", run / "report")[0] == 0
    assert (run / "report" / "table-2.6.csv").read_text() == printed
    assert call(capsys, "report", run, "--out", run / "report")[0] == 0
    assert {"report.md", "table-2.4.csv", "cells.csv"} <= {path.name for path in (run / "report").iterdir()}
    assert (run / "report" / "report.md").read_text() == markdown
    found = {(r["dataset"], r["column"]): r for r in records(capsys, "report", run, "--table", "2.4")}
    assert len(found) == 10 * 7
    assert found["kegg", "Pure DFS"]["measured"] == 2.5
    assert found["kegg", "Pure DFS"]["ratio"] == pytest.approx(2.5 / 209.85)
    assert found["amaze", "Pure DFS"]["status"] == "missing"


def test_report_names_long_tables_and_shows_them_with_all(capsys, tmp_path):
    graphs = [f"graph-{i}" for i in range(50)]
    rows = [row(phase="query", trial=0, ms=2.0, impl="dfs", planned=1, dataset=name) for name in graphs]
    run = store(tmp_path / "run", rows, {"cpu": "Test CPU", "cores": 2})
    _, out, _ = call(capsys, "report", run)
    assert "What was measured: medians of the trials: 50 lines (--all shows them, --table cells these alone)" in out
    for more in (["--all"], ["--table", "cells"]):
        shown = call(capsys, "report", run, *more)[1]
        assert all(f"{name} " in shown for name in graphs)


def test_report_names_what_is_beyond_the_lines_of_a_summary(capsys, tmp_path, monkeypatch):
    rows = [*trials(), *trials(impl="parallel", threads=2, label=9.0)]
    run = store(tmp_path / "run", rows, {"cpu": "Test CPU", "cores": 2})
    whole = call(capsys, "report", run)[1]
    monkeypatch.setattr(document, "MOST_OF_ALL", 1)
    less = call(capsys, "report", run)[1]
    assert "What was measured: medians of the trials: 2 lines (--all" in less
    assert "(--all" not in whole
    assert call(capsys, "report", run, "--all")[1] == whole


def test_report_of_a_run_without_times_exits_with_3(capsys, run):
    (run / results.ROWS).write_text(json.dumps(row(status="failed", reason="boom")) + "\n")
    code, out, err = call(capsys, "report", run)
    assert (code, "FAILED" in out, "boom" in out, "1 failed" in err) == (3, True, True, True)
    (run / results.ROWS).write_text("")
    code, _, err = call(capsys, "report", run)
    assert (code, "no rows" in err) == (3, True)


def test_the_reason_of_skipped_cells_stands_once_below_the_summary(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path))
    code, out, _ = call(capsys, "verify", "--dataset", "kegg", "--impl", "dfs", "--impl", "bfs", "--no-fetch")
    assert code == 3
    assert out.count("skipped [1]") == 2
    assert out.count("kegg was not fetched yet") == 1
    assert out.splitlines()[-1].startswith("[1] kegg was not fetched yet")


# ------------------------------------------------------------------ errors


def test_a_mistyped_command_is_answered_by_the_nearest(capsys):
    code, _, err = call(capsys, "comprae", "a", "b")
    assert (code, err.splitlines()[-1]) == (2, "error: No such command 'comprae' (did you mean 'compare'?)")


@pytest.mark.parametrize("width", [30, 61, 200])
@pytest.mark.parametrize("name", ["", "run", "report"])
def test_help_fits_the_terminal_and_breaks_no_word(monkeypatch, width, name):
    monkeypatch.setenv("COLUMNS", "1000")
    words = [name, "--help"] if name else ["--help"]
    whole = CliRunner().invoke(cli, words).output
    monkeypatch.setenv("COLUMNS", str(width))
    text = CliRunner().invoke(cli, words).output
    assert text.replace(" \\\n", "\n").split() == whole.replace(" \\\n", "\n").split()
    assert all(len(line) <= width or len(line.split()) < 3 for line in text.splitlines())


# ------------------------------------------------------------------ memory


def test_a_closure_that_does_not_fit_is_one_error_with_need_and_free(capsys):
    code, _, err = call(capsys, "export", "path-200000", "/dev/null", "--closure", "--memory", "1MB")
    assert code == 4
    assert "64 targets of a closure of 200,000 vertices take 1.6 MB, and 1.0 MB were given (--memory 1600000" in err


def test_a_run_says_need_and_free_of_a_closure_before_anything_is_allocated(capsys, tmp_path):
    words = ("run", "--problem", "closure", "--dataset", "path-3000000", "--impl", "condense-bits", "--json")
    code, out, _ = call(capsys, *words, "--out", str(tmp_path / "run"))
    row = json.loads(out)
    assert (code, row["status"]) == (3, "out of memory")
    assert row["reason"].startswith("the closure of 3,000,000 vertices needs 1125.0 GB of memory, and ")
    assert " are free (--memory " in row["reason"]
    assert row["reason"].endswith(" targets)")


def test_an_allocation_that_fails_is_one_line_and_no_traceback(capsys, monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate 9.00 TiB")

    monkeypatch.setattr("grailbench.problems.closure.export.export", fail)
    code, _, err = call(capsys, "export", "kegg-like", "x")
    assert (code, err) == (4, "error: too little memory: Unable to allocate 9.00 TiB (take a smaller graph)\n")
