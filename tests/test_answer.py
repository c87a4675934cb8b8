"""A run ends with its answer: who is fastest, in sentences."""

import pytest
from stored import made
from test_measured import BFL, timed
from test_tables import ENVIRONMENT, rows

from grailbench.compare import answer, ratios
from grailbench.compare.measures import of_phase
from grailbench.harness.cells import cells
from grailbench.harness.statistics import Interval
from grailbench.report import document


def sentences(*groups):
    return answer.sentences(cells([row for group in groups for row in group]))


def query(dataset="kegg", impl="sequential", ms=(2.0, 2.0, 2.0), **other):
    return rows(dataset, impl, ms=ms, **other)


def test_the_fastest_is_so_many_times_as_fast_as_the_next_and_a_lost_configuration_has_no_ratio():
    assert sentences(query(), query(impl="parallel", threads=2, ms=(6.0, 6.0, 6.0)))[0] == (
        "Queries (random-100000-s1), d = 2, kegg: sequential d=2 dfs is 3.00‡ times as fast as "
        "parallel d=2 dfs 2 threads."
    )
    lost = rows(impl="parallel", threads=2, status="timeout", ms=(None,), phase=None, reason="60 s")
    assert sentences(query(), lost)[0].endswith("kegg: sequential d=2 dfs alone has times.")


def ratio(slow, fast):
    return ratios.of_cells([tuple(cells(query(ms=times))[0] for times in (slow, fast))], of_phase("query"))


def test_a_ratio_is_shown_from_low_to_high():
    """'64 ± 910 times as fast' was said of noisy times, which leaves open which is faster."""
    quiet = ratio((4.0, 4.1, 4.2, 4.0), (2.0, 2.0, 2.1, 2.0))
    assert quiet.value == pytest.approx(4.05 / 2.0)
    assert quiet.interval.low < quiet.value < quiet.interval.high
    assert str(quiet) == f"{quiet.interval.low:.2f} to {quiet.interval.high:.2f}‡"
    assert quiet.as_fast_as("dfs") == f"{quiet} times as fast as dfs"


def test_where_1_lies_in_the_interval_two_are_about_equal():
    noisy = ratio((2.0, 4.1, 9.2, 4.0), (2.0, 6.0, 2.1, 9.0))
    assert noisy.interval.low < 1 < noisy.interval.high
    assert noisy.as_fast_as("dfs") == f"about equal to dfs ({noisy} times as fast)"
    (line, *_) = sentences(query(ms=(2.0, 6.0, 2.1, 9.0)), query(impl="dfs", dim=None, ms=(2.0, 4.1, 9.2, 4.0)))
    assert line.endswith("kegg: dfs dfs is about equal to sequential d=2 dfs (0.23 to 2.25‡ times as fast).")


def test_where_a_side_is_unstable_no_verdict_is_given_and_the_ratio_is_marked():
    steady = [2.0 + trial / 1000 for trial in range(20)]
    two_modes = [2.2 + trial / 1000 + (trial % 2 == 1) for trial in range(19)] + [1.9]
    found = ratio(two_modes, steady)
    assert found.interval.low > 1
    assert (found.order, found.equal) == (0, ratios.UNCLEAR)
    assert found.as_fast_as("dfs") == f"not ranked against dfs ({found} times as fast, by unstable times)"
    assert ratio(steady, two_modes).order == 0
    apart = ratio([ms + 1 for ms in two_modes], steady)
    assert (apart.order, str(apart)[-1]) == (0, "†")
    calm = [ms if ms > 2 else 2.1 for ms in sorted(two_modes)[:10] * 2]
    assert (ratio(calm, steady).order, ratio(calm, steady).mark) == (1, "")
    assert ratio([9.0, 9.0], [1.0, 1.0]).order == 0, "two trials have no interval"


def test_a_ratio_of_too_few_trials_is_marked_and_of_an_unstable_side_too_as_unstable():
    steady = [2.0 + trial / 1000 for trial in range(10)]
    two_modes = [6.0 + trial / 1000 + 2 * (trial % 2 == 1) for trial in range(10)]
    few = steady[:9]
    for sides, mark in (((steady, steady), ""), ((few, steady), "‡"), ((steady, few), "‡"), ((few, two_modes), "†")):
        assert ratio(*sides).mark == mark
        assert str(ratio(*sides)).endswith(mark or "0")


def test_over_several_graphs_an_unstable_one_leaves_a_verdict_that_it_cannot_change():
    steady, slower = ([of + trial / 1000 for trial in range(20)] for of in (2.0, 6.0))
    two_modes = [6.0 + trial / 1000 + 2 * (trial % 2 == 1) for trial in range(20)]
    pairs = [tuple(cells(query(name, ms=times))[0] for times in (own, steady))
             for name, own in (("kegg", slower), ("human", two_modes))]  # fmt: skip
    found = ratios.of_cells(pairs, of_phase("query"))
    assert (found.order, found.mark, str(found)[-1]) == (1, "†", "†")
    assert ratios.of_cells(pairs[1:], of_phase("query")).order == 0


@pytest.mark.parametrize(
    ("low", "high", "order", "shown"),
    [(2.954, 3.102, 1, "2.95 to 3.10"), (1400.0, 1502.4, 1, "1,400 to 1,502"), (3.0, 3.0, 1, "3.00"),
     (0.5, 1.0, 0, "0.50 to 1.00"), (0.012, 0.5, -1, "0.012 to 0.50"), (1.0004, 1.2, 1, "1.0004 to 1.20"),
     (0.5, 0.99996, -1, "0.50 to 0.99996")],
)  # fmt: skip
def test_the_word_of_a_ratio_is_that_of_its_bounds_as_they_are_shown(low, high, order, shown):
    found = ratios.Ratio((low + high) / 2, Interval(low, high))
    assert (found.order, str(found)) == (order, shown)
    assert found.inverse.order == -order
    assert found.inverse.inverse.interval == pytest.approx(found.interval)


