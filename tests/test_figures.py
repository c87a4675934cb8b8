"""The frames that figures are drawn from: what is in them, what never is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored import HOSTILE, everything, lost, row, trials, unguided

from grailbench.errors import InputError
from grailbench.harness.cells import cells
from grailbench.report import figures, frames
from grailbench.report.captions import CAPTIONS
from grailbench.report.draw import style
from grailbench.report.papers import figures as papers
from grailbench.report.papers import thesis as tables


def made(*rows):
    """The cells of rows, in the order of a report."""
    return frames.ordered(cells([each for group in rows for each in group]))


def gpu(**fields):
    parts = {("label", "subsizes"): 1.5, ("label", "post-order"): 2.0}
    return trials(impl="gpu", label=4.0, query=8.0, parts=parts, apart={"transfer": 1.0}, count=1, **fields)


# ------------------------------------------------------------------ phases


def test_parts_of_a_trial_add_up_to_it_and_what_a_phase_leaves_is_its_rest_which_is_never_negative():
    (cell,) = made(gpu())
    parts = {part.label: part.ms for part in frames.segments(cell)}
    labels = {"label: subsizes": 1.5, "label: post-order": 2.0, "label: rest": 0.5}
    assert list(parts.items()) == [*labels.items(), ("transfer", 1.0), ("query", 8.0)]
    (cell,) = made(trials(label=1.0, parts={("label", "a"): 1.2}, apart={"ready": 9.0}))
    parts = {part.label: part.ms for part in frames.segments(cell)}
    assert (list(parts), parts["label: rest"]) == (["label: a", "label: rest", "query"], 0.0)
    frame = frames.phases(made(gpu(), unguided()))
    assert frame.groupby("config").share.sum().round(12).eq(1).all()


# ------------------------------------------------------------------ lost cells


@pytest.mark.parametrize("status", ["wrong", "failed", "timeout", "skipped", "out of memory"])
def test_lost_cell_has_a_row_that_says_why_and_no_time_in_any_figure(status):
    found = made(unguided(), trials(count=1), lost(status, "boom"))
    for frame, column in ((frames.phases(found), "ms"), (frames.edges(found), "median"),
                          (frames.speedup(found, "dfs"), "ms")):  # fmt: skip
        own = frame[frame.status == status]
        assert list(own.reason.unique()) == ["boom"]
        assert own[column].isna().all()


def test_lost_cells_of_one_graph_and_reason_are_told_together():
    frame = frames.edges(made(lost("skipped", "no file"), lost("skipped", "no file", dim=5), unguided()))
    (found,) = frames.absent(frame)
    assert str(found) == "kegg, 2 configurations: SKIPPED, no file"


# ------------------------------------------------------------------ names


def test_cells_are_told_apart_by_configuration_and_query_set():
    frame = frames.edges(made(everything()))
    timed = frame[frame.phase == "query"]
    assert not timed.duplicated(["dataset", "queries", "config"]).any()
    assert set(timed.queries) == {"", "balanced"}


def test_two_random_query_sets_are_named_in_full_and_seeds_when_a_cell_ran_with_several():
    found = made(trials(), trials(query_set="random-1000-s1"))
    assert {head["queries"] for head, _ in frames.headed(found)} == {"random-100000-s1", "random-1000-s1"}
    found = made(trials(query_set="mine.txt"), trials(query_set="mine.txt", seed=2))
    assert [head["config"] for head, _ in frames.headed(found)] == [f"sequential d=2 dfs, seed {n}" for n in (1, 2)]


def test_configurations_come_in_one_order_whatever_the_order_of_rows():
    rows = [unguided(), trials(), trials(dim=5), trials(impl="parallel", threads=2), trials(impl="peer:x", dim=None)]
    one, other = ([head for head, _ in frames.headed(made(*each))] for each in (rows, reversed(rows)))
    assert one == other


# ------------------------------------------------------------------ speed-up


def test_speedup_is_the_median_of_the_reference_over_that_of_a_cell_on_the_same_queries_only():
    frame = frames.speedup(made(unguided(query=40.0), trials(query=10.0)), "dfs")
    assert dict(zip(frame.config, frame.speedup, strict=True)) == {"dfs": 1.0, "sequential d=2 dfs": pytest.approx(4.0)}
    frame = frames.speedup(made(unguided(query=40.0), trials(query=10.0, query_set="balanced-100000-s1")), "dfs")
    assert frame[frame.queries == "balanced"].speedup.isna().all()


def test_reference_is_the_fastest_on_a_cpu_of_those_with_most_times_or_meant_by_words_that_only_it_has():
    assert frames.choose_reference(made(unguided(query=9.0), trials(), trials(impl="gpu-fused", query=0.1))) == (
        "sequential d=2 dfs"
    )
    assert frames.choose_reference(made(unguided(query=1.0), trials())) == "dfs"
    assert frames.choose_reference(made(unguided(), lost("failed", "x"), trials(dim=5))) == "dfs"
    found = made(unguided(), trials(), trials(filters="level,tree"), trials(dim=5))
    assert frames.choose_reference(found, "D=5") == "sequential d=5 dfs"
    assert frames.choose_reference(found, "sequential d=2 dfs") == "sequential d=2 dfs"
    with pytest.raises(InputError, match="several"):
        frames.choose_reference(found, "sequential")
    with pytest.raises(InputError, match="dfs"):
        frames.choose_reference(found, "gpu")


def test_mean_speedup_is_geometric_and_a_lost_graph_costs():
    names = ("a", "b", "c")
    base = [each for name in names for each in unguided(dataset=name, query=8.0)]
    fast = trials(dataset="a", query=4.0) + trials(dataset="b", query=1.0)
    frame = frames.speedup(made(base, fast), "dfs")
    assert round(1 / frames.mean_slowdowns(frame)["sequential d=2 dfs"].value, 9) == 4.0
    frame = frames.speedup(made(base, fast, lost("failed", "x", dataset="c")), "dfs")
    mean = frames.mean_slowdowns(frame)["sequential d=2 dfs"]
    assert (mean.measured, mean.missing) == (2, 1)
    assert 1 / mean.value == pytest.approx((2 * 8 / 10) ** (1 / 3))
    assert frames.over(mean) == "3 graphs, 1 lost"


# ------------------------------------------------------------------ print and counters


def test_print_is_compared_with_real_graphs_only():
    found = made(everything())
    frame = papers.printed_frame(tables.build(name, found) for name in ("2.4", "2.5"))
    assert set(frame.dataset) == {*tables.published.table("2.4").rows, *tables.published.table("2.5").rows}
    kegg = frame[(frame.dataset == "kegg") & (frame.column == "Pure DFS")]
    assert kegg.measured.item() == pytest.approx(40.2)
    assert kegg.ratio.item() == pytest.approx(40.2 / 209.85)
    assert "Positive Queries" not in set(frame.column), "counts are no times"


def test_look_alike_alone_leaves_its_published_row_empty():
    found = made(unguided(dataset="kegg-like", stands_for="kegg"))
    frame = papers.printed_frame([tables.build("2.4", found)])
    assert frame.measured.isna().all()
    assert "not in the run; kegg-like is" in frame[frame.dataset == "kegg"].measured_notes.iloc[0]


def test_counters_of_a_wrong_cell_are_left_out():
    found = made(trials(counters={"searches": 5}), [row(dim=5, status="wrong", counters={"searches": 9})])
    frame = frames.counters(found)
    assert frame[["config", "counter", "count"]].values.tolist() == [["sequential d=2 dfs", "searches", 5]]


def test_all_figures_of_a_run_have_the_names_that_the_command_offers():
    from grailbench.cli import plot

    found = made(everything())
    drawn = figures.of_cells(found, [tables.build("2.4", found)])
    others = ("closure", "traversal", "reading", "tradeoff", "strips")  # of any problem
    assert list(drawn) == [name for name in CAPTIONS if not name.startswith(others)]
    assert plot.PHASES == frames.TOP_PHASES
    assert HOSTILE in drawn["edges"].csv.replace('""', '"')


# ------------------------------------------------------------------ numbers and scales


@given(st.floats(1e-6, 1e9), st.floats(1.0, 1e8), st.integers(3, 8))
def test_log_axes_have_a_few_round_ticks_inside_their_bounds(low, factor, most):
    bounds = style.log_range([low, low * factor])
    ticks = style.log_ticks(*bounds, most=most)
    assert bounds[0] < low <= low * factor * (1 + 1e-9) < bounds[1] * (1 + 1e-9)
    assert 2 <= len(ticks) <= most
    assert all(bounds[0] <= tick <= bounds[1] for tick in ticks)


def test_colour_and_mark_tell_sixty_four_series_apart():
    assert len({(style.colour(i), style.mark(i)) for i in range(64)}) == 64
    assert len(style.MARKS) == len(style.LIGHT) == len(style.DARK)
