"""The leaderboard's data, in Python: nothing lost on the way, nothing that runs, small enough."""

import json

import pandas
import pytest
from boards import decoded, source
from hypothesis import given
from hypothesis import strategies as st
from markup import Page
from stored import HOSTILE, enough, everything, lost, trials

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
        assert (row["Problem"], row["Status"], row["Queries"]) == (cell.problem, cell.status, visible(cell.query_set))
        names = cell.dataset, cell.impl, entry.source.name
        assert (row["Graph"], row["Implementation"], row["Run"]) == tuple(map(visible, names))
        assert row["Configuration"] in visible(cell.label)
        assert row["address"] == entry.address
        assert [row[name] for name in NUMBERS] == list(numbers(cell))
        assert row["Answers, ms"] == pytest.approx(cell.stats("query").median, rel=6e-4)
        both = cell.stats("query").median + cell.stats("ready").median
        assert row["Edges to answers, ms"] == pytest.approx(both, rel=6e-4)


def test_a_cell_that_is_not_sound_has_no_number_and_says_why():
    rows = pandas.DataFrame(decoded(encoded(stored())))
    unsound = rows[rows.Status.isin(["failed", "timeout", "wrong", "skipped", "out of memory"])]
    assert len(unsound) == 3
    assert unsound[list(NUMBERS)].isna().all(axis=None)
    assert unsound.Checked.str.len().min() > 5


def test_unstable_cells_are_called_that():
    (row,) = decoded(encoded(entries_of(source([each | {"others": 1.5} for each in trials()], {"cores": 2}))))
    assert row["Status"] == "unstable"


def test_cells_have_the_marks_of_their_times():
    rows = [*enough(), *trials(dim=3), *enough(dim=4, others=1.5)]
    assert encoded(entries_of(source(rows, {"cores": 2})))["marks"] == ["", "‡", "†"]


def test_names_that_try_to_be_code_are_text():
    found = Page(board.block(stored()))
    assert len(found.all("script")) == 1
    assert found.all("img") == []
    (data,) = found.code
    assert HOSTILE in data or json.dumps(HOSTILE)[1:-1].replace("<", "\\u003c") in data


def test_run_that_was_submitted_says_so():
    assert decoded(encoded(entries_of(source(trials(), origin=SUBMITTED))))[0]["Run"].endswith(" (submitted)")


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