def test_the_first_of_a_sentence_is_never_the_slower():
    """What has no time on one graph comes later in the ranking, and may be the faster on the others."""
    names = ("agrocyc", "amaze", "anthra")
    groups = [query(name, ms=(3.0, 3.1, 3.2)) for name in names]
    groups += [query(name, "dfs", dim=None, ms=(2.0, 2.1, 2.2)) for name in names[:2]]
    groups.append(rows("anthra", "dfs", dim=None, status="timeout", ms=(None,), phase=None, reason="60 s"))
    groups += [query(name, "parallel", threads=2, ms=(6.0, 6.1, 6.2)) for name in names]
    assert sentences(*groups)[0] == (
        "Queries (random-100000-s1), d = 2, over 3 graphs: sequential d=2 dfs is 1.95 to 1.99‡ times as fast as "
        "parallel d=2 dfs 2 threads; dfs dfs is 1.45 to 1.50‡ times as fast as sequential d=2 dfs (over 2 graphs)."
    )


def test_graphs_on_which_nothing_is_faster_are_won_by_nobody():
    names = ("agrocyc", "amaze", "anthra", "ecoo", "human", "kegg", "xmark")
    groups = [query(name, ms=(1.0,) * 3) for name in names]
    groups += [query(name, "dfs", dim=None, ms=(1.0,) * 3 if name in names[5:] else (2.0,) * 3) for name in names]
    assert sentences(*groups)[1:3] == [
        "  sequential d=2 dfs is the fastest on 5 of 7: 2.00‡ (agrocyc) times as fast as the next.",
        "  The first two are about equal on kegg, xmark.",
    ]


def test_what_slows_a_trial_down_for_both_is_no_doubt_of_their_ratio():
    weather = (1.0, 3.0, 1.0, 2.0, 5.0)
    low, high = ratio(*([factor * each for each in weather] for factor in (2.0, 1.0))).interval
    assert (low, high) == (pytest.approx(2.0), pytest.approx(2.0))


def test_a_ratio_of_which_not_every_answer_was_checked_or_of_two_trials_says_so():
    some = query(impl="parallel", ms=(6.0,) * 3, verified="sample of 10")
    assert "is 3.00‡ (sampled) times as fast" in sentences(query(), some)[0]
    few = query(ms=(1.0, 1.0)), query(impl="dfs", dim=None, ms=(4.0, 4.0))
    said = "is not ranked against dfs dfs (4.00‡ (no interval) times as fast, by too few trials)"
    assert said in sentences(*few)[0]


def test_of_many_rivals_only_those_that_win_most_have_a_line():
    names = ("agrocyc", "amaze", "anthra", "ecoo", "human", "kegg", "xmark", "yago")
    groups = [query(name, "sequential", ms=(10.0,) * 3) for name in names]
    for threads, name in zip((2, 2, 4, 5, 6, 7), names, strict=False):
        groups.append(query(name, "parallel", threads=threads, ms=(1.0,) * 3))
    lines = [line for line in sentences(*groups) if line.startswith("  ")]
    assert lines[-1] == "  1 more configuration won on 1 graph."
    assert len(lines) <= answer.RIVALS + 2
    assert any("2 threads is the fastest on agrocyc, amaze." in line for line in lines)


def test_a_long_answer_has_no_lines_on_single_graphs():
    groups = []
    for d in range(1, 21):
        for name in ("agrocyc", "amaze", "anthra", "ecoo", "human", "kegg", "xmark"):
            groups += [query(name, ms=(1.0,) * 3, dim=d), query(name, "parallel", threads=2, ms=(5.0,) * 3, dim=d)]
    few = sentences(*(group for group in groups if group[0]["dim"] < 4))
    assert len(few) == 7
    *lines, end = sentences(*groups)
    assert end == "From edges: not measured, add --from-edges."
    assert [line.partition(", over")[0] for line in lines] == [
        f"Queries (random-100000-s1), d = {d}" for d in range(1, 21)
    ]


def test_phases_are_told_apart_and_a_run_without_peers_has_an_answer_too():
    lines = sentences(timed(), timed(impl="parallel", threads=2, ms=2.0))
    assert [line.split(" (")[0] for line in lines] == ["Queries", "Edges to ready index"]
    lines = sentences(query(), query(impl=BFL, dim=None))
    assert lines[-1] == "From edges: not measured, add --from-edges."


def test_what_builds_no_index_is_not_called_fast_at_building_one():
    built = [
        rows(impl=impl, phase="label", ms=(ms,) * 3, threads=2) for impl, ms in (("sequential", 2.0), ("parallel", 3.0))
    ]
    searched = [query(impl="dfs", dim=None), rows(impl="dfs", dim=None, phase="label", ms=(0.1,) * 3)]
    lines = sentences(*built, *searched)
    said = next(line for line in lines if line.startswith("Building"))
    assert said.endswith("kegg: sequential d=2 dfs 2 threads is 1.50‡ times as fast as parallel d=2 dfs 2 threads.")
    assert not any(line.startswith("Building") for line in sentences(built[0], *searched))


def test_report_begins_with_the_answer_after_the_header_and_a_table_asked_for_has_none():
    run = made(query() + query(impl="dfs", dim=None, ms=(6.0,) * 3), ENVIRONMENT)
    report = document.make(run)
    lines = [part for part in document.show(report) if isinstance(part, str)]
    assert lines.index(f"{answer.TITLE}:") == len(report.header) + 1
    page = document.as_markdown(report)
    assert page.index(answer.TITLE) < page.index("What was measured")
    assert document.make(run, ["2.4"]).answer == []
