"""A site in a headless Chromium: silent, alone, as wide as the window, by keyboard, on paper and for screen readers."""

import pytest
from sites import MARKS, built

from grailbench.report.site.build import NAV
from grailbench.report.site.entries import slug

RUN = f"runs/{slug(MARKS)}.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    built(place / "runs", place / "out")
    return place / "out"


@pytest.mark.parametrize("address", ["index.html", RUN])
@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (1280, "light"), (1280, "dark")])
def test_pages_load_alone_and_nothing_sticks_out(browser, site, address, width, scheme):
    browser.window(width, scheme=scheme)
    browser.open(site / address)
    browser.run('document.querySelectorAll("details").forEach((each) => { each.open = true; })')
    assert browser.errors == []
    assert browser.requests == [(site / address).resolve().as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    outside = """[...document.querySelectorAll("body *:not(.scroll *):not(.skip)")]
      .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.outerHTML.slice(0, 120))"""
    assert browser.run(outside) == []
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]
    assert browser.run("getComputedStyle(document.body).backgroundColor") == ground


def _press(browser, key, code):
    for kind in ("keyDown", "keyUp"):
        text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)


def test_the_keyboard_skips_to_the_content_and_reaches_the_other_pages(browser, site):
    browser.window(1280)
    browser.open(site / RUN)
    focused = 'document.activeElement.textContent.trim().replace(/\\s+/g, " ")'
    _press(browser, "Tab", 9)
    assert browser.run(focused) == "Skip to the content"
    assert browser.run("document.activeElement.getBoundingClientRect().left >= 0")
    seen = []
    for _ in range(2 + len(NAV)):
        _press(browser, "Tab", 9)
        seen.append(browser.run(focused))
        assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert seen[1:] == ["Dark page", *(title for title, _ in NAV)]
    browser.open(site / RUN)
    _press(browser, "Tab", 9)
    _press(browser, "Enter", 13)
    assert browser.run("document.activeElement.id") == "content"


def test_an_address_of_a_folded_cell_unfolds_and_marks_it(browser, site, tmp_path):
    text = (site / RUN).read_text("utf-8")
    (tmp_path / "folded.html").write_text(
        text.replace('<div class="scroll"', '<details><summary>all</summary><div class="scroll"'), "utf-8"
    )
    browser.window(1280)
    browser.open(tmp_path / "folded.html")
    name = browser.run('document.querySelector("details tbody[id]").id')
    assert not browser.run('document.querySelector("details").open')
    browser.run(f'history.replaceState(null, "", "#{name}"); dispatchEvent(new HashChangeEvent("hashchange"))')
    assert browser.run('document.querySelector("details").open'), "also where the browser does not unfold it itself"
    browser.run(f'location.hash = ""; location.hash = "{name}"')
    assert browser.run('document.querySelector("tbody:target").id') == name


def test_paper_is_light_and_has_what_is_folded(browser, site):
    browser.window(1000, scheme="dark", media="print")
    browser.open(site / RUN)
    browser.run('dispatchEvent(new Event("beforeprint"))')
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run('[...document.querySelectorAll("details")].every((each) => each.open)')
    assert browser.run('[...document.querySelectorAll("nav")].every((each) => !each.checkVisibility())')
