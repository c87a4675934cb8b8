"""The HTML report in a headless Chromium: silent, alone, as wide as the window, and alive."""

import json

import pytest
from stored import everything, store

from grailbench.report import document
from grailbench.report.page import write

WIDTHS = (360, 1280)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = store(tmp_path_factory.mktemp("browser") / "run", everything())
    report = document.of_run(str(folder))
    return write(report, folder / "report.html")


@pytest.fixture
def page(browser, file):
    """The page, loaded anew at 1280 pixels on a light system."""
    browser.window(1280)
    browser.open(file)
    return browser


def column(page, table, at):
    """The texts of one column of the table whose caption begins so; of a stacked one, those of first lines."""
    script = f"""(() => {{
      const table = [...document.querySelectorAll("table")]
        .find((t) => t.caption.textContent.startsWith({json.dumps(table)}));
      const stacked = table.classList.contains("stacked");
      return stacked ? [...table.tBodies].map((body) => body.rows[0]) : [...table.tBodies[0].rows];
    }})()"""
    return page.run(f"{script}.map((row) => row.cells[{at}].textContent)")


def click_header(page, table, at):
    page.run(
        f"""[...document.querySelectorAll("table")].find((t) => t.caption.textContent.startsWith({json.dumps(table)}))
        .tHead.rows[0].cells[{at}].querySelector("button").click()"""
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_loads_alone_and_nothing_sticks_out(browser, file, width, scheme):
    browser.window(width, scheme=scheme)
    browser.open(file)
    browser.run("new Promise((done) => setTimeout(done, 50))")
    assert browser.errors == []
    assert browser.requests == [file.resolve().as_uri()]
    browser.run('document.querySelectorAll("details").forEach((each) => { each.open = true; })')
    assert browser.run("document.documentElement.scrollWidth") == width
    outside = """[...document.querySelectorAll("main *:not(.scroll *)")]
      .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.outerHTML.slice(0, 120))"""
    assert browser.run(outside) == []


def test_click_on_the_names_sorts_by_name(page):
    click_header(page, "Table 2.4", 0)
    shown = column(page, "Table 2.4", 0)
    assert shown == sorted(shown)
    click_header(page, "Table 2.4", 0)
    assert column(page, "Table 2.4", 0) == shown[::-1]


def test_box_of_a_legend_hides_its_marks(page):
    count = """document.querySelectorAll('#edges [data-series="0"]:not(.hidden)').length"""
    box = """document.querySelector('#edges [data-key="0"]').dispatchEvent(new MouseEvent("click", {bubbles: true}))"""
    before = page.run(count)
    page.run(box)
    assert before > 0
    assert page.run(count) == 0
    page.run(box)
    assert page.run(count) == before


@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_theme_is_the_system_s_until_the_button_turns_it(browser, file, scheme, other):
    browser.window(1280, scheme=scheme)
    browser.open(file)
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}
    assert browser.run(ground) == colours[scheme]
    browser.run('document.querySelector(".theme").click()')
    assert browser.run(ground) == colours[other]


def test_links_of_marks_are_one_stop_of_the_keyboard_with_arrows_between_them(browser, tmp_path):
    from pandas import DataFrame

    from grailbench.report import draw
    from grailbench.report.figure import Figure, Mark, Marks, Panel

    marks = tuple(Mark("one", 10.0**n, 2.0, f"mark {n}", link=f"#c{n}") for n in range(3))
    drawn = draw.svg(Figure("edges", DataFrame(), Marks((Panel("", marks),), ("one",))))
    file = tmp_path / "links.html"
    file.write_text(f"<!DOCTYPE html><style>{draw.styles()}</style>{drawn}<script>{draw.script()}</script>")
    browser.open(file)

    def key(name, text=""):
        for kind in ("keyDown", "keyUp"):
            code = {"Tab": 9, "Enter": 13, "ArrowRight": 39}[name]
            browser.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                         **({"text": text} if text and kind == "keyDown" else {}))  # fmt: skip
        return browser.run("document.activeElement.getAttribute('aria-label')")

    reached = [key("Tab") for _ in range(6)]
    assert {name for name in reached if name and name.startswith("mark")} == {"mark 0"}, "one stop"
    browser.run("document.activeElement.blur(); document.querySelector('a[href]').focus()")
    hint = "document.querySelector('.hint').textContent"
    assert browser.run(hint) == "mark 0"
    assert key("ArrowRight") == "mark 1"
    assert browser.run(hint) == "mark 1", "each mark has a hint of its own"
    pointer = "dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    for n in (2, 0, 2):
        browser.run(f"document.querySelectorAll('a > use')[{n}].{pointer}")
        assert browser.run(hint) == f"mark {n}"
    key("Enter", "\r")
    assert browser.run("location.hash") == "#c1"
    browser.run("document.querySelector('a[href=\"#c2\"] use').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert browser.run("location.hash") == "#c2"
