"""The leaderboard's data and its default view, in Python: nothing lost on the way, nothing that runs, small enough."""

import json

import pandas
import pytest
from boards import decoded, many, page, source
from hypothesis import given
from hypothesis import strategies as st
from markup import Page
from stored import HOSTILE, everything, lost, trials

from grailbench.harness.rows import SOUND
from grailbench.report.site import board
from grailbench.report.site.board import NUMBERS, encoded, natural, numbers
from grailbench.report.site.entries import SUBMITTED
from grailbench.util import words
from grailbench.util.visible import visible

NAMES = st.one_of(
    st.text(min_size=1, max_size=12),
    st.sampled_from([HOSTILE, "__proto__", "constructor", "\u202eabc", "</script><!--", "\ud800", "kegg", "9" * 5000]),
)
MS = st.floats(1e-6, 1e9)


def entries_of(*sources):
    return [entry for each in sources for entry in each.entries]


def stored():
    """Entries of two machines: all that a report must cope with, and hostile names."""
    odd = {"cpu": HOSTILE, "cores": 2, "fingerprint": "__proto__"}
    more = [row for name in ("__proto__", "constructor", '"><img src=x onerror=alert(1)>', "\u202eksa", "UPPER")
            for row in trials(dataset=name, impl=name, parts={("", "ready"): 3.0})]  # fmt: skip
    return entries_of(source(everything(), {"cpu": "A", "cores": 1, "fingerprint": "aaaa"}, "one/1"),
                      source(more, odd, HOSTILE, SUBMITTED))  # fmt: skip


def links(page):
    return [attributes["href"] for attributes in page.attributes("a")]


@given(st.lists(st.tuples(NAMES, NAMES, NAMES, MS, MS), min_size=1, max_size=6))
def test_what_is_encoded_is_decoded_again(found):
    sources = [
        source(trials(label, query, dataset=graph, impl=impl, parts={("", "ready"): label}), {"fingerprint": run}, run)
        for graph, impl, run, label, query in found
    ]  # fmt: skip
    entries = entries_of(*sources)
    text = board._embedded(encoded(entries))
    assert "<" not in text
    rows = decoded(json.loads(text))
    assert len(rows) == len(entries)
    for entry, row in zip(entries, rows, strict=True):
        cell = entry.cell
        assert (row["problem"], row["status"], row["queries"]) == (cell.problem, cell.status, visible(cell.query_set))
        names = cell.dataset, cell.impl, entry.source.name
        assert (row["graph"], row["impl"], row["run"]) == tuple(map(visible, names))
        assert row["config"] in visible(cell.label)
        assert row["address"] == entry.address
        assert (row["graph_address"], row["impl_address"]) == (entry.graph_address, entry.implementation_address)
        for name, value in zip(NUMBERS, numbers(cell), strict=True):
            assert row[name] == value
        assert row["solve"] == pytest.approx(cell.stats("query").median, rel=6e-4)
        assert row["answers"] == pytest.approx(cell.stats("query").median + cell.stats("ready").median, rel=6e-4)


def test_a_cell_that_is_not_sound_has_no_number():
    rows = pandas.DataFrame(decoded(encoded(stored())))
    unsound = rows[~rows.status.isin(SOUND)]
    assert len(unsound) == 3
    assert unsound[list(NUMBERS)].isna().all(axis=None)
    assert unsound.note.str.len().min() > 5, "the reason stands there"


def expected(rows, its, machines):
    """The default view of a problem by pandas: the fastest of the largest group of each graph, as addresses."""
    time = its["time"]
    fit = rows[(rows.problem == its["name"]) & rows.status.isin(SOUND) & rows[time].notna()]
    if its["queries"]:
        fit = fit[fit.kind == its["queries"]]
    fit = fit[fit.machine == max(machines, key=lambda name: (fit.machine == name).sum())]
    fit = fit.assign(
        size=fit.groupby(["graph", "set", "queries"])[time].transform("size"), time=fit[time].astype(float)
    )
    best = fit.sort_values(["size", "queries", "time"], ascending=[False, True, True], kind="stable")
    best = best.drop_duplicates(["graph", "set"])
    return best.iloc[sorted(range(len(best)), key=lambda at: (natural(best.graph.iloc[at]), best.set.iloc[at]))]


@pytest.mark.parametrize("problem", [0, 1])
def test_default_view_is_the_fastest_of_each_graph_on_the_machine_with_most_cells(problem):
    entries = many(1500, graphs=30)
    data = encoded(entries)
    its = data["problems"][problem] | board._usual(data, problem)
    data["problems"][problem] = its
    places, left = board.default_view(data, problem)
    wanted = expected(pandas.DataFrame(decoded(data)), its, [each["id"] for each in data["machines"]])
    assert len(places) > 10
    assert [entries[place.cell].address for place in places] == wanted.address.tolist()
    assert [place.of for place in places] == wanted["size"].tolist()
    assert left == 0


