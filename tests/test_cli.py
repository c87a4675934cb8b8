"""The command line as a user meets it: help, exit codes, machine-readable output."""

import json
import re
import shlex

import pytest
from click.testing import CliRunner
from commands import call, call_apart, in_python
from stored import store

from grailbench.cli.generate import account
from grailbench.cli.main import COMMANDS, cli
from grailbench.data.registry import registry
from grailbench.harness import folder as results
from grailbench.harness.rows import FIELDS

# ------------------------------------------------------------------ help


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_the_help_of_every_command_parse(name):
    command = cli.get_command(None, name)
    lines = [line.strip() for line in command.help.partition("Example")[2].splitlines()]
    found = [re.search(rf"grailbench {name}([^|>)]*)", line) for line in lines]
    shown = [line[1] for line in found if line]
    assert shown
    for line in shown:
        command.make_context(name, shlex.split(line))


def test_help_lists_every_command_and_the_exit_codes():
    code, out, _ = call_apart("--help")
    assert code == 0
    assert all(f"  {name} " in out for name in COMMANDS)
    assert "3 nothing was measured" in out


def test_help_starts_without_the_heavy_libraries():
    probe = (
        "import sys; from grailbench.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'grailbench.problems.contract', 'numba', 'numpy', 'pandas', 'scipy', 'rich', 'pydantic'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    code, out = in_python(probe)
    assert code == 0, f"imported: {out}"


# ------------------------------------------------------------------ exit codes


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",), ("list", "nonsense"), ("list", "--nonsense"), ("info", "nonsense"), ("report", "nonsense"),
        ("report", "--format", "nonsense"), ("plan", "--trials", "nonsense"),
    ],
)  # fmt: skip
def test_usage_errors_exit_with_2_and_one_line_that_begins_with_the_same_word(capsys, words):
    code, out, err = call(capsys, *words)
    assert (code, "nonsense" in err, "Traceback" in out + err) == (2, True, False)
    assert [line.split()[0] for line in err.splitlines() if line.lower().startswith("error")] == ["error:"]


def test_mistyped_dataset_suggests_the_right_one(capsys):
    code, _, err = call(capsys, "fetch", "keg")
    assert code == 2
    assert "kegg" in err


# ------------------------------------------------------------------ list and info


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_list_datasets_gives_every_graph_with_its_published_counts(capsys):
    code, out, _ = call(capsys, "list", "datasets", "--json")
    found = {record["name"]: record for record in json_lines(out)}
    assert code == 0
    assert set(registry()) <= set(found)
    kegg = found["kegg"]
    assert set(kegg) >= {"name", "set", "vertices", "edges", "published_vertices", "published_edges", "matches"}
    assert (kegg["published_vertices"], kegg["published_edges"], kegg["set"]) == (3618, 5576, "small-sparse")


@pytest.mark.mirror
def test_list_counts_a_fetched_graph_and_finds_that_it_matches(capsys, mirror, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path))
    assert call(capsys, "fetch", "kegg", "--offline")[0] == 0
    _, out, _ = call(capsys, "list", "datasets", "--json")
    kegg = next(record for record in json_lines(out) if record["name"] == "kegg")
    assert (kegg["vertices"], kegg["edges"], kegg["matches"]) == (3618, 5576, True)


def test_list_implementations_gives_problem_name_needs_and_source(capsys):
    code, out, _ = call(capsys, "list", "implementations", "--json")
    records = json_lines(out)
    found = {record["name"]: record for record in records if record["problem"] == "reachability"}
    assert code == 0
    assert {"dfs", "bfs", "sequential", "parallel"} <= set(found)
    assert {"bfs", "sssp", "apsp"} <= {record["problem"] for record in records}
    assert found["sequential"]["needs"] == []
    assert found["peer:pyreachability-grail"]["needs"] == ["peers"]
    assert [record["needs"] for record in records if record["name"] == "managed"] == [["gpu", "cupy"]]
    assert all(record["source"] for record in found.values())


def test_list_configs_names_the_quickstart(capsys):
    _, out, _ = call(capsys, "list", "configs", "--json")
    found = {record["name"]: record for record in json_lines(out)}
    assert found["quickstart"]["description"]


def test_list_for_people_is_plain_text_when_piped():
    code, out, _ = call_apart("list", "datasets")
    assert code == 0
    assert "\x1b" not in out
    assert "uniprotenc_150" in out
    assert "25,037,601" in out


def test_info_of_a_dataset_by_an_alias_gives_its_canonical_record(capsys):
    code, out, _ = call(capsys, "info", "uniprot150", "--json")
    (record,) = json_lines(out)
    assert code == 0
    assert (record["kind"], record["name"], record["published_edges"]) == ("dataset", "uniprotenc_150", 46687655)


def test_info_of_a_graph_with_cycles_counts_it_raw_too(capsys, diamond):
    _, out, _ = call(capsys, "info", diamond, "--json")
    (record,) = json_lines(out)
    assert (record["file_vertices"], record["file_edges"]) == (7, 7)
    assert record["vertices"] == 7  # two in one component, and the super-root


def test_info_of_the_machine_names_processor_and_packages(capsys):
    _, out, _ = call(capsys, "info", "--json")
    (record,) = json_lines(out)
    assert record["kind"] == "machine"
    assert record["cores"] >= 1
    assert "numpy" in record["packages"]


