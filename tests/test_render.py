"""Any renderer takes any table."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pandas
import pytest
from commands import call
from stored import everything, made, store

from grailbench.report import document
from grailbench.report.render.csv import csv
from grailbench.report.render.html import html
from grailbench.report.render.json import records
from grailbench.report.render.latex import PAGE, escape, latex
from grailbench.report.render.markdown import markdown
from grailbench.report.render.terminal import terminal
from grailbench.report.table import Table, numbers
from grailbench.screen import Grid

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


def test_numbers_are_all_columns_but_the_first_and_those_of_words():
    assert numbers(["d", "implementation", "ms", "status", "n"]) == {"ms", "n"}


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


def test_records_say_which_table_they_are_of():
    assert list(records(table())) == [{"table": "mine", "dataset": "kegg", "ms": 1.5}]


class Tags(HTMLParser):
    """Reads a fragment, whose tags must be closed in order, and counts them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.count = [], Counter()
        self.feed(str(text))

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.count[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_well_formed_and_nothing_in_it_can_run():
    read = Tags(html(table()))
    assert read.open == []
    assert read.count["tr"] == 4
    assert read.count["tbody"] == 2
    assert read.count["b"] == 0


# ------------------------------------------------------------------ LaTeX


def unescaped(text, letter):
    return re.findall(rf"(?<!\\){re.escape(letter)}", text)


def rows_of(text):
    """The cells of each line between the rules."""
    body = text.partition("\\hline\n")[2]
    return [line.removesuffix(" \\\\").split(" & ") for line in body.splitlines() if line.endswith(" \\\\")]


def test_latex_has_as_many_cells_a_line_as_columns_and_rules_between_groups():
    text = latex(table(lines=[["kegg", "measured", "1.50", "ok"], ["", "printed", "3", ""], ["a", "b", "c", "d"]]))
    assert "\\begin{tabular}{llrl}" in text
    assert [len(line) for line in rows_of(text)] == [4, 4, 4, 4]
    assert text.count("\\hline") == 4
    for name in ("table", "tabular"):
        assert text.count(f"\\begin{{{name}}}") == text.count(f"\\end{{{name}}}") == 1
    assert "\\caption{Title of 100 \\%}\\label{tab:mine}" in text
    assert "{[}1{]} a\\_b" in text


def test_latex_special_characters_are_harmless():
    text = escape(NASTY)
    for letter in "%_&#$":
        assert not [found for found in unescaped(text.replace("$\\times$", ""), letter)]
    for letter in "~^<>|–×":
        assert letter not in text
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert text.replace("\\textbackslash{}", "").count("\\\\") == 0


@pytest.mark.parametrize(("count", "environment"), [(PAGE, "tabular"), (PAGE + 1, "longtable")])
def test_a_table_longer_than_a_page_breaks_across_pages_and_repeats_its_header(count, environment):
    text = latex(table(lines=[["a", "b", "1", "ok"]] * count, ends=frozenset()))
    assert f"\\begin{{{environment}}}" in text
    assert ("\\endhead" in text) == (environment == "longtable")


def test_every_renderer_takes_every_table_of_a_report():
    report = document.make(made(everything()))
    assert len(report.shown) > 3
    for each in [*report.shown, report.details]:
        assert all(len(line) == len(each.headers) for line in each.lines)
        assert each.values is None or [len(line) for line in each.values] == [len(line) for line in each.lines]
        assert Tags(html(each)).count["tr"] == len(each.lines) + 1
        assert {len(line) for line in rows_of(latex(each))} == {len(each.headers)}
        assert markdown(each).startswith(f"## {each.title}\n")
        assert list(terminal(each))
        assert all(next(iter(record)) == "table" for record in records(each))
        assert each.data is None or csv([each])


def test_report_writes_latex_files_alone(capsys, tmp_path):
    run = store(tmp_path / "run", everything())
    code, _, err = call(capsys, "report", run, "--format", "latex")
    assert code == 0, err
    names = {path.name for path in (run / "report").iterdir()}
    assert {"cells.tex", "table-2.4.tex"} <= names
    assert {name.rpartition(".")[2] for name in names} == {"tex"}
