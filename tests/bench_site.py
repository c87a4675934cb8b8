"""How long the leaderboard of a site takes to answer a reader, in a Chromium: `python tests/bench_site.py`.

A page of 50,000 made-up cells shows all of a problem, and then each thing that a reader may do is done several times:
real keys and clicks, from the time that the browser gives to the event until the frame after it is drawn. Exit code 1
if one takes longer than 200 ms, 4 without a Chromium on PATH.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from boards import DESK, many, page
from browser import NAMES, Browser, installed

LIMIT_MS = 200
ALL = "#problem=reachability&machine=all&queries=&best=no"  #: the view with all cells of a problem
_WATCH = """(() => {
  window.took = [];
  for (const kind of ["keydown", "click", "change"]) {
    const took = (event) => window.took.push(performance.now() - event.timeStamp);
    addEventListener(kind, (event) => requestAnimationFrame(() => setTimeout(took, 0, event)), true);
  }
})()"""
_WAIT = """new Promise((done) => {
  const look = () => took.length ? done(took.splice(0)) : setTimeout(look, 5);
  look();
})"""


def click(browser: Browser, selector: str, at: int = 0) -> None:
    """A click of the mouse on an element that a selector finds, the first or number `at`."""
    where = browser.run(
        f"""(() => {{ const found = document.querySelectorAll({json.dumps(selector)})[{at}];
        found.scrollIntoView({{ block: "center", inline: "center" }});
        const box = found.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2]; }})()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)


def key(browser: Browser, text: str) -> None:
    """A key pressed and released, in the element that has the focus."""
    browser.call("Input.dispatchKeyEvent", type="keyDown", text=text, key=text)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=text)


def choose(browser: Browser, name: str, at: int) -> None:
    """Another option of a select; what a menu of the system does cannot be clicked."""
    browser.run(
        f"""(() => {{ const pick = document.querySelector('[data-choice="{name}"]');
        pick.selectedIndex = {at}; pick.dispatchEvent(new Event("change")); }})()"""
    )


def letters(browser: Browser, text: str) -> None:
    browser.run("""document.querySelector('[data-choice="graph"]').focus()""")
    for letter in text:
        key(browser, letter)
        yield from browser.run(_WAIT)


def acts(browser: Browser) -> dict[str, Callable]:
    """What a reader may do, by its name: each a function of the number of the attempt that gives the ms it took."""

    def one(act: Callable) -> Callable:
        def attempt(number: int) -> list[float]:
            act(number)
            return browser.run(_WAIT)

        return attempt

    selects = ("set", "impl", "machine", "time", "queries")
    return {
        "type a letter into a filter": lambda number: letters(browser, "graph-1"),
        **{f"choose: {name}": one(lambda n, name=name: choose(browser, name, (n + 1) % 2)) for name in selects},
        "fastest of each graph": one(lambda n: click(browser, '[data-choice="best"]')),
        "sound cells": one(lambda n: click(browser, '[data-choice="sound"]')),
        "sort by a name": one(lambda n: click(browser, '.sort[data-key="impl"]')),
        "sort by a time": one(lambda n: click(browser, '.sort[data-key="solve"]')),
        "sort by rank": one(lambda n: click(browser, '.sort[data-key="rank"]')),
        "next page": one(lambda n: click(browser, ".pager button", 1)),
        "another problem": one(lambda n: click(browser, ".problems button", 1 - n % 2)),
        "reset": one(lambda n: click(browser, ".reset")),
    }  # fmt: skip


def measure(file: Path, attempts: int, profile: Path) -> tuple[float, dict[str, list[float]]]:
    """Seconds until the page is there, and the ms of each act by its name."""
    browser = Browser(installed(), profile)
    try:
        browser.window(DESK)
        start = perf_counter()
        browser.open(file)
        opened = perf_counter() - start
        browser.run(_WATCH)
        found = {}
        for name, act in acts(browser).items():
            browser.run(f"location.hash = {json.dumps(ALL)}")
            browser.run("new Promise((done) => setTimeout(done, 400))")
            browser.run("took.length = 0")
            found[name] = [ms for number in range(attempts) for ms in act(number)]
        assert not browser.errors, browser.errors
        return opened, found
    finally:
        browser.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, default=50_000)
    parser.add_argument("--attempts", type=int, default=6, help="of each act")
    parser.add_argument("--json", action="store_true", help="records instead of a table")
    asked = parser.parse_args()
    if installed() is None:
        print(f"no Chromium on PATH ({', '.join(NAMES)})", file=sys.stderr)
        return 4
    with tempfile.TemporaryDirectory() as folder:
        file = page(many(asked.cells), Path(folder) / "index.html")
        bytes_ = file.stat().st_size
        opened, found = measure(file, asked.attempts, Path(folder) / "profile")
    records = [{"act": name, "median_ms": round(median(each), 1), "worst_ms": round(max(each), 1), "times": len(each)}
               for name, each in found.items()]  # fmt: skip
    worst = max(each["worst_ms"] for each in records)
    if asked.json:
        about = {"cells": asked.cells, "bytes": bytes_, "open_s": round(opened, 2)}
        print(json.dumps({**about, "acts": records}, indent=1))
    else:
        print(f"{asked.cells:,} cells, a page of {bytes_ / 1e6:.1f} MB, there after {opened:.2f} s\n")
        print(f"{'':30}{'median ms':>12}{'worst ms':>12}{'times':>8}")
        for each in records:
            print(f"{each['act']:30}{each['median_ms']:12}{each['worst_ms']:12}{each['times']:8}")
        print(f"\nworst: {worst:.1f} ms, {'at most' if worst <= LIMIT_MS else 'MORE THAN'} {LIMIT_MS}")
    return int(worst > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
