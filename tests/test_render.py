"""Any renderer takes any table."""

import re
import shutil
import subprocess
from collections import Counter

import pandas
import pytest
from commands import PATIENCE
from hypothesis import given
from hypothesis import strategies as st
from markup import Page
from outcomes import succeeds
from stored import ENVIRONMENT, HOSTILE, everything, made, store

from grailbench.report import document
from grailbench.report.render import records, terminal
from grailbench.report.render.csv import csv
from grailbench.report.render.html import html
from grailbench.report.render.latex import PAGE, escape, latex
from grailbench.report.render.markdown import markdown
from grailbench.report.table import Table
from grailbench.util.screen import Grid

NASTY = r"50 % of a_b & {c} #1 $x ~ ^ \ <b> | [2] – 3×"


def table(**other):
    fields = {
        "name": "mine", "title": "Title of 100 %", "headers": ["Data set", "", "ms", "status"],
        "lines": [["kegg", "measured", "1.50", "ok"], ["", "printed", "3", ""], [NASTY, "measured", "–", "failed [1]"]],
        "right": frozenset({"ms"}), "ends": frozenset({1}), "notes": ["[1] a_b"],
        "records": [{"dataset": "kegg", "ms": 1.5}], "file": "mine",
        "data": pandas.DataFrame({"dataset": ["kegg", "human"], "ms": [1.5, None]}),
    }  # fmt: skip
    return Table(**{**fields, **other})


def test_the_terminal_gets_a_grid_and_notes_and_a_line_for_a_table_without_lines():
    grid, note = terminal(table())
    assert isinstance(grid, Grid)
    assert (grid.title, grid.lines, grid.right, grid.ends) == ("Title of 100 %", table().lines, {"ms"}, {1})
    assert note == "[1] a_b"
    assert list(terminal(table(lines=[], notes=["no cell"]))) == ["Title of 100 %: no cell"]


def test_markdown_has_a_heading_of_the_level_asked_for_and_no_broken_cell():
    lines = markdown(table(), level=3).splitlines()
    assert lines[0] == "### Title of 100 %"
    assert len({len(re.split(r"(?<!\\)\|", line)) for line in lines if line.startswith("|")}) == 1
    assert lines[-1] == "- [1] a_b"


def test_csv_has_typed_values_and_tables_of_one_file_stand_one_after_the_other():
    assert csv([table()]) == "dataset,ms\nkegg,1.5\nhuman,\n"
    assert csv([table(), table()]) == "dataset,ms\n" + 2 * "kegg,1.5\nhuman,\n"


# ------------------------------------------------------------------ LaTeX


def rows_of(text):
    """The cells of each line between the rules."""
    body = text.partition("\\toprule\n")[2]
    lines = [line for line in body.splitlines() if line.endswith(" \\\\") and "\\multicolumn" not in line]
    return [re.split(r"(?<!\\)&", line.removesuffix(" \\\\")) for line in lines]


def parsed(text):
    """Reads what is emitted as TeX would: ASCII, with balanced braces and environments, and every cell of a row in its
    own column. Returns the commands that it has."""
    assert text.isascii()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    depth, opened, commands = 0, [], Counter()
    body = "\n".join(line for line in text.splitlines() if not line.startswith("% needs"))
    for token in re.findall(r"\\(?:begin|end)\{\w+\*?\}|\\[A-Za-z]+|\\.|[{}$&%#_^~]", body, re.DOTALL):
        commands[token] += 1
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            assert depth >= 0
        elif token.startswith("\\begin{"):
            opened.append(token[7:-1])
        elif token.startswith("\\end{"):
            assert opened.pop() == token[5:-1]
        assert token not in ("%", "#", "_")
    assert (depth, opened) == (0, [])
    assert commands["$"] % 2 == 0
    assert not commands["\\hline"] + commands["\\vline"] + commands["\\cline"]
    return commands


def test_latex_has_as_many_cells_a_line_as_columns_and_space_between_groups():
    lines = [["kegg", "measured", "1.50", "ok"], ["", "printed", "3", ""], ["a", "b", "c", "d"]]
    text = latex(table(lines=lines), "Run 1 & 2, on a machine, commit 123")
    assert "\\begin{tabular}{llrl}" in text
    assert [len(line) for line in rows_of(text)] == [4, 4, 4, 4]
    commands = parsed(text)
    rules = ("\\toprule", "\\midrule", "\\bottomrule", "\\addlinespace")
    assert [commands[name] for name in rules] == [1, 1, 1, 1]
    assert text.startswith("% needs \\usepackage{adjustbox,booktabs,rotating}\n")
    title = "Title of 100 \\%"
    assert f"\\caption[{title}]{{{title}. Run 1 \\& 2, on a machine, commit 123.}}\\label{{tab:mine}}" in text
    assert "{[}1{]} a\\_b" in text
    assert "2.5\\textsuperscript{{[}1,2{]}} &" in latex(table(lines=[["a", "b", "2.5 [1,2]", "ok"]], ends=frozenset()))


