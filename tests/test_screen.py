"""What people see: tables fit the window, whatever its width, and no word is ever broken."""

import io
from pathlib import Path

import pytest
from commands import call, in_a_terminal
from rich.console import Console
from stored import lost, store, trials

from grailbench.cli.progress import RunView
from grailbench.harness.plan import Config, Experiment, make_plan
from grailbench.util.screen import Grid, console, fold, paired, put

WIDE = 10_000


def shown(*parts, width=80):
    out = io.StringIO()
    put(parts, Console(file=out, width=width, highlight=False))
    return out.getvalue()


def words(text):
    """The words of an output; constant columns stand in brackets in the title of a narrow table."""
    return {bare for word in text.replace(",", " ").split() if (bare := word.strip("()")) and set(bare) - set("─-")}


def grid(columns, lines=3, **kw):
    heads = [f"column number {i}" for i in range(columns)]
    cells = [[f"cell {line}.{i} of-a-table" for i in range(columns)] for line in range(lines)]
    return Grid("a title of several words", heads, cells, **kw)


@pytest.mark.parametrize("width", [10, 40, 80, 200])
@pytest.mark.parametrize("columns", [1, 5, 12])
@pytest.mark.parametrize("keys", [0, 1, 3])
@pytest.mark.parametrize("right", [frozenset(), frozenset({"column number 1", "column number 4"})])
def test_every_line_fits_and_every_word_is_whole_at_any_width(width, columns, keys, right):
    table = grid(columns, keys=keys, right=right)
    narrow = shown(table, width=width)
    longest = max(map(len, ["cell 0.11 of-a-table", "column number 10"]))
    assert max(map(len, narrow.splitlines())) <= max(width, 20, longest + 1)
    assert words(narrow) <= words(shown(table, width=WIDE))
    assert words(narrow) >= {word for line in table.lines for cell in line for word in words(cell)}


def test_a_table_that_fits_is_a_line_a_row():
    lines = shown(grid(3, lines=4)).splitlines()
    assert [line.split("   ")[0].strip() for line in lines if "of-a-table" in line] == [
        f"cell {i}.0 of-a-table" for i in range(4)
    ]


