"""Pages with a leaderboard for tests, and entries made up for them."""

import random
from pathlib import Path

from stored import made

from grailbench.harness import axes
from grailbench.harness.cells import Cell
from grailbench.report.page import asset, rendered
from grailbench.report.site import board
from grailbench.report.site.entries import OWN, Entry, Source

PHONE, DESK = 360, 1280


def source(rows, environment=None, name="1", origin=OWN) -> Source:
    """A run of these rows as a site has it, without a folder."""
    return Source(name, made(rows, environment, name), origin)


def page(entries: list[Entry], path: Path) -> Path:
    """A page in the layout of a site that has the leaderboard alone."""
    text = rendered(
        "site/layout.html", [asset("site/site.css"), *board.styles()], board.scripts(), site="A site", up="",
        nav=[("Leaderboard", "index.html")], crumbs=[], address="index.html", under="", title="Leaderboard",
        description="Every cell.", sections=[], runs="1 run", data="data.csv", icon="data:,", papers=[],
    )  # fmt: skip
    path.write_text(text.replace("</main>", f"{board.block(entries)}</main>"), "utf-8", "surrogatepass")
    return path


def many(count: int, graphs: int = 500) -> list[Entry]:
    """Entries of six machines, some graphs, 60 implementations and two problems, each with all numbers that a cell of
    its problem may have; the same every time."""
    draw = random.Random(1)
    sources = [
        source([], {"cpu": f"Processor {n}", "cores": 2**n, "fingerprint": f"{n:08x}ffff"}, f"machine-{n}/run-{n}")
        for n in range(6)
    ]  # fmt: skip
    return [Entry(draw.choice(sources), _cell(draw, number, graphs)) for number in range(count)]


def _cell(draw: random.Random, number: int, graphs: int) -> Cell:
    searches = number % 10 == 9
    last, first = ("solve", "prepare") if searches else ("query", "label")
    values = {"dim": draw.randrange(1, 6), "threads": draw.choice([1, 2, 16])}
    phases = [("", first), ("", last), ("", "ready"), (first, "on_device"), (last, "on_device")]
    return Cell(
        key=(number,), problem="bfs" if searches else "reachability", dataset=f"graph-{draw.randrange(graphs)}-of-many",
        impl=f"implementation-{draw.randrange(60)}", seed=1,
        query_set=f"{draw.choice(['random', 'balanced'])}-100000-s1",
        axes={axis.name: axis.blank for axis in axes.AXES} | values,
        status="ok", reason="", planned=1, times={phase: {0: _time(draw, phase)} for phase in phases},
        rates={0: draw.lognormvariate(15, 3)} if searches else {}, kind=draw.choice(["synthetic", "imported"]),
        queries=100_000, verified=draw.choice(["closure", "certificate", "search of 64"]),
        index_bytes=draw.randrange(1 << 34), host_peak_bytes=draw.randrange(1 << 36),
        device_peak_bytes=draw.randrange(1 << 36),
        energy={"joules": draw.lognormvariate(0, 2), "seconds": 0.01, "calls": 100, "idle_watts": 80.0},
    )  # fmt: skip


def _time(draw: random.Random, phase: tuple[str, str]) -> float:
    """A time in ms; those of a device alone are often equal."""
    return draw.randrange(1, 9) if phase[0] else draw.lognormvariate(2, 3)


def decoded(data: dict) -> list[dict]:
    """The cells of `board.encoded` by header, with the names and addresses that its dictionaries stand for."""
    pages, page, anchors = data["rows"]
    return [
        {header: texts[at[n]] for header, (texts, at) in data["names"].items()}
        | {header: values[n] for header, values in data["numbers"].items()}
        | {"address": f"{pages[page[n]]}#{anchor}"} for n, anchor in enumerate(anchors)
    ]  # fmt: skip