#: names that would be more than text in LaTeX
HOSTILE_NAMES = (
    NASTY, HOSTILE, "a & b \\\\ c", "\\input{/etc/passwd}", "^^5cinput", "}{", "{", "}", "$", "%", "#1", "*star",
    "[3pt]", "~", "`?`!`", "``''", "--flag", ",,", "\\\\[3pt]", "%\n\\end{document}", "\\end{tabular}",
    "é ü ñ ç ø ß Å ł ő š Ż ı j̈",
    "αβγ ΔΩ Μ", "中文", "a\u202eb\u200f\u2066", "\x00\x07\x1b\x7f", "😀", "\u0301", "\u00ad", "\ud800", "\ufffe", "",
)  # fmt: skip


@given(st.text(max_size=60) | st.sampled_from(HOSTILE_NAMES))
def test_any_name_is_text_in_latex(name):
    text = latex(
        table(name=name, title=name, lines=[[name, name, "1", name]], headers=["a", name, "ms", name], notes=[name])
    )
    commands = parsed(text)
    assert {len(line) for line in rows_of(text)} == {4}
    assert all(f"U+{ord(letter):04X}" in text for letter in name if letter.isascii() and not letter.isprintable()
               and letter not in "\n\t"), "nothing is hidden"  # fmt: skip
    harmless = parsed(latex(table(lines=[["a", "b", "1", "c"]], notes=["d"])))
    active = {"\\input", "\\def", "\\end{document}", "\\write", "\\let", "\\catcode", "\\csname"}
    assert not active & set(commands)
    assert commands["\\\\"] == harmless["\\\\"]


@pytest.mark.parametrize("name", ["*star", "[3pt]", " * x", "[*]"])
def test_no_line_begins_with_what_the_end_of_the_one_before_takes_for_its_own(name):
    text = latex(table(headers=[name, "", "ms", "status"], lines=[[name, "x", "1", "ok"]] * 2, notes=[]))
    begun = [line.lstrip()[0] for line in text.splitlines() if line.endswith("\\\\")]
    assert not {"*", "["} & set(begun)


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="NOT COMPILED: no pdflatex here, the emitted LaTeX is only parsed"
)
@pytest.mark.slow
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_every_table_of_a_report_and_every_hostile_name_compiles_and_fits_the_page(tmp_path, columns):
    report = document.make(made(everything()))
    long = [[name, "x", f"{at}.5", "ok [1]"] for at, name in enumerate(HOSTILE_NAMES * 2)]
    tables = [*report.shown, report.details, table(lines=long, notes=list(HOSTILE_NAMES)), table()]
    texts = [latex(each, f"{report.title}, on {HOSTILE}") for each in tables]
    body = "\n\\clearpage\n".join(texts)
    (tmp_path / "all.tex").write_text(
        f"\\documentclass[{columns}]{{article}}\\usepackage{{adjustbox,booktabs,rotating}}\\begin{{document}}\n"
        f"{body}\\end{{document}}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000
    assert (
        re.findall(r"Overfull \\hbox \(\d{2,}.*|Float too large.*", (tmp_path / "all.log").read_text("latin-1")) == []
    )


@pytest.mark.parametrize(("lines", "floats"), [(PAGE, 1), (PAGE + 1, 2), (3 * PAGE, 3)])
def test_a_table_longer_than_a_page_goes_on_in_further_floats_with_its_header(lines, floats):
    text = latex(table(lines=[["a", "b", "1", "ok"]] * lines, ends=frozenset()), of="a run")
    commands = parsed(text)
    assert (commands["\\begin{table*}"], commands["\\midrule"], commands["\\label"]) == (floats, floats, 1)
    assert text.count("continued.") == floats - 1
    assert "\\label{tab:a-run-mine}" in text


def test_a_wide_table_lies_on_its_side():
    wide = [["a" * 40, "b" * 40, "1", "ok"]]
    assert "\\begin{sidewaystable*}" in latex(table(lines=wide))
    assert "\\begin{table*}" in latex(table(lines=[["a", "b", "1", "ok"]]))


@pytest.mark.slow
def test_every_renderer_takes_every_table_of_a_report():
    report = document.make(made(everything()))
    assert len(report.shown) > 3
    for each in [*report.shown, report.details]:
        assert all(len(line) == len(each.headers) for line in each.lines)
        assert each.values is None or [len(line) for line in each.values] == [len(line) for line in each.lines]
        assert len(Page(html(each)).all("tr")) == len(each.lines) + 1
        assert {len(line) for line in rows_of(latex(each))} == {len(each.headers)}
        parsed(latex(each, report.title))
        assert markdown(each).startswith(f"## {each.title}\n")
        assert list(terminal(each))
        assert all(next(iter(record)) == "table" for record in records(each))
        assert each.data is None or csv([each])


def test_report_writes_latex_files_alone(capsys, tmp_path):
    run = store(tmp_path / "run", everything())
    succeeds(capsys, "report", run, "--format", "latex", "--out", run / "report")
    names = {path.name for path in (run / "report").iterdir()}
    assert {"cells.tex", "table-2.4.tex"} <= names
    assert {name.rpartition(".")[2] for name in names} == {"tex"}
    text = (run / "report" / "table-2.4.tex").read_text()
    assert f". Run run, on {escape(ENVIRONMENT['cpu'])}, 2 cores." in text
