"""Verdicts of stability: what is planted is found, what is steady is not called unstable, and the remedy is told."""

import numpy as np
import pytest
from compared import cell, steady
from outcomes import as_json, succeeds
from stored import HOSTILE, store, trials

from grailbench.compare import stability
from grailbench.compare.stability import dip, verdict
from grailbench.harness.cells import cells, load, of_machine

CALM, BUSY = {"cores": 2, "load_average": [0.2, 0, 0]}, {"cores": 2, "load_average": [3.1, 0, 0]}


def judged(ms, environment=None, **other):
    (found,) = cells(cell(ms=ms, **{"planned": len(ms), **other}), environment=environment)
    return verdict(found)


def modes(seed, size=20, apart=0.3, share=0.5):
    draw = np.random.default_rng(seed)
    return 10.0 * (1 + 0.02 * draw.normal(size=size)) * np.where(draw.random(size) < share, 1 + apart, 1.0)


#: 63 numbers, whose dip the package diptest of R documents as 0.05952381, with p = 0.08672 by its table
FACULTY = [30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44, 44, 45, 45, 46, 46, 47,
           47, 48, 48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53, 54, 54, 57, 57, 59, 60, 60, 60, 61, 61, 61, 61,
           62, 62, 62, 62, 63, 66, 70, 72, 72]  # fmt: skip


# ------------------------------------------------------------------ the dip


def test_the_dip_of_a_published_sample():
    assert dip(FACULTY) == pytest.approx(0.05952381, abs=1e-8)
    assert dip(FACULTY[::-1]) == dip(np.array(FACULTY) * -2.0) == dip(FACULTY)


@pytest.mark.parametrize(("size", "median", "most"), [(10, 0.0978, 0.1396), (20, 0.0733, 0.1051), (50, 0.0489, 0.0703)])
def test_the_dip_of_uniform_samples_is_as_the_published_table_has_it(size, median, most):
    """Quantiles 0.5 and 0.95 of the table of M. Maechler, which renews table 1 of Hartigan and Hartigan 1985."""
    found = [dip(each) for each in np.random.default_rng(5).random((2000, size))]
    assert np.quantile(found, [0.5, 0.95]) == pytest.approx([median, most], rel=0.03)


def test_the_dip_is_at_least_that_of_one_point_and_at_most_a_quarter():
    assert (dip([3.0]), dip([2.0] * 8)) == (0.5, 1 / 16)
    assert dip([0.0] * 500 + [1.0] * 500) == pytest.approx(0.25, abs=0.001)
    with pytest.raises(ValueError, match="one time or more"):
        dip([])


# ------------------------------------------------------------------ the rules


def test_unimodal_times_of_any_shape_hardly_ever_have_two_modes():
    draw = np.random.default_rng(7)
    shapes = {
        "normal": lambda: 1 + 0.05 * draw.normal(size=20),
        "skewed": lambda: np.exp(0.1 * draw.normal(size=20)),
        "heavy tails": lambda: 1 + 0.05 * draw.pareto(2, size=20),
        "outliers": lambda: np.where(np.arange(20) == 3, 4.0, 1 + 0.05 * draw.normal(size=20)),
    }
    found = {name: sum(stability.two_modes(make()) is not None for _ in range(150)) for name, make in shapes.items()}
    assert max(found.values()) <= 6  # 1 % is the rate of 2,000 samples: more than 6 of 150 is one case in 10,000


def test_two_modes_are_found():
    found = [stability.two_modes(modes(seed)) for seed in range(60)]
    assert sum(each is not None for each in found) >= 50
    assert np.median([each for each in found if each]) == pytest.approx(1.3, abs=0.02)
    said = judged(modes(1))
    assert not said.stable
    assert "two modes" in said.rules
    assert "query has two modes, the slower takes 1.3" in said.reasons[0]


def test_one_slow_trial_is_no_mode_and_hides_none():
    """It was taken for the slower group where the others lie in two groups that are too near to matter."""
    near, far = (np.where(np.arange(20) % 2 > 0, apart, 1.0) + np.arange(20) / 1e4 for apart in (1.04, 1.3))
    for slow in (1, 7):
        outlier = np.where(np.arange(20) == 6, slow, 1.0)
        assert stability.two_modes(near * outlier) is None
        assert stability.two_modes(far * outlier) == pytest.approx(1.3, abs=0.02)


def test_drift_and_a_wide_interval_are_told_with_their_size():
    assert judged(steady(scale=0.001) * np.linspace(1.0, 1.3, 20)).reasons == (
        "query drifts: the last third of its trials is 21% slower than the first",
    )
    (why,) = judged(np.linspace(5, 15, 20)[np.random.default_rng(3).permutation(20)]).reasons
    assert why.startswith("query varies: the interval of its median is ")


def test_a_busy_machine_spoils_every_session_that_began_then():
    assert judged(steady(), CALM).stable
    assert judged(steady(), BUSY).rules == ("load",)
    assert judged(steady(), CALM | {"earlier": [BUSY]}).rules == ("load",)
    assert judged(steady(), CALM | {"client": True, "workers": {"a": CALM, "b": BUSY}}).rules == ("load",)
    assert judged(steady(), BUSY | {"client": True, "workers": {"a": CALM}}).stable, "a client measures nothing"


