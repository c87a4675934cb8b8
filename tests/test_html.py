"""`report --html`: one file that asks for nothing, runs nothing of its data, and hides nothing."""

import base64
import csv
import hashlib
import io
import re
from dataclasses import replace
from itertools import product

import pytest
from commands import call
from markup import Page
from stored import HOSTILE, everything, lost, row, store, trials, unguided

from grailbench.errors import InputError
from grailbench.report import document
from grailbench.report import page as page_module
from grailbench.report.captions import CAPTIONS
from grailbench.report.draw import style
from grailbench.report.page import COLOURS, write
from grailbench.report.page import page as page_of
from grailbench.report.render.html import html
from grailbench.report.table import Table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return store(tmp_path_factory.mktemp("html") / "run", everything())


@pytest.fixture(scope="module")
def text(run):
    return page_of(document.of_run(str(run)))


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


# ------------------------------------------------------------------ tables


def test_a_table_is_escaped_sorted_by_its_values_and_has_the_signs_of_statuses():
    shown = Table(
        "t", HOSTILE, ["graph", "ms", "status"], [[HOSTILE, "1.50 ms", "ok"], ["b", "FAILED [1]", "failed [1]"]],
        frozenset({"ms"}), notes=[HOSTILE], values=[[None, 1.5034, "ok"], [None, None, "failed"]],
    )  # fmt: skip
    found = Page(html(shown))
    assert [name for name, *_ in found.elements if name in ("script", "img")] == []
    assert "".join(found.words).count(HOSTILE) == 3
    assert [a.get("data-by") for a in found.attributes("td", **{"class": "num"})] == ["1.5034"]
    assert len(found.attributes("td", **{"class": "num bad"})) == 1
    assert [a["class"] for a in found.attributes("span")] == ["status good", "status bad"]


def test_lines_of_a_graph_stay_together():
    lines = [["Kegg", "measured", "1"], ["", "printed", "2"], ["", "ratio", "0.5"], ["Human", "measured", "3"],
             ["", "printed", "4"], ["", "ratio", "0.75"]]  # fmt: skip
    found = Page(html(Table("t", "t", ["Data set", "", "ms"], lines, frozenset({"ms"}), ends=frozenset({2}))))
    assert len(found.attributes("tbody")) == 2
    assert [a["rowspan"] for a in found.attributes("th", scope="row")] == ["3", "3"]
    assert len(found.attributes("table", **{"class": "sortable stacked"})) == 1
    one = Page(html(Table("t", "t", ["Data set", "", "ms"], lines[:3], frozenset({"ms"}))))
    assert len(one.attributes("th", scope="row")) == 1  # the graph: 'printed' is no heading
    assert len(one.attributes("table", **{"class": "sortable stacked"})) == 1


@pytest.mark.parametrize(("means", "last"), [(True, 1), (False, 0)])
def test_only_means_over_the_other_lines_are_set_apart(means, last):
    lines = [["kegg", "1"], ["human", "2"], ["go", "3"]]
    shown = Table("t", "t", ["graph", "ms"], lines, frozenset({"ms"}), ends=frozenset({0, 1}), means=means)
    assert len(Page(html(shown)).attributes("tbody", **{"class": "last"})) == last


def test_a_title_stands_once_and_a_long_page_says_what_it_leaves_out(text, run, monkeypatch):
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    captions = re.findall(r"<caption>(.*?)</caption>", text)
    assert not {*headings} & {*captions}
    report = document.of_run(str(run))
    monkeypatch.setattr(page_module, "MOST", 150_000)
    short = page_of(report, everything=False)
    assert len(short.encode()) < 160_000 < len(text.encode())
    assert f"grailbench plot {run} --figure strips" in short
    assert "data:text/csv" not in short
    monkeypatch.setattr(page_module, "MOST", 10_000_000)
    assert page_of(report, everything=False).split() == text.split()


