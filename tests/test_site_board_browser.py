"""The leaderboard in a headless Chromium: choices give what pandas gives, by keyboard, on a phone, in the dark."""

import json

import pandas
import pytest
from boards import DESK, PHONE, decoded, many, page
from stored import HOSTILE
from test_site_board import stored

from grailbench.harness.rows import TIMED
from grailbench.report.site.board import encoded, natural
from grailbench.util.visible import visible

ENTRIES = stored() + many(400, graphs=12)


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


def choose(page, **choices):
    """Set controls as a reader does, one after another."""
    for name, value in choices.items():
        page.run(
            f"""(() => {{ const pick = document.querySelector('[data-choice="{name}"]'), value = {json.dumps(value)};
            if (pick.type === "checkbox") {{ if (pick.checked !== value) pick.click(); return; }}
            pick.value = value;
            pick.dispatchEvent(new Event(pick.type === "search" ? "input" : "change")); }})()"""
        )


def lines(page, script):
    """The value of a script for each line of the table, `row`, on all of its pages; `cell(key)` is one of its cells."""
    script = f"""(() => {{
      const keys = [...document.querySelectorAll(".board .sort")].map((each) => each.dataset.key);
      return [...document.querySelectorAll(".board tbody tr")].map((row) => {{
        const cell = (key) => row.cells[keys.indexOf(key)];
        return {script};
      }});
    }})()"""
    found, forward = page.run(script), 'document.querySelectorAll(".pager button")[1]'
    while page.run(f'!{forward}.closest(".pager").hidden && {forward}.getAttribute("aria-disabled") === "false"'):
        page.run(f"{forward}.click()")
        found += page.run(script)
    return found


def said(page):
    return page.run('document.querySelector(".board [role=status]").textContent')


def wanted(cells, time="answers", best=True, sound=True, queries="random", **equal):
    """The lines of a view by pandas, in their order: graph by graph, the fastest first."""
    fit = cells[cells.problem == "reachability"]
    fit = fit[fit.status.isin(TIMED)] if sound else fit
    fit = fit[fit.kind == queries] if queries else fit
    part = equal.pop("graph", "").lower()
    fit = fit[fit.graph.str.lower().str.contains(part, regex=False)]
    for name, value in equal.items():
        fit = fit[fit[name] == value]
    fit = fit.assign(number=pandas.to_numeric(fit[time]), asked=fit.queries.map(natural), by=fit.graph.map(natural))
    group = fit.groupby(["graph", "set", "queries"]).number
    fit = fit.assign(rank=group.rank(method="min"), of=group.transform("count"))
    if best:
        fit = fit.dropna(subset="number").sort_values(
            ["of", "asked", "number"], ascending=[False, True, True], kind="stable"
        )
        fit = fit.drop_duplicates(["graph", "set"])
    return fit.sort_values(["by", "set", "asked", "number"], kind="stable")


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_loads_alone_silent_and_as_wide_as_the_window(browser, file, width, scheme):
    browser.window(width, scheme=scheme)
    browser.open(file)
    assert browser.requests == [file.resolve().as_uri()]
    assert browser.errors == []
    browser.run('document.querySelectorAll("details").forEach((each) => { each.open = true; })')
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.run('document.querySelector(".board .scroll").scrollWidth') > width
    small = """[...document.querySelectorAll(".board button, .board select, .board input[type=search]")]
      .filter((e) => e.offsetParent && e.getBoundingClientRect().height < 24).map((e) => e.outerHTML)"""
    assert browser.run(small) == []


@pytest.mark.parametrize(
    "choices",
    [
        {"best": False},
        {"best": False, "queries": "", "time": "solve"},
        {"best": False, "queries": "balanced", "time": "build", "impl": "implementation-7"},
        {"best": False, "set": "imported", "time": "alone"},
        {"best": False, "graph": "graph-1", "queries": ""},
        {"time": "ready", "queries": ""},
        {"graph": "GRAPH-1", "time": "built"},
        {"best": False, "sound": False, "machine": "aaaa", "queries": ""},
        {"machine": "00000003"},
        {"best": False, "time": "alone"},
        {"graph": "upper"},
    ],
    ids=str,
)
def test_choices_give_what_pandas_gives(board_page, cells, choices):
    choose(board_page, **{"machine": "all", **choices})
    expected = wanted(cells, **choices).to_dict("records")
    assert expected
    summary = said(board_page)
    shown = lines(board_page, '[cell("rank").textContent, cell("rank").querySelector("a")?.getAttribute("href")]')
    timed = [each for each in expected if not pandas.isna(each["number"])]
    assert [tuple(line) for line in shown if line[0] != "–"] == [
        (f"{each['rank']:.0f} of {each['of']:.0f}", each["address"]) for each in timed
    ]
    assert len(shown) == len(expected)
    assert summary.startswith(f"{len(expected):,} line")
    assert board_page.run('document.querySelector(".board .warning").hidden') == ("machine" in choices)