def test_a_machine_of_a_run_keeps_all_of_its_own_sessions_and_no_other(tmp_path):
    """The load of an earlier session of a worker was lost, that of another machine would count."""
    machines = {"a": ("1", CALM), "b": ("1", BUSY), "c": ("2", BUSY), "d": ("3", CALM)}
    workers = {
        name: {**load, "cores_logical": 2, "fingerprint": digit * 16, "pinned": [0]}
        for name, (digit, load) in machines.items()
    }
    rows = [each for name in workers for each in trials(dataset=f"graph-{name}", worker=name)]
    run = load(store(tmp_path / "run", rows, CALM | {"client": True, "workers": workers}))
    assert [bool(of_machine(run, name * 8).cells[0].load) for name in "123"] == [True, True, False]


def test_times_of_several_seeds_differ_by_what_they_are_asked_and_may_yet_drift():
    def over_seeds(ms):
        (made,) = cells([row for seed, time in enumerate(ms, 1)
                         for row in cell(ms=[time], planned=1, seed=seed, query_set=f"random-9-s{seed}")])  # fmt: skip
        return verdict(made)

    assert "two modes" in judged(modes(1)).rules
    assert over_seeds(modes(1)).word == "stable"
    slower = [*np.linspace(10, 10.2, 10), *np.linspace(14, 14.2, 10)]
    assert over_seeds(slower).rules == ("drift",)


def test_numbers_of_unstable_cells_and_of_too_few_trials_have_marks_and_the_first_is_the_worse():
    def of(**fields):
        return cells(cell(**fields))[0]

    calm, few, shaky = of(), of(ms=[1.0, 1.1, 1.2]), of(ms=modes(1))
    assert [stability.mark(each) for each in (calm, few, shaky, of(ms=[1.0], status="timeout"))] == ["", "‡", "†", ""]
    assert [stability.mark(*each) for each in ((), (calm, few), (shaky, few), (few, shaky))] == ["", "‡", "†", "†"]
    assert [stability.mark(each, phases=("label",)) for each in (few, shaky)] == ["‡", ""]
    seeds = [row for seed in range(10) for row in cell(ms=[1.0], planned=1, seed=seed, query_set=f"random-9-s{seed}")]
    assert [stability.mark(*cells(rows)) for rows in (seeds, seeds[:9])] == ["", "‡"]


def test_too_few_trials_are_unknown_and_not_unstable():
    said = judged([1.0, 9.0, 3.0])
    assert (said.stable, said.word, said.few) == (True, "unknown", 3)
    assert judged([1.0, 9.0, 3.0], BUSY).word == "unstable"
    assert judged([0.01, 0.04] * 10).word == judged([1.0], status="timeout").word == "unknown", "noise, and no times"
    assert judged([0.01]).few == 1
    (both,) = cells([*cell(ms=[0.01, 0.04] * 10, phase="label"), *cell()])
    assert verdict(both).word == "stable"


# ------------------------------------------------------------------ what is said


def said(*groups, environment=None, run="r 1"):
    return stability.warnings(cells([row for rows in groups for row in rows], environment=environment), run)


def test_unstable_cells_are_named_with_the_reasons():
    lines = said(cell("dfs"), cell(ms=modes(1)), environment=BUSY)
    assert said(cell()) == []
    assert lines[0].startswith("UNSTABLE: run again. The times of 2 of 2 cells cannot be trusted")
    assert "load average 3.1" in lines[1]
    assert lines[2].startswith("  kegg sequential d=2 dfs: query has two modes")


def test_more_trials_are_proposed_where_they_help_and_never_fewer_than_planned():
    wide = np.linspace(5, 15, 20)[np.random.default_rng(3).permutation(20)]
    assert said(cell(ms=wide))[-1].endswith("grailbench run --resume='r 1' --trials 90")
    few = said(cell(ms=[1.0, 1.1], planned=2), cell("dfs", planned=20))
    assert few == [
        "1 cell of 2 has too few trials to tell if it is stable, 10 are needed: "
        "grailbench run --resume='r 1' --trials 20"
    ]
    assert "--resume" not in "".join(said(cell(ms=wide), run=""))


@pytest.mark.slow
def test_reports_say_it_on_every_way_out(capsys, tmp_path):
    rows = [row for i in range(8) for row in cell(ms=modes(3), dataset=f"{HOSTILE}{i}", phase="query")]
    folder = store(tmp_path / "run", [*rows, *trials(count=2)], CALM)
    out, _ = succeeds(capsys, "report", str(folder), "--details", "--html", "--out", folder / "report")
    assert "UNSTABLE: run again. The times of 8 of 9 cells cannot be trusted" in out
    assert "3 more cells: see the column 'stability'" in out
    assert "UNSTABLE: two modes" in out
    page = (folder / "report" / "report.html").read_text()
    assert "UNSTABLE: run again." in page
    assert HOSTILE not in page
    csv = (folder / "report" / "cells.csv").read_text()
    assert "unstable,two modes" in csv
    assert "unknown," in csv
    told = {each["stability"] for each in as_json(capsys, "report", folder) if "stability" in each}
    assert told == {"unstable", "unknown"}