def test_numbers_lead_to_their_rows_and_names_to_their_pages():
    entries = stored()
    found = Page(board.block(entries, up="../"))
    kinds = ("address", "graph_address", "implementation_address")
    ours = {f"../{getattr(entry, kind)}" for entry in entries for kind in kinds}
    ours |= {f"../{entry.source.address}" for entry in entries}
    assert len(links(found)) > 10
    assert set(links(found)) <= ours


def test_names_that_try_to_be_code_are_text():
    entries = stored()
    found = Page(board.block(entries))
    assert len(found.all("script")) == 1
    assert found.all("img") == []
    (data,) = found.code
    assert HOSTILE in data or json.dumps(HOSTILE)[1:-1].replace("<", "\\u003c") in data
    assert json.loads(data)["cells"]["anchors"]


def test_time_of_the_device_alone_is_never_without_that_from_edges():
    rows = trials(impl="gpu-fused", search=None, parts={("query", "on_device"): 0.5})
    data = encoded(entries_of(source(rows)))
    data["problems"][0] |= board._usual(data, 0)
    places, _ = board.default_view(data)
    keys = [column.key for column in board.shown_columns(data, places)]
    assert keys.index("answers") < keys.index("ready") < keys.index("alone")
    texts = Page(board.block(entries_of(source(rows)))).words
    assert texts.count(board.UNMEASURED) == 2


def test_machines_without_a_fingerprint_and_mixed_runs_are_machines_of_their_own():
    rows, unlike = trials(), {"fingerprint": "b", "earlier": [{"fingerprint": "c"}]}
    entries = entries_of(source(rows, {}, "x"), source(rows, {}, "y"), source(rows, {"fingerprint": "b"}, "z"),
                         source(rows, unlike, "u"), source(rows, {"fingerprint": "all"}, "v"))  # fmt: skip
    machines = encoded(entries)["machines"]
    names = [each["id"] for each in machines]
    assert len(set(names)) == 5
    assert "all" not in names, "that stands for all of them"
    assert [each["mixed"] for each in machines].count(True) == 1


def test_queries_of_a_part_of_a_set_are_not_ranked_with_the_whole_set():
    whole = [row for threads in (1, 2, 4) for row in trials(query=9.0, threads=threads)]
    part = trials(query=1.0, impl="dfs", query_set="random-100000-s1-first-1000")
    data = encoded(entries_of(source(whole + part)))
    data["problems"][0] |= board._usual(data, 0)
    (place,), _ = board.default_view(data)
    assert place.of == 3, "the fastest is that of the set with most cells"


def test_of_equally_many_cells_the_first_set_of_queries_is_shown():
    rows = trials(query=9.0, query_set="random-10-s1") + trials(query=1.0, query_set="random-20-s1")
    entries = entries_of(source(rows))
    data = encoded(entries)
    data["problems"][0] |= board._usual(data, 0)
    (place,), _ = board.default_view(data)
    assert entries[place.cell].cell.query_set == "random-10-s1"


def test_graph_without_such_a_time_is_counted():
    rows = trials(dataset="a", parts={("", "ready"): 1.0}) + trials(dataset="b")
    assert "1 more graph has no such time." in board.block(entries_of(source(rows)))


def test_run_that_was_submitted_says_so():
    rows = trials()
    assert "1 (submitted)" in Page(board.block(entries_of(source(rows, origin=SUBMITTED)))).words
    assert "submitted" not in board.block(entries_of(source(rows)))


def test_first_page_is_light(tmp_path):
    assert page(many(4290), tmp_path / "index.html").stat().st_size < 1_000_000


def test_same_entries_give_the_same_bytes_and_none_give_a_page():
    assert board.block(stored()) == board.block(stored())
    assert "application/json" in board.block([])
    assert "<table>" in board.block(entries_of(source(lost("failed", "no memory"))))


@given(st.floats(1e-8, 1e12))
def test_four_digits_stay_when_they_are_shown(value):
    near = float(f"{value:.4g}")
    assert float(words.short(near, 4).replace(",", "")) == pytest.approx(near, abs=5e-10)


def test_names_go_by_the_size_of_their_numbers():
    names = ["b2", "a10", "A9", "a010", "", "9" * 6000]
    assert sorted(names, key=natural) == ["", "9" * 6000, "A9", "a010", "a10", "b2"]
    assert pandas.Series(names).is_unique
