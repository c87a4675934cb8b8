"""The first page of a site: a sentence a class by the one rule of who is faster, the picture, names of machines."""

import json
from time import monotonic, sleep

import pytest
from boards import DESK, PHONE, source
from markup import Page
from sites import built, runs
from stored import enough, trials

from grailbench.errors import InputError
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel, fewer
from grailbench.report.render.html import LEGEND
from grailbench.report.site import build, home
from grailbench.report.site.entries import RECORDED, chosen, name_machines

MACHINE = {"cpu": "Test CPU", "cores": 2, "fingerprint": "aaaaaaaa"}


def three(**fields):
    return trials(count=3, parts={("", "ready"): 1.0}, **fields)


def entries_of(rows, environment=MACHINE, name="run"):
    return source([each for group in rows for each in group], environment, name).entries


def said(*rows, **more):
    return {each.title: each.sentence for each in home.classes(entries_of(rows, **more))}


def test_a_class_is_won_by_who_is_faster_and_a_tie_by_nobody():
    found = said(three(query=9.0), three(impl="core", query=3.0), three(impl="dfs", query=30.0),
                 three(query=9.0, dataset="human"), three(impl="core", query=9.0, dataset="human"),
                 three(query=1.0, dataset="dense-1m-8"),
                 three(impl="core", query=8.0, dataset="dense-1m-8"))  # fmt: skip
    assert (
        found["Published graphs, one core"]
        == "core is the fastest of 3 implementations on 1 of 2 graphs; about equal on 1."
    )
    assert found["Hard graphs, one core"] == "sequential is the fastest of 2 implementations on 1 of 1 graph."
    assert found["Published graphs, GPU"] == "nothing to compare was measured."


def test_no_verdict_is_given_above_unstable_times_or_too_few_trials():
    shaky = [
        [row | {"others": 1.5} for row in three(impl=impl, query=ms)] for impl, ms in (("core", 1.0), ("dfs", 9.0))
    ]
    title = "Published graphs, one core"
    assert said(*shaky)[title] == "no verdict on 1 of 1, unstable times."
    few = trials(impl="core", query=1.0), trials(impl="dfs", query=9.0)
    assert said(*few)[title] == "no verdict on 1 of 1, unstable times or too few trials."
    text = home.block(entries_of(shaky))
    assert "†" in text
    assert "unclear" in text


def test_a_machine_that_compared_more_implementations_with_stable_times_gives_the_verdict():
    few = entries_of([three(query=9.0, dataset=graph, impl=impl) for graph in ("kegg", "human")
                      for impl in ("sequential", "dfs")], {**MACHINE, "fingerprint": "f" * 16}, "few")  # fmt: skip
    many = entries_of([three(query=ms, impl=impl) for impl, ms in (
        ("core", 1.0), ("sequential", 9.0), ("dfs", 9.0), ("sweep", 9.0), ("supports", 9.0))])  # fmt: skip
    sentences = {each.title: each.sentence for each in home.classes([*few, *many])}
    assert sentences["Published graphs, one core"] == "core is the fastest of 5 implementations on 1 of 1 graph."


def test_six_columns_say_winner_time_runner_up_ratio_and_stability():
    def texts(of):
        page = Page(home.block(entries_of([of(query=9.0), of(impl="core", query=3.0)])))
        return [text for _, text in page.all("td")]

    assert texts(enough) == ["core d=2 dfs", "30.1 ns (30.1 to 30.2)", "sequential d=2 dfs", "3.00× as long", "yes"]
    assert texts(three)[1:] == ["30.3 ns (30.0 to 30.6)‡", "sequential d=2 dfs", "3.00‡× as long", "unknown"]


def test_the_picture_has_the_fastest_configuration_of_each_implementation_at_a_place():
    rows = [three(query=9.0), three(query=5.0, dim=3), three(impl="core", query=3.0, index_bytes=64),
            three(impl="core", query=2.0, threads=2, index_bytes=64), three(impl="dfs", query=30.0)]  # fmt: skip
    data = home.points(entries_of(rows))
    (group,) = data["groups"]
    marks = {(data["names"][name], data["places"][where]): (rate, build, size)
             for name, where, rate, build, size, *_ in group["marks"]}  # fmt: skip
    assert marks["sequential", "one core"][0] == pytest.approx(100_000 / 5.05 * 1e3, rel=1e-3)
    assert marks["core", "one core"] == (pytest.approx(100_000 / 3.03 * 1e3, rel=1e-3), 1.01, 64)
    assert {("core", "many cores"), ("dfs", "one core")} < set(marks)
    assert len(marks) == 4