@pytest.mark.parametrize("name", ["machine", "kegg", "parallel", "quickstart"])
def test_info_for_people_has_a_line_a_fact(capsys, name):
    code, out, _ = call(capsys, "info", name)
    assert code == 0
    assert len(out.splitlines()) >= 4


def test_info_shows_everything_of_a_name_that_several_things_have(capsys):
    _, out, _ = call(capsys, "info", "floyd-warshall", "--json")
    assert [record["problem"] for record in json_lines(out)] == ["apsp", "closure"]
    code, out, _ = call(capsys, "info", "fused", "--json")
    assert code == 0
    assert [record["kind"] for record in json_lines(out)] == ["implementation", "config"]
    _, out, _ = call(capsys, "info", "fused")
    assert out.count("kind ") == 2


def test_a_run_names_its_folder_from_where_it_was_called(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("run", "--problem", "closure", "--dataset", "path-4", "--impl", "condense-bits", "--trials", "1")
    code, out, err = call(capsys, *words, "--out", str(tmp_path / "mine"))
    assert code == 0
    assert "\nrows: mine\n" in out
    assert "rows go to mine\n" in err


def test_a_graph_made_from_a_spec_is_told_in_two_lines_and_no_empty_table(capsys):
    code, out, _ = call(capsys, "generate", "path-4")
    assert code == 0
    said, path = out.splitlines()
    assert said.startswith("path-4: 4 vertices, 3 edges, ")
    assert path.endswith("path-4.npz")


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


def row(**fields):
    base = dict.fromkeys(FIELDS) | {
        "run": "r", "dataset": "kegg", "kind": "real", "impl": "dfs", "seed": 1, "query_set": "random-100000-s1",
        "under": "", "planned": 2, "positives": 20146, "queries": 100_000, "status": "ok", "key": "k", "at": "now",
    }  # fmt: skip
    return base | fields


@pytest.fixture
def run(tmp_path):
    """A folder with a run of two trials of one cell."""
    rows = [row(phase=phase, trial=i, ms=2.0 + i) for i in range(2) for phase in ("label", "query")]
    return store(tmp_path / "run", rows, {"cpu": "Test CPU", "cores": 2})


def test_report_shows_measured_beside_printed_and_writes_its_files(capsys, run):
    code, out, _ = call(capsys, "report", str(run))
    assert code == 0
    assert "Table 2.4" in out
    assert "209.85" in out
    assert "2.50" in out
    assert {"report.md", "table-2.4.csv", "cells.csv"} <= {p.name for p in (run / "report").iterdir()}


def test_report_of_one_table_in_one_format(capsys, run):
    code, out, _ = call(capsys, "report", str(run), "--table", "2.6", "--format", "csv")
    assert code == 0
    assert "Table 2.6" in out
    assert "Table 2.4" not in out
    assert {p.name for p in (run / "report").iterdir()} == {"table-2.6.csv", "cells.csv", "datapackage.json"}


def test_report_of_one_table_leaves_the_page_of_all(capsys, run):
    assert call(capsys, "report", str(run))[0] == 0
    whole = (run / "report" / "report.md").read_bytes()
    assert call(capsys, "report", str(run), "--table", "2.6")[0] == 0
    assert (run / "report" / "report.md").read_bytes() == whole


def test_report_as_json_gives_an_object_a_table_cell(capsys, run):
    code, out, _ = call(capsys, "report", str(run), "--table", "2.4", "--json")
    found = {(r["dataset"], r["column"]): r for r in json_lines(out)}
    assert code == 0
    assert len(found) == 10 * 7
    assert found["kegg", "Pure DFS"]["measured"] == 2.5
    assert found["kegg", "Pure DFS"]["ratio"] == pytest.approx(2.5 / 209.85)
    assert found["amaze", "Pure DFS"]["status"] == "missing"


def test_report_of_a_run_without_rows_exits_with_3(capsys, run):
    (run / results.ROWS).write_text("")
    code, _, err = call(capsys, "report", str(run))
    assert code == 3
    assert "no rows" in err


def test_report_of_a_run_in_which_all_failed_is_shown_and_exits_with_3(capsys, run):
    (run / results.ROWS).write_text(json.dumps(row(status="failed", reason="boom")) + "\n")
    code, out, err = call(capsys, "report", str(run))
    assert code == 3
    assert "FAILED" in out
    assert "boom" in out
    assert "1 failed" in err


def test_report_of_an_unknown_table_names_those_there_are(capsys, run):
    code, _, err = call(capsys, "report", str(run), "--table", "7.1")
    assert code == 2
    assert "2.4" in err


def test_the_reason_of_skipped_cells_stands_once_below_the_summary(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path))
    code, out, _ = call(capsys, "verify", "--dataset", "kegg", "--impl", "dfs", "--impl", "bfs", "--no-fetch")
    assert code == 3
    assert out.count("skipped [1]") == 2
    assert out.count("kegg was not fetched yet") == 1
    assert out.splitlines()[-1].startswith("[1] kegg was not fetched yet")


# ------------------------------------------------------------------ errors


def test_wrong_usage_says_where_to_read_more(capsys):
    err = call(capsys, "run", "--dims", "3")[2]
    assert err.startswith("Usage: grailbench run [OPTIONS]\nTry 'grailbench run -h' for help.\n\nerror: No such option")


def test_without_a_command_the_help_is_shown(capsys):
    assert call(capsys) == call(capsys, "--help")
    assert call(capsys)[0] == 0


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
    (row,) = json_lines(out)
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
