"""The leaderboard in a headless Chromium: filters and orders are those of pandas, on a phone too, and nothing runs."""

import json
import math

import pandas
import pytest
from boards import DESK, PHONE, decoded, many, page
from test_site_board import stored

from grailbench.report.site.board import encoded

ENTRIES = stored() + many(400, graphs=12)
SHOWN = "JSON.stringify(board.getData('active').map((row) => row.id))"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return page(ENTRIES, tmp_path_factory.mktemp("board") / "index.html")


@pytest.fixture(scope="module")
def cells():
    """All cells as the page has them."""
    return pandas.DataFrame(decoded(encoded(ENTRIES)))


@pytest.fixture
def board_page(browser, file):
    browser.window(DESK)
    browser.open(file)
    yield browser
    assert browser.errors == []
    assert [each for each in browser.requests if not each.startswith(("file:", "data:", "about:"))] == []


def test_the_first_view_is_of_pairs_the_fastest_first_and_without_a_time_last(board_page, cells):
    ids = json.loads(board_page.run(SHOWN))
    expected = cells[cells.Problem == "reachability"]
    assert sorted(ids) == expected.index.tolist()
    times = [cells["Edges to answers, ms"][at] for at in ids]
    known = [each for each in times if not math.isnan(each)]
    assert known == sorted(expected["Edges to answers, ms"].dropna())
    assert times[: len(known)] == known


@pytest.mark.parametrize(
    ("column", "typed", "fits"),
    [("n2", "tation-1", lambda cells: cells.Implementation.str.contains("tation-1")),
     ("n0", "bfs", lambda cells: cells.Problem == "bfs"),
     ("v2", "5", lambda cells: cells["Answers, ms"] <= 5)],
)  # fmt: skip
def test_what_is_typed_below_a_header_filters(board_page, cells, column, typed, fits):
    board_page.run(f"board.clearHeaderFilter(); board.setHeaderFilterValue({column!r}, {typed!r})")
    assert sorted(json.loads(board_page.run(SHOWN))) == cells[fits(cells)].index.tolist()


def test_names_are_text_and_a_phone_shows_the_time_of_each_line(browser, file):
    browser.window(PHONE)
    browser.open(file)
    browser.run("board.clearHeaderFilter()")
    assert browser.run("document.querySelectorAll('.board img, .board script').length") == 0
    assert browser.run("document.documentElement.scrollWidth") <= PHONE
    shown = browser.run("[...document.querySelectorAll('.tabulator-col-title')].filter((each) => "
                        "each.offsetParent).map((each) => each.textContent).join('|')")  # fmt: skip
    assert {"Graph", "Implementation", "Edges to answers, ms"} <= {*shown.split("|")}
    cells = "[...document.querySelectorAll('.tabulator-row > .tabulator-cell')].filter((each) => each.offsetParent)"
    ends = browser.run(f"Math.max(...{cells}.map((each) => each.getBoundingClientRect().right))")
    assert 0 < ends <= PHONE
    folded = "[...document.querySelectorAll('.tabulator-responsive-collapse')].every((each) => !each.checkVisibility())"
    assert browser.run(folded), "one line of the screen for each cell"
    browser.run("document.querySelector('.tabulator-responsive-collapse-toggle').click()")
    assert not browser.run(folded)
    assert browser.run("document.querySelector('.tabulator-responsive-collapse').innerText").startswith("Problem")
    assert browser.errors == []