def test_machines_have_the_names_of_their_folders_and_those_of_one_name_are_numbered():
    made = [source(three(), {**MACHINE, "fingerprint": digit * 16}, name, origin)
            for digit, name, origin in (("1", "h200/gpu-index", RECORDED), ("1", "h200/roads", RECORDED),
                                        ("2", "h200/older", RECORDED), ("3", "mine", "own"))]  # fmt: skip
    name_machines(made)
    titles = [each.machine.title for each in made]
    assert titles == ["h200: Test CPU, 2 cores"] * 2 + ["h200, setup 2: Test CPU, 2 cores", "Test CPU, 2 cores"]
    assert made[0].machine == made[1].machine


def test_legends_have_eight_entries_and_the_hints_of_others_stay():
    marks = tuple(Mark(f"impl-{i}", float(i + 1), 1.0, f"hint {i}") for i in range(12))
    figure = Figure("edges", None, Marks((Panel("", marks),), tuple(f"impl-{i}" for i in range(12)), Axis(), Axis()))
    found = fewer(figure, LEGEND).form
    assert found.names == (*(f"impl-{i}" for i in range(7)), "others")
    assert [mark.series for mark in found.panels[0].items][6:] == ["impl-6", *["others"] * 5]
    assert [mark.hint for mark in found.panels[0].items] == [mark.hint for mark in marks]


@pytest.mark.processes
def test_processes_give_the_pages_that_one_gives(tmp_path, monkeypatch):
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    built(tmp_path / "runs", alone)
    started = []
    monkeypatch.setattr(build, "FEW_RUNS", 1)
    monkeypatch.setattr(build, "FEW", 1)
    monkeypatch.setattr(build, "usable_cores", lambda: started.append(2) or 2)
    paths = built(tmp_path / "again", shared)
    assert started == [2, 2], "processes read the runs, and others make the pages"
    assert len(paths) > 15
    first = (alone / build.CELLS).read_text("utf-8").splitlines()[1]
    assert first.startswith("c" * 40), "runs stand in the order in which they were chosen, not by size"
    assert {path.relative_to(shared): path.read_bytes() for path in paths} == {
        path.relative_to(alone): path.read_bytes() for path in alone.rglob("*") if path.is_file()}  # fmt: skip


@pytest.mark.processes
def test_a_damaged_run_that_a_process_reads_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "FEW_RUNS", 1)
    monkeypatch.setattr(build, "usable_cores", lambda: 2)
    found = runs(tmp_path)
    (found[1] / "trials.jsonl").write_text("{}\n{}\n")
    with pytest.raises(InputError, match="everything.*line 1.*is not a measurement row"):
        build.build(chosen(found), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def canvases(browser):
    """How many pictures there are, once there is one: the page draws after it was loaded."""
    end = monotonic() + 60
    while not (found := browser.run("document.querySelectorAll('.plot canvas').length")) and monotonic() < end:
        sleep(0.05)
    return found


def test_the_picture_is_drawn_and_a_graph_can_be_picked(browser, tmp_path):
    rows = [three(impl=impl, query=ms, dataset=name) for name in ("kegg", "human")
            for impl, ms in (("core", 1.0), ("dfs", 9.0), ("sequential", 4.0))]  # fmt: skip
    made = entries_of(rows)
    frame = build.Frame("A site", "1 run")
    address, content = build._home(frame, [made[0].source], made)
    (tmp_path / address).write_bytes(content)
    for width in (DESK, PHONE):
        browser.window(width)
        browser.open(tmp_path / address)
        assert canvases(browser) == 1
        assert browser.run("document.documentElement.scrollWidth") <= width
        options = browser.run("JSON.stringify([...document.querySelectorAll('[data-pick=group] option')]"
                              ".map((each) => each.textContent.split(' ')[0]))")  # fmt: skip
        assert json.loads(options) == ["human", "kegg"]
        browser.run("(() => { const pick = document.querySelector('[data-pick=axis]'); pick.value = '4';"
                    " pick.dispatchEvent(new Event('change')); })()")  # fmt: skip
        assert canvases(browser) == 1
    assert browser.errors == []
