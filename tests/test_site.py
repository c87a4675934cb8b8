"""`grailbench site`: pages that lead to one another, load nothing, hide nothing, and are there whole or not at all."""

import base64
import csv
import hashlib
import json
import os
import re
import shutil

import pytest
from commands import call
from hypothesis import given
from hypothesis import strategies as st
from markup import Page
from outcomes import succeeds, tells
from sites import MARKS, built
from stored import ENVIRONMENT, HOSTILE, everything, row, store, trials

from grailbench.errors import InputError, MachineLacks
from grailbench.harness import cells
from grailbench.report import cite
from grailbench.report.site import build, entries, folder
from grailbench.report.site.entries import anchor, graph_address, implementation_address, slug
from grailbench.util.words import short

PAPERS = {(address, "noreferrer") for _, address in cite.links()}
LIBRARIES = ("index.html", "leaderboard.html")  #: pages with a library of JavaScript


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    built(place / "runs", place / "out")
    return place / "out"


@pytest.fixture(scope="module")
def pages(site):
    """The pages by address."""
    return {path.relative_to(site).as_posix(): Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A run of its own folder, and its site, to be built again."""
    place = tmp_path_factory.mktemp("own")
    store(place / "run", [*trials(), *trials(dataset="human")])
    store(place / "other", trials(dataset="human", query=3.0))
    return place


def contents(out):
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def written(out, files):
    with folder.renewed(out) as site:
        for address, content in files.items():
            site.write(address, content)


def made(*folders, out):
    return build.build(entries.chosen(folders), out)


# ------------------------------------------------------------------ what leads where


@given(st.lists(st.text(st.characters() | st.sampled_from("aA-._/:é "), max_size=6), unique=True, max_size=20))
def test_every_name_gives_a_file_name_and_no_two_the_same_also_where_case_is_ignored(names):
    found = {slug(name) for name in names}
    assert all(re.fullmatch(r"[a-z0-9](?:[a-z0-9._-]{0,58}[a-z0-9])?", each) for each in found)
    assert len(found) == len(names)


def test_plain_names_are_addresses_but_for_the_index_and_each_problem_has_its_own():
    for name in ("kegg", "cit-patents-like", "uniprotenc_22"):
        assert graph_address(name) == f"graphs/{name}.html"
    assert graph_address("index") != "graphs/index.html"
    assert implementation_address("fused", "bfs") != implementation_address("fused", "sssp")


@pytest.mark.slow
def test_there_is_a_page_for_everything(pages):
    assert {"index.html", "about.html", "graphs/index.html", "implementations/index.html", "runs/index.html",
            "graphs/kegg.html", "implementations/sequential.html", "implementations/closure-tiled.html",
            f"runs/{slug(MARKS)}.html", f"graphs/{slug(HOSTILE)}.html"} <= set(pages)  # fmt: skip
    assert len([address for address in pages if address.startswith("runs/")]) == 5, "two machines are two runs"


@pytest.mark.slow
def test_every_link_leads_to_a_file_and_an_element_of_it(site, pages):
    seen = 0
    for address, page in pages.items():
        for attributes, _ in page.all("a"):
            target, _, name = attributes["href"].partition("#")
            if target.startswith("data:text/csv;") or (target, attributes.get("rel")) in PAPERS:
                continue
            assert ":" not in target, (address, attributes)
            path = ((site / address).parent / target).resolve() if target else site / address
            assert path.is_file(), (address, attributes)
            if name:
                assert name in pages[path.relative_to(site.resolve()).as_posix()].ids, (address, attributes)
                seen += 1
    assert seen > 50


def test_every_page_can_be_reached_from_the_first_one(site, pages):
    reached, left = set(), ["index.html"]
    while left:
        address = left.pop()
        if address in reached or address not in pages:
            continue
        reached.add(address)
        targets = {attributes["href"].partition("#")[0] for attributes, _ in pages[address].all("a")
                   if "rel" not in attributes}  # fmt: skip
        left += [os.path.normpath(os.path.join(os.path.dirname(address), target)) for target in targets if target]
    assert reached == set(pages)


def test_nothing_is_loaded_and_only_the_page_s_own_code_may_work(pages):
    for address, page in pages.items():
        assert not page.all("img", "iframe", "object", "base", "form"), address
        assert [found["href"][:10] for found, _ in page.all("link")] == ["data:image"], "the mark of the tab"
        (script,), (sheet,) = [each for each in page.all("script") if "type" not in each[0]], page.all("style")
        assert {found["type"] for found, _ in page.all("script") if found} <= {"application/json"}, "data do not run"
        assert (script[0], sheet[0]) == ({}, {})
        (policy,) = (found["content"] for found, _ in page.all("meta") if "http-equiv" in found)
        for kind, (_, code) in (("script", script), ("style", sheet)):
            assert f"{kind}-src 'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}';" in policy
            if address not in LIBRARIES:  # whose comments have their addresses
                assert "http" not in code
            assert "@import" not in code
        assert "default-src 'none'" in policy
        assert "img-src data:;" in policy
        names = {name for _, attributes, _ in page.elements for name in attributes}
        assert "style" not in names
        assert not [name for name in names if name.startswith("on") or name in ("src", "srcset", "action")]


# ------------------------------------------------------------------ whom it is readable for


def test_pages_have_a_title_a_language_one_heading_and_no_step_left_out(pages):
    for address, page in pages.items():
        assert page.elements[0][:2] == ("html", {"lang": "en", "class": "no-js"})
        assert page.all("title")[0][1].strip()
        assert [found["content"] for found, _ in page.all("meta") if found.get("name") == "description"][0]
        levels = [int(name[1]) for name, _, _ in page.elements if name in ("h1", "h2", "h3", "h4")]
        assert levels[0] == 1, address
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False)), address
        assert len(set(page.ids)) == len(page.ids), address
        assert [found for found, _ in page.all("main")] == [{"id": "content", "tabindex": "-1"}]
        skip, text = page.all("a")[0]
        assert (skip["href"], text) == ("#content", "Skip to the content")
    titles = [page.all("title")[0][1] for page in pages.values()]
    assert len(set(titles)) == len(titles), "tabs of a browser are told apart"


def test_tables_have_captions_and_heads_and_figures_their_data(pages):
    for address, page in pages.items():
        assert len(page.all("caption")) == len(page.all("table")), address
        assert all(text.strip() for _, text in page.all("caption", "button", "a", "th")), address
        assert all("scope" in found for found, _ in page.all("th"))
        assert all(found.get("aria-label") for found, _ in page.all("nav"))
        assert all(found.get("aria-label") or found.get("aria-hidden") for found, _ in page.all("svg"))
        assert len([1 for found, _ in page.all("a") if "csv" in found.get("class", "")]) >= len(page.all("figure"))
        assert len({found["aria-label"] for found, _ in page.all("nav")}) == len(page.all("nav")), address


def test_names_are_text_whatever_they_try(pages):
    assert sum(HOSTILE in text for page in pages.values() for _, text in page.all("h1")) == 2
    for page in pages.values():
        assert 'alert("x")' not in "".join(text for found, text in page.all("script", "style") if not found)
        assert "onerror" not in {name for _, attributes, _ in page.elements for name in attributes}


# ------------------------------------------------------------------ what it says


def test_every_cell_has_its_row_with_all_phases_and_how_it_was_checked(site, pages, tmp_path):
    run = cells.read(store(tmp_path / "run", everything()))
    page = pages[f"runs/{slug(MARKS)}.html"]
    bodies = {found["id"]: text for found, text in page.all("tbody") if "id" in found}
    assert set(bodies) == {anchor(cell) for cell in run.cells}
    for cell in run.cells:
        said = bodies[anchor(cell)]
        assert cell.status in said
        assert cell.reason in said
        assert f"checked by {cell.verified}" in said
        for (under, phase), stats in cell.phases.items():
            assert f"{under}/{phase}" * bool(under) or phase in said
            assert short(stats.median) in said
    (facts,) = [text for _, text in page.all("dl")][:1]
    assert "grailbench run" in facts
    assert hashlib.sha256((tmp_path / "run" / "trials.jsonl").read_bytes()).hexdigest() in facts
    assert "Who is fastest" in [text for _, text in page.all("h3")]


def test_every_time_is_in_the_data_of_its_run_and_names_its_cell(site, pages):
    rows = everything()
    with open(site / "data" / "runs" / f"{slug(MARKS)}.csv", newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [float(each["ms"]) for each in found if each["ms"]] == [each["ms"] for each in rows if each["phase"]]
    assert {each["cell"] for each in found} <= set(pages[f"runs/{slug(MARKS)}.html"].ids)
    with open(site / "data" / "cells.csv", newline="", encoding="utf-8") as file:
        every = list(csv.DictReader(file))
    assert {(each["run"], each["cell"]) for each in every if each["run"] == MARKS} == {
        (MARKS, e["cell"]) for e in found
    }
    assert {each["problem"] for each in every} == {"reachability", "closure"}


def test_cells_of_two_machines_are_two_runs_with_their_own_processors(pages):
    two = {address: page for address, page in pages.items() if address.startswith("runs/shared")}
    assert sorted(len(page.all("tbody")) for page in two.values()) == [1, 1]
    assert sorted("CPU a" in page.all("dl")[0][1] for page in two.values()) == [False, True]


@pytest.mark.slow
def test_a_large_run_is_folded_by_graph_and_times_that_cannot_be_trusted_are_said_to_be_so(tmp_path):
    rows = [each for n in range(41) for each in trials(count=1, planned=1, dataset=f"g{n % 3}", dim=n + 1)]
    rows += [each for n in (1, 2) for each in trials(count=1, planned=1, dataset="seeds", seed=n)]
    rows += [each | {"ms": each["ms"] * (1 + each["trial"])} for each in trials(count=18, planned=18)]
    made(store(tmp_path / "run", rows), out=tmp_path / "out")
    text = (tmp_path / "out" / "runs" / "run.html").read_text("utf-8")
    folded = [words.strip() for _, words in Page(text).all("summary")]
    assert folded == ["g0: 14", "g1: 14", "g2: 13", "seeds: 1", "kegg: 1"]
    assert "UNSTABLE: run again." in text
    assert "UNSTABLE: label" in text


# ------------------------------------------------------------------ whole or not at all


@pytest.mark.slow
def test_the_same_runs_give_the_same_files_and_stale_ones_go(own, tmp_path):
    out = tmp_path / "deep" / "out"
    paths = made(own / "run", own / "other", out=out)
    first = contents(out)
    assert [path.relative_to(out).as_posix() for path in paths] == sorted(first)
    made(own / "run", out=out)
    assert set(first) - set(contents(out)) == {"runs/other.html", "data/runs/other.csv"}
    made(own / "run", own / "other", out=out)
    assert contents(out) == first
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.slow
@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError, MachineLacks])
def test_a_build_that_stops_or_cannot_take_its_place_leaves_the_old_site(own, tmp_path, monkeypatch, stop):
    out = tmp_path / "out"
    made(own / "run", out=out)
    before, rename = contents(out), os.rename

    def written(address):
        if address == "graphs/kegg.html" and stop is not MachineLacks:
            raise stop

    def renamed(old, new):
        if str(new) == str(out) and str(old).endswith(".new"):
            raise OSError(28, "No space left on device")
        rename(old, new)

    monkeypatch.setattr(os, "rename", renamed)
    with pytest.raises(stop, match="No space left.*make room" if stop is MachineLacks else None):
        build.build(entries.chosen([own / "other", own / "run"]), out, written=written)
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_what_a_killed_build_left_is_cleared_and_what_is_like_it_is_not(own, tmp_path):
    out = tmp_path / "out"
    made(own / "run", out=out)
    before = contents(out)
    out.rename(tmp_path / ".out.grailbench-01234567.old")
    for name in (".out.grailbench-01234567.new", ".out.mine.new", ".out.mine.old"):
        (tmp_path / name).mkdir()
    escaped = {"../escaped.html": b""}
    with pytest.raises(InputError, match="no file of a site"):
        written(out, escaped)
    assert contents(out) == before, "it is put back"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.mine.new", ".out.mine.old", "out"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda out: (out / "mine.txt").write_text("mine"), "holds 'mine.txt', which no site wrote"),
        (lambda out: (out / folder.MARK).write_text("{}"), "is not the mark of a site"),
        (lambda out: (out / folder.MARK).unlink(), "no site of grailbench's"),
        (lambda out: (out / "link").symlink_to("/"), "holds 'link'"),
        (lambda out: (shutil.rmtree(out), out.write_text("a file")), "is no folder"),
    ],
)
def test_what_is_not_a_site_of_ours_is_never_replaced(own, tmp_path, capsys, spoil, said):
    out = tmp_path / "out"
    made(own / "run", out=out)
    spoil(out)
    before = contents(out) if out.is_dir() else out.read_bytes()
    tells(capsys, 2, said, "site", out, own / "run")
    assert (contents(out) if out.is_dir() else out.read_bytes()) == before


def test_an_empty_folder_is_taken_and_two_pages_of_one_address_are_refused(own, tmp_path):
    (tmp_path / "out").mkdir()
    assert (tmp_path / "out" / "index.html") in made(own / "run", out=tmp_path / "out")
    with pytest.raises(InputError, match=r"two pages of the site would be A\.html"):
        written(tmp_path / "x", {"a.html": b"", "A.html": b""})
    assert not (tmp_path / "x").exists()


def test_a_history_leads_to_the_cells_of_both_sides(tmp_path):
    runs = [
        store(tmp_path / name, trials(query=ms, count=8, planned=8, key=name), ENVIRONMENT | {"at": day})
        for day, name, ms in (("2025-01-01", "old", 2.0), ("2025-01-02", "new", 9.0))
    ]
    made(*runs, out=tmp_path / "out")
    page = (tmp_path / "out" / "history.html").read_text()
    (own,) = {anchor(cell) for run in runs for cell in cells.load(run).cells}
    assert "SLOWER" in page
    assert {f'href="runs/{name}.html#{own}"' in page for name in ("old", "new")} == {True}
    assert "<svg" in page


# ------------------------------------------------------------------ the command


@pytest.mark.slow
def test_the_command_writes_it_and_leaves_out_what_has_no_row(own, tmp_path, capsys):
    empty = store(tmp_path / "empty", [])
    out, err = succeeds(capsys, "site", tmp_path / "out", own / "run", empty, "--json", "--title", "Mine")
    files = {each["path"]: each["bytes"] for each in map(json.loads, out.splitlines())}
    assert files == {str(path): path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert err == "left out, as it has no row: empty\n"
    assert "<title>Mine · Mine</title>" in (tmp_path / "out" / "index.html").read_text()
    code, out, err = call(capsys, "site", tmp_path / "out", own / "run")
    assert (code, out) == (0, f"{tmp_path / 'out' / 'index.html'}\n")
    assert call(capsys, "site", tmp_path / "none", empty)[0] == 3
    assert not (tmp_path / "none").exists()


def test_a_damaged_run_is_named_with_its_line_and_an_unknown_one_too(own, tmp_path, capsys):
    damaged = store(tmp_path / "run", [*trials(), row(status="no status")])
    tells(capsys, 2, f"{damaged / 'trials.jsonl'}, line 5: ", "site", tmp_path / "out", own / "run", damaged)
    assert call(capsys, "site", tmp_path / "out", tmp_path / "nowhere")[0] == 2
    assert not (tmp_path / "out").exists()


def test_runs_are_called_as_their_folders_with_as_much_as_tells_them_apart(tmp_path, monkeypatch):
    made = [tmp_path / name for name in ("a/run", "b/run", "c/other", "b/../a/run")]
    for each in made:
        each.mkdir(parents=True, exist_ok=True)
    assert [each.name for each in entries.chosen(made)] == ["a/run", "b/run", "c/other"]
    assert [each.name for each in entries.chosen(made[2:3])] == ["other"]


def test_the_usual_runs_are_the_recorded_ones_else_the_stored_ones(tmp_path, monkeypatch):
    found = entries.chosen([])
    assert {"h200/gpu-index", "ci"} <= {each.name for each in found}
    assert {each.origin for each in found} == {"recorded"}
    monkeypatch.setattr("grailbench.util.paths.checkout", lambda: None)
    monkeypatch.setattr("grailbench.util.paths.runs_dir", lambda: tmp_path)
    with pytest.raises(InputError, match="no run is stored"):
        entries.chosen([])
    store(tmp_path / "mine", trials())
    assert [each.folder for each in entries.chosen([])] == [tmp_path / "mine"]
