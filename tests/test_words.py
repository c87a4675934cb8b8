"""Numbers, names and machines are put into words in one way each."""

import pytest

from grailbench.util import words


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (words.grouped, 1448, "1,448"), (words.grouped, 1448.5, "1,448.50"), (words.grouped, None, ""),
        (words.ms, 0.0181, "0.018"), (words.ms, 16.3, "16.30"), (words.ms, None, "–"),
        (words.short, 0.0180, "0.0180"), (words.short, 0.09999, "0.100"), (words.short, 1448.2, "1,448"),
        (words.short, 0, "0"), (words.short, float("nan"), ""),
        (words.brief, 2.0, "2"), (words.brief, 1448.2, "1,448"), (words.brief, None, ""),
        (words.ratio, 0.0123, "0.012"), (words.ratio, 12.345, "12.35"),
        (words.fine_ratio, 0.0123, "0.0123"), (words.fine_ratio, 123.4, "123"),
        (words.multiple, 1.434, "1.43"), (words.multiple, 16.34, "16.3"), (words.multiple, 0.012, "0.012"),
        (words.times, 0.0949, "0.095×"), (words.times, 99.6, "100×"), (words.times, 1e-6, "<0.001×"),
        (words.difference, 0.5, "+0.5"), (words.difference, -3.0, "-3"), (words.difference, 0.0, "0"),
        (words.size, 1023, "1023 B"), (words.size, 113 << 10, "113 KiB"), (words.size, 5 << 29, "2.5 GiB"),
        (words.gib, 5 << 28, "1.25 GiB"), (words.decimal_size, 3_000_000, "3.0 MB"),
        (words.clock, 3665.2, "1:01:05"),
    ],
)  # fmt: skip
def test_numbers_in_words(form, value, text):
    assert form(value) == text


@pytest.mark.parametrize("value", [0.1, 0.12, 1.0, 3.14159, 9.9])
def test_forms_of_a_ratio_are_equal_where_words_says_so(value):
    assert {words.ratio(value), words.fine_ratio(value), words.multiple(value), words.times(value)[:-1]} == {
        words.ratio(value)
    }


def test_things_are_counted_and_some_of_them_named():
    assert [words.count(n, "cell") for n in (0, 1, 1448)] == ["0 cells", "1 cell", "1,448 cells"]
    assert [words.count(2, thing) for thing in ("query", "day", "batch")] == ["2 queries", "2 days", "2 batches"]
    assert words.listing(["a", "b"], 2) == "a, b"
    assert words.listing("abcd", 2, "graph") == "a, b and 2 more graphs"
    assert words.listing("abc", 2, "graph") == "a, b and 1 more graph"
    assert words.listing("abc", 2, between="; ") == "a; b; and 1 more"


def test_a_mistyped_name_is_met_with_the_nearest():
    assert words.did_you_mean("Humam", ["human", "kegg"]) == "did you mean human?"
    assert words.did_you_mean("humam", ["human", "kegg"], show=repr) == "did you mean 'human'?"
    assert words.did_you_mean("humam", ["human", "human"]) == "did you mean human?"
    assert words.did_you_mean("x", ["human", "kegg"]) == "known: human, kegg"
    assert words.did_you_mean("x", ["human", "kegg"], "ask") == "ask"


def test_a_machine_is_one_line():
    environment = {
        "cpu": "Xeon", "cores": 4, "memory_bytes": 8 << 30, "gpus": [{"name": "H200"}, {"name": "H200"}],
        "os": "Linux", "python": "3.11", "packages": {"numba": "0.61"}, "commit": "0123456789abcdef", "dirty": True,
    }  # fmt: skip
    assert words.machine(environment, whole=False) == "Xeon, 4 cores, 2 x H200, commit 0123456789ab with changes"
    assert words.machine(environment) == (
        "Xeon, 4 cores, 8 GiB, 2 x H200, Linux, 3.11, numba 0.61, commit 0123456789ab with changes"
    )
    assert words.machine({}) == "unknown processor, ? cores"


@pytest.mark.parametrize(
    ("value", "plus", "shown"),
    [(3.14, 0.2, "3.1 ± 0.2"), (1448.3, 31.0, "1,448 ± 31"), (1.5, 0.004, "1.50 ± 0.01"), (2.0, None, "2.00"),
     (0.5, 0.0, "0.50 ± 0.01"), (12.34, 0.96, "12.3 ± 1.0")],
)  # fmt: skip
def test_an_estimate_is_shown_to_the_digit_that_is_in_doubt(value, plus, shown):
    assert words.estimate(value, plus) == shown