def test_cells_lead_to_addresses_of_the_same_site_alone():
    good = ["#c0", "../graphs/a-1.html", "runs/h200-0a.html#c12"]
    bad = ["https://example.org", "//example.org/a", "/etc/passwd", "javascript:alert(1)", "data:text/html,x",
           "a.html?b", '"><script>', "..", "../", "", None, "a b", "#\n"]  # fmt: skip
    links = [[None, address, good[0]] for address in [*good, *bad]]
    lines = [["g", "1", "ok [1]"] for _ in links]
    shown = Table("t", "t", ["graph", "ms", "status"], lines, frozenset({"ms"}), links=links)
    found = Page(html(shown))
    expected = [each for address in good for each in (address, good[0])] + [good[0]] * len(bad)
    assert [a["href"] for a in found.attributes("a")] == expected
    assert '<a href="#c0"><span class="status good">✓ ok</span> [1]</a></td>' in html(shown)


# ------------------------------------------------------------------ safety


def test_data_never_becomes_markup(page, text):
    assert [a for a in page.attributes("script") if a] == []
    assert len(page.attributes("script")) == 1
    assert page.attributes("img") == []
    assert "alert" not in "".join(page.code)
    assert HOSTILE in "".join(page.words)
    assert "onerror" not in [key for attributes in page.attributes() for key in attributes]