def test_headers_are_folded_before_texts_and_texts_before_a_table_is_parted():
    long = Grid("", ["graph", "milliseconds of labels"], [["kegg", "1.25"], ["human", "2"]])
    assert "milliseconds of\n" in shown(long, width=24)
    prose = Grid("", ["name", "what it is"], [["a", "some words " * 10], ["b", "few"]])
    text = shown(prose, width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert [line.split()[0] for line in text.splitlines() if line.startswith((" a ", " b "))] == ["a", "b"]


def timed(graphs, name="graph"):
    heads = [name, "d", "filters", *(f"milliseconds{i}" for i in range(5))]
    lines = [[graph, "2", "", *(f"{at}.0{i}" for i in range(5))] for at, graph in enumerate(graphs)]
    return Grid("Times", heads, lines, frozenset(heads) - {name, "filters"}, keys=3)


def test_what_is_the_same_in_every_line_goes_to_the_title_and_a_row_stays_a_line():
    text = shown(timed(["kegg", "kegg", "human"]), width=60)
    assert text.startswith("Times (d 2)\n")
    assert [line.split()[0] for line in text.splitlines() if "0." in line or "1." in line] == ["kegg", "kegg"] * 2
    assert text.index("milliseconds0") < text.index("milliseconds3")


def test_what_a_line_is_about_stands_above_it_when_its_name_takes_half_of_the_window():
    text = shown(timed(["a-graph-of-a-very-long-name-indeed"] * 2 + ["human"]), width=60)
    assert text.count("a-graph-of-a-very-long-name-indeed\n") == 2  # once a table, of two, and not once a line
    assert text.count("human\n") == 2


@pytest.mark.parametrize(("none", "coloured"), [("", True), ("1", False)])
def test_verdicts_have_colours_unless_no_color_is_set(monkeypatch, none, coloured):
    monkeypatch.delenv("NO_COLOR", raising=False)
    if none:
        monkeypatch.setenv("NO_COLOR", none)
    out = io.StringIO()
    table = Grid("", ["graph", "status"], [["kegg", "ok"], ["human", "wrong [1]"], ["go", "timeout"]])
    put(["UNSTABLE: run again.", table], Console(file=out, width=80, force_terminal=True, color_system="standard"))
    codes = {"UNSTABLE": "31", "ok": "32", "wrong": "31", "timeout": "33"}
    found = {word: f"\x1b[{code}m{word}" in out.getvalue() for word, code in codes.items()}
    assert found == dict.fromkeys(codes, coloured)


def test_a_first_column_without_a_name_is_in_every_part_and_an_empty_one_in_none():
    heads = ["Data set", "", *(f"milliseconds{i}" for i in range(8)), "nothing"]
    lines = [["Kegg", "measured", *"12345678", ""], ["", "printed", *"23456789", ""]]
    text = shown(Grid("", heads, lines, frozenset(heads[2:])), width=60)
    assert text.count("measured") == text.count("printed") == text.count("Kegg") == 3
    assert "nothing" not in text


def test_a_number_is_never_folded_and_brackets_are_no_markup():
    table = Grid("", ["graph", "time"], [["kegg", "1.25 [bold] [1, 2]"]], frozenset({"time"}))
    text = shown("[bold] 3 [1]", table, width=20)
    assert "[bold] 3 [1]" in text
    assert "1.25 [bold] [1, 2]" in text


def test_a_line_is_folded_between_words_and_keeps_its_indent():
    assert fold("  one two three", 9) == ["  one two", "  three"]
    assert fold("a" * 30 + " b", 9) == ["a" * 30, "b"]
    assert shown("a word " * 20, "", width=40).splitlines()[-1] == ""


def test_long_values_of_a_sheet_go_on_below_their_beginning():
    assert list(paired([("name", "kegg"), ("notes", "one two three four five six")], 28)) == [
        "name   kegg", "notes  one two three four", "       five six"
    ]  # fmt: skip


@pytest.mark.parametrize(("terminal", "lines"), [(True, 4), (False, 1)])
def test_what_a_run_says_as_it_goes_is_folded_in_a_terminal_alone(terminal, lines):
    out = io.StringIO()
    with RunView(console=Console(file=out, width=40, force_terminal=terminal, color_system=None)) as screen:
        screen.note("WRONG: kegg-like [1] " + "said for a reason " * 6)
    assert len(out.getvalue().splitlines()) == lines
    assert out.getvalue().split() == ["WRONG:", "kegg-like", "[1]", *["said", "for", "a", "reason"] * 6]


# ------------------------------------------------------------------ which width


def test_a_pipe_has_all_the_width_and_columns_says_otherwise(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console().width == WIDE
    monkeypatch.setenv("COLUMNS", "80")
    assert console().width == 80
    for none in ("", "0", "wide"):
        monkeypatch.setenv("COLUMNS", none)
        assert console().width == WIDE


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with long names, filters, two d, a GPU's peak of memory and a cell that failed with a long reason."""
    plan = make_plan(Config(experiment=[Experiment(
        datasets=["kegg-like", "citations-n3800000-k4.6-w500000-s1"], dim=[2, 5], filters=["none", "level,tree,hubs"],
        implementations=["sequential", "parallel", "gpu-fused", "peer:pyreachability-feline-pk"],
    )]))  # fmt: skip
    rows = []
    for cell in plan.cells:
        of = cell.columns() | {"index_bytes": 115_776, "device_peak_bytes": 1 << 20}
        failed = cell.impl == "gpu-fused"
        rows += lost("failed", "one reason of many words " * 8, **of) if failed else trials(1234.5, 1234.5, **of)
    return store(tmp_path_factory.mktemp("runs") / "run", rows, {"cpu": "a processor of a long name", "cores": 2})


COMMANDS = [
    ("report", "RUN", "--details", "--counters"),
    ("compare", "RUN", "RUN", "--all"),
    ("list",),
    ("plan", "--config", "quickstart"),
]


@pytest.mark.slow
@pytest.mark.parametrize("words_", COMMANDS, ids=" ".join)
def test_what_a_command_says_fits_80_columns_and_its_words_are_those_of_a_pipe(run, capsys, monkeypatch, words_):
    command = [str(run) if word == "RUN" else word for word in words_]
    monkeypatch.delenv("COLUMNS", raising=False)
    _, wide, _ = call(capsys, *command)
    monkeypatch.setenv("COLUMNS", "80")
    _, narrow, _ = call(capsys, *command)
    assert max(map(len, wide.splitlines())) > 80
    too_long = [line for line in narrow.splitlines() if len(line) > 80 and len(line.split()) > 1]
    assert too_long == []
    assert words(narrow) <= words(wide)
    assert {word for word in words(wide) if any(letter.isdigit() for letter in word)} <= words(narrow)


def test_a_terminal_has_its_own_width(run, tmp_path):
    """A real terminal of 80 columns, without COLUMNS."""
    code, said = in_a_terminal("report", run, columns=80, env={"NO_COLOR": "1"})
    assert code == 0
    lines = said.replace("\r", "").replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\x1b[3m", "")
    assert max(map(len, lines.splitlines())) <= 80
    assert "citations-n3800000-k4.6-w500000-s1, sequential, d 2, level,tree,hubs" in lines
    assert not Path(run / "report").exists()