def test_every_number_of_a_line_leads_to_its_row(board_page, cells):
    choose(board_page, machine="all", best=False, time="solve")
    found = lines(board_page, '[...row.querySelectorAll(".num a")].map((a) => a.getAttribute("href"))')
    assert min(map(len, found)) > 2
    assert [set(each) for each in found] == [{address} for address in wanted(cells, "solve", best=False).address]
    script = '["graph", "impl", "run"].map((key) => cell(key).querySelector("a").getAttribute("href"))'
    board_page.run("document.querySelector('.board .pager button').click()")
    by = {entry.address: entry for entry in ENTRIES}
    page_of = '[row.querySelector(".num a").getAttribute("href"), ' + script + "]"
    for address, named in lines(board_page, page_of):
        entry = by[address]
        assert named == [entry.graph_address, entry.implementation_address, entry.source.address]


def test_header_sorts_turns_round_and_keeps_the_focus(board_page):
    choose(board_page, machine="all", best=False, sound=False)
    head = """document.querySelector('.board .sort[data-key="answers"]')"""
    for turned, way in ((False, "ascending"), (True, "descending")):
        board_page.run(f"{head}.focus(); {head}.click()")
        assert board_page.run(f'{head}.closest("th").ariaSort') == way
        assert board_page.run(f"document.activeElement === {head}")
        assert board_page.run('document.querySelectorAll(".board [aria-sort]").length') == 1
        shown = lines(board_page, 'cell("answers").textContent')
        numbers = [float(text.replace(",", "")) for text in shown if text[0].isdigit()]
        assert len(shown) > len(numbers) > 50
        assert numbers == sorted(numbers, reverse=turned)
        assert not any(text[0].isdigit() for text in shown[len(numbers) :]), "what is missing comes last"


def test_address_keeps_the_view(board_page, file):
    choose(board_page, machine="all", best=False, time="solve", queries="", graph="graph-1")
    board_page.run("""document.querySelector('.board .sort[data-key="rank"]').click()""")
    board_page.run("document.querySelectorAll('.pager button')[1].click()")
    view = '[document.querySelector(".board caption").textContent, document.querySelector(".board tbody").textContent]'
    kept, shown, summary = board_page.run("location.hash"), board_page.run(view), said(board_page)
    assert "page 2 of" in summary
    again = file.with_name("again.html")
    again.write_bytes(file.read_bytes())
    board_page.open(again, kept)
    assert (board_page.run("location.hash"), board_page.run(view), said(board_page)) == (kept, shown, summary)
    choices = (
        'Object.fromEntries([...document.querySelectorAll("[data-choice]")].map((e) => [e.dataset.choice, e.value]))'
    )
    assert (
        board_page.run(choices).items()
        >= {"machine": "all", "time": "solve", "queries": "", "graph": "graph-1"}.items()
    )


def test_hostile_names_are_only_text(board_page):
    choose(board_page, machine="all", best=False, sound=False, queries="")
    graphs = lines(board_page, 'cell("graph").textContent')
    for name in (HOSTILE, "__proto__", "constructor", '"><img src=x onerror=alert(1)>', "\u202eksa"):
        assert visible(name) in graphs
    assert board_page.run('document.querySelectorAll("img").length') == 0
    assert board_page.run("document.scripts.length") == 2, "the page's own, and its data"
    choose(board_page, impl="__proto__")
    assert lines(board_page, 'cell("run").textContent') == [f"{HOSTILE} (submitted)"]
    assert lines(board_page, 'cell("graph").textContent') == ["__proto__"]