def test_only_the_page_s_own_script_and_style_sheet_may_work(page):
    (policy,) = [a["content"] for a in page.attributes("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    sheet, script = page.code
    for kind, code in (("style", sheet), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not [a for a in page.attributes() if "style" in a or any(key.startswith("on") for key in a)]


def test_the_same_run_gives_the_same_page(run, text):
    assert page_of(document.of_run(str(run))) == text


def test_nothing_is_asked_of_a_network(page):
    links = [v for attributes in page.attributes() for k, v in attributes.items() if k in ("href", "src", "action")]
    assert links
    assert all(link.startswith(("#", "data:text/csv;")) for link in links)
    assert not re.search(r"url\((?!#)|@import|https?:", "".join(page.code))
    assert not [v for a in page.attributes() for v in a.values() if v and re.search(r"url\((?!#)", v)]


# ------------------------------------------------------------------ what it says


def test_every_figure_and_published_table_has_its_data(page):
    found = {a["download"]: a["href"] for a in page.attributes("a", **{"class": "csv"})}
    usual = {
        f"{name}.csv" for name in CAPTIONS if name.partition("-")[0] not in ("computation", "closure", "traversal")
    }
    usual -= {"reading.csv", "tradeoff-memory.csv", "tradeoff-energy.csv"}
    assert usual | {"table-2.4.csv", "cells.csv", "rivals.csv"} <= set(found)
    data = base64.b64decode(found["speedup.csv"].partition("base64,")[2]).decode()
    rows = list(csv.DictReader(io.StringIO(data)))
    fast = next(row for row in rows if "level" in row["config"] and row["dataset"] == "kegg")
    assert float(fast["speedup"]) == pytest.approx(40.0 if fast["reference"] == "dfs" else 20.0)


def test_every_drawing_has_words_for_those_who_cannot_see_it_and_lost_cells_are_shown_with_their_reasons(page):
    drawings = [a for a in page.attributes("svg") if a.get("aria-hidden") != "true"]
    assert len(drawings) > 4
    assert all(a.get("role") == "group" and len(a.get("aria-label", "")) > 20 for a in drawings)
    words = " ".join(page.words)
    assert "pair 17" in words
    assert "WRONG" in words
    assert "FAILED" in words
    assert "citeseer was not fetched yet" in words


def test_cells_of_several_gpus_are_told_apart_and_a_run_without_print_or_counters_has_a_page_too(tmp_path):
    each = [trials(impl="gpu-fused", search=None, filters="level", devices=count) for count in (1, 2)]
    report = document.of_run(str(store(tmp_path / "run", [row for rows in each for row in rows])))
    assert "2 GPUs" in "".join(Page(page_of(report)).words)
    text = page_of(document.of_run(str(store(tmp_path / "mine", trials(dataset="mine", counters=None)))))
    assert 'id="counters"' not in text
    assert 'id="rivals"' not in text


def test_look_alike_never_stands_in_a_published_row(tmp_path):
    folder = store(tmp_path / "run", [*unguided(dataset="kegg-like", stands_for="kegg"), *trials(dataset="human")])
    report = document.of_run(str(folder))
    text = page_of(report)
    table = text[text.index("Table 2.4: Sparse tests") : text.index("Every cell and phase")]
    assert "kegg-like" not in table.partition("</table>")[0]
    assert "40.20" not in table
    assert not re.search(r"<th[^>]*>Kegg", table)
    asked = document.of_run(str(folder), ["2.4"])
    kegg = re.search(r"<th[^>]*>Kegg.*?</tbody>", page_of(asked), re.DOTALL)[0]
    measured, printed, *_ = kegg.split("</tr>")
    assert "209.85" in printed
    assert not re.search(r'class="num"[^>]*>\d', measured)


def test_a_run_of_several_problems_has_all_of_them_on_its_page(tmp_path, capsys):
    solved = {"problem": "closure", "phase": "solve", "dim": None, "search": None, "query_set": "all", "planned": 3}
    others = [row(**solved, impl=impl, ms=ms + trial, trial=trial) for impl, ms in (("tiled", 4.0), ("naive", 8.0))
              for trial in range(3)]  # fmt: skip
    folder = store(tmp_path / "run", [*trials(), *unguided(), *others])
    text = page_of(document.of_run(str(folder)))
    answer = text.partition('class="answer"')[2].partition("</ul>")[0]
    assert "times as fast as" in answer
    assert "Closures" in answer
    for name in ("edges", "speedup", "closure", "cells"):
        assert f'<section id="{name}">' in text
    assert text.index('class="answer"') < text.index("<table")
    assert text.count("geometric mean") >= 2
    file = f"--html={tmp_path / 'page.html'}"
    assert call(capsys, "report", folder, file, "--reference", "naive")[0] == 0
    assert call(capsys, "report", folder, file, "--reference", "moon")[0] == 2


def test_sessions_on_other_machines_are_named(tmp_path):
    folder = store(tmp_path / "run", trials())
    report = document.of_run(str(folder))
    environment = {"cpu": "A", "earlier": [{"cpu": "B", "at": "2024"}]}
    text = page_of(replace(report, run=replace(report.run, environment=environment)))
    assert "measured in 2 sessions" in text
    assert "<dd>B</dd>" in text


# ------------------------------------------------------------------ the command


def test_command_writes_the_page_beside_the_other_files(capsys, run):
    code, _, err = call(capsys, "report", run, "--html", "--reference", "dfs")
    assert code == 0
    written = (run / "report" / "report.html").read_text()
    assert str(run / "report" / "report.html") in err
    assert "Reference: dfs." in written
    assert written.endswith("</html>\n")


def test_run_in_place_of_the_file_name_is_refused_with_the_right_way(capsys, run, tmp_path):
    report = document.of_run(str(run))
    with pytest.raises(InputError, match="report RUN --html"):
        write(report, tmp_path / "some-run")
    assert call(capsys, "report", run, "--html", tmp_path / "other-run")[0] == 2


def test_run_in_which_nothing_was_measured_is_shown_and_exits_with_3(capsys, tmp_path):
    folder = store(tmp_path / "run", lost("failed", HOSTILE))
    code, _, err = call(capsys, "report", folder, "--html")
    assert code == 3
    assert "1 failed" in err
    assert "1 failed" in (folder / "report" / "report.html").read_text()


# ------------------------------------------------------------------ colours


def luminance(colour):
    """WCAG 2 relative luminance of '#rrggbb' or (r, g, b)."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)] if isinstance(colour, str) else colour
    linear = [p / 255 / 12.92 if p / 255 <= 0.04045 else ((p / 255 + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_a_contrast_of_four_and_a_half_and_marks_of_three(theme):
    colours = COLOURS[theme]
    for text, ground in product(("ink", "soft", "link", "good", "bad"), ("page", "raised")):
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for mark in style.LIGHT if theme == "light" else style.DARK:
        assert contrast(mark, colours["page"]) >= 3.0, mark
