"""The leaderboard's data, in Python: nothing lost on the way, nothing that runs, small enough."""

import json

import pandas
import pytest
from boards import decoded, many, page, source
from hypothesis import given
from hypothesis import strategies as st
from markup import Page
from stored import HOSTILE, everything, lost, trials

from grailbench.harness.rows import TIMED
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


@given(st.lists(st.tuples(NAMES, NAMES, NAMES, MS, MS), min_size=1, max_size=6))
def test_what_is_encoded_is_decoded_again(found):
    sources = [
        source(trials(label, query, dataset=graph, impl=impl, parts={("", "ready"): label}), {"fingerprint": run}, run)
        for graph, impl, run, label, query in found
    ]  # fmt: skip
    entries = entries_of(*sources)
    text = board.embedded(encoded(entries))
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
    unsound = rows[~rows.status.isin(TIMED)]
    assert len(unsound) == 3
    assert unsound[list(NUMBERS)].isna().all(axis=None)
    assert unsound.note.str.len().min() > 5, "the reason stands there"


@pytest.mark.slow
def test_first_view_is_of_the_machine_with_most_cells_and_of_random_queries():
    data = encoded(many(1500, graphs=30))
    rows = pandas.DataFrame(decoded(data))
    for its in data["problems"]:
        fit = rows[(rows.problem == its["name"]) & (rows.kind == "random") & rows[its["time"]].notna()]
        assert (its["queries"], its["time"]) == ("random", "answers")
        assert data["machines"][its["machine"]]["id"] in fit.machine.mode().tolist()


def test_names_that_try_to_be_code_are_text():
    entries = stored()
    found = Page(board.block(entries))
    assert len(found.all("script")) == 1
    assert found.all("img") == []
    (data,) = found.code
    assert HOSTILE in data or json.dumps(HOSTILE)[1:-1].replace("<", "\\u003c") in data
    assert json.loads(data)["cells"]["anchors"]


def test_machines_without_a_fingerprint_and_mixed_runs_are_machines_of_their_own():
    rows, unlike = trials(), {"fingerprint": "b", "earlier": [{"fingerprint": "c"}]}
    entries = entries_of(source(rows, {}, "x"), source(rows, {}, "y"), source(rows, {"fingerprint": "b"}, "z"),
                         source(rows, unlike, "u"), source(rows, {"fingerprint": "all"}, "v"))  # fmt: skip
    machines = encoded(entries)["machines"]
    names = [each["id"] for each in machines]
    assert len(set(names)) == 5
    assert "all" not in names, "that stands for all of them"
    assert [each["mixed"] for each in machines].count(True) == 1


def test_run_that_was_submitted_says_so():
    assert encoded(entries_of(source(trials(), origin=SUBMITTED)))["runs"]["mark"] == [" (submitted)"]


@pytest.mark.slow
def test_first_page_is_light(tmp_path):
    assert page(many(4290), tmp_path / "index.html").stat().st_size < 1_000_000


def test_same_entries_give_the_same_bytes_and_none_give_a_page():
    assert board.block(stored()) == board.block(stored())
    assert "application/json" in board.block([])
    assert "no memory" in board.block(entries_of(source(lost("failed", "no memory"))))


@given(st.floats(1e-8, 1e12))
def test_four_digits_stay_when_they_are_shown(value):
    near = float(f"{value:.4g}")
    assert float(words.short(near, 4).replace(",", "")) == pytest.approx(near, abs=5e-10)


def test_names_go_by_the_size_of_their_numbers():
    names = ["b2", "a10", "A9", "a010", "", "9" * 6000]
    assert sorted(names, key=natural) == ["", "9" * 6000, "A9", "a010", "a10", "b2"]
    assert pandas.Series(names).is_unique
