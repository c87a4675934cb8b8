"""Computation 2020: its tables, figures 4 to 8 and its claims beside a run."""

import pytest
from stored import evaluation, lost, made, store, trials
from tabled import table_markdown

from grailbench.errors import InputError
from grailbench.harness.cells import cells
from grailbench.report import document, stalls
from grailbench.report import figures as of_runs
from grailbench.report.papers import computation, figures

GPU = {"impl": "gpu-path", "search": None, "filters": None}
PARTS = ("condense", "label", "transfer")  # of a way from edges


def frame_of(name, cells):
    """The data of one of the paper's figures."""
    return next(figure.frame for figure in figures.computation(cells) if figure.name == name)


def measured(*groups):
    return cells([row for group in groups for row in group])


@pytest.fixture(scope="module")
def points():
    return computation.points(measured(evaluation()))


@pytest.fixture(scope="module")
def report():
    return document.make(made(evaluation(), {}))


# ------------------------------------------------------------------ tables 1 and 2


def table(report, name):
    return next(t for t in report.tables if t.name == name)


@pytest.fixture(scope="module")
def asked():
    names = ["computation-1", "computation-2"]
    return document.make(made(evaluation(), {}), names)


def test_counts_are_without_the_super_root_as_the_paper_has_them(report):
    row = next(r for r in table(report, "computation-1").rows if r.dataset == "citeseer-large")
    assert [(e.measured, e.ratio) for e in list(row.entries.values())[:2]] == [(693_947, 0), (312_282, 0)]
    assert "dag_01" not in {row.dataset for row in table(report, "computation-2").rows}  # that ran as a look-alike


def test_generated_graph_has_a_marked_row_of_its_own_and_its_original_stays_blank(asked):
    rows = {row.dataset: row for row in table(asked, "computation-2").rows}
    assert all(entry.measured is None for entry in rows["dag_01"].entries.values())
    assert rows["dag_01-like"].title == "dag_01-like (generated)"
    assert rows["dag_01-like"].entries["# Edges (m)"].measured == 12_518_774
    assert list(rows)[:2] == ["dag_01", "dag_01-like"]


def test_counts_of_a_run_that_does_not_say_roots_are_missing_with_the_reason():
    rows = trials(**(GPU | {"dataset": "dag_01-like", "dim": 1}))
    report = document.make(made(rows, {}))
    assert "does not say how many roots" in table_markdown(table(report, "computation-2"))


# ------------------------------------------------------------------ figures


def test_labeling_counts_what_is_timed_apart(points):
    frame = figures.labeling(points)
    row = frame[(frame.series == "gpu-path") & (frame.dataset == "dag_01-like") & (frame.d == 1)].iloc[0]
    assert row.value == pytest.approx(2 * row.label_s)


def test_lost_cell_has_no_value_and_says_what_it_was(points):
    for make in (figures.labeling, figures.memory, figures.queries):
        frame = make(points)
        gone = frame[frame.status == "out of memory"]
        assert gone.value.isna().all()
        assert set(gone.reason) == {"needs 200.00 GiB"}
    assert figures.lost(figures.labeling(points)) == (
        "sequential d=5 on dag_11-like: TIMEOUT, the cell's time limit was reached; "
        "gpu-path d=5 on dag_11-like: OUT OF MEMORY, needs 200.00 GiB"
    )


def test_memory_is_that_of_host_and_device_and_cpu_cells_have_no_device(points):
    frame = figures.memory(points)
    kinds = frame.groupby("series").memory.agg(set).to_dict()
    assert kinds["gpu-path"] == {"host", "device"}
    assert kinds["sequential"] == {"host"}
    device = frame[(frame.memory == "device") & (frame.dataset == "citeseer-large")].value
    assert device.iloc[0] == pytest.approx(925_779 * 30 / 2**20)


def test_shares_of_a_bar_add_up_to_one_and_keep_generated_graphs_apart(points):
    frame = figures.shares(points)
    assert frame.groupby(["set", "generated", "of"]).share.sum().round(9).eq(1).all()
    assert set(frame[frame.of == "steps"].part) == {
        "child order", "dag to dt", "sizes", "post order", "min post", "overhead"
    }  # fmt: skip
    assert {"read", "transfer"} <= set(frame[frame.of == "all"].part)
    assert set(zip(frame.set, frame.generated, strict=True)) == {
        ("benchmark", False), ("benchmark", True), ("home-made", True)
    }  # fmt: skip


# ------------------------------------------------------------------ claims


@pytest.fixture(scope="module")
def claims():
    return computation.checks(measured(evaluation()))


def check(found, what, **wanted):
    (only,) = [
        each for each in found if each.claim.what == what and all(each.record()[k] == v for k, v in wanted.items())
    ]
    return only


def test_claims_are_geometric_means_of_sequential_by_gpu_and_of_memory_the_other_way(claims):
    one = check(claims, "labeling", set="benchmark", graphs="real", reading="with transfer and allocation")
    assert (one.ours, one.cells, one.verdict, one.mark) == (pytest.approx(5.0), 3, "not confirmed", "‡")
    assert check(claims, "query", set="home-made", reading="100,000 queries").ours == pytest.approx(2.0)
    assert {each.kind for each in claims if each.claim.set == "benchmark"} == {"real", "generated"}
    one = check(claims, "memory", set="home-made", reading="device peak")
    assert (one.ours, one.verdict, one.mark) == (pytest.approx(1.5), "confirmed", "")
    assert check(claims, "memory", set="home-made", reading="host and device peaks").verdict == "not confirmed"


def test_what_only_the_gpu_managed_is_in_no_mean_and_what_only_sequential_managed_counts_against_it():
    of = {"dataset": "dag_01-like", "dim": 1}
    found = measured(
        trials(label=10.0, **of), trials(label=1.0, **(GPU | of)),
        lost("timeout", "too long", **(of | {"dim": 2})), trials(label=1.0, **(GPU | of | {"dim": 2})),
        trials(label=10.0, **(of | {"dim": 3})), lost("out of memory", "no room", **(GPU | of | {"dim": 3})),
    )  # fmt: skip
    one = check(computation.checks(found), "labeling", reading="device resident")
    assert (one.cells, one.lost, one.unmatched) == (2, 1, 1)
    assert one.ours == pytest.approx((10.0 * 0.1) ** 0.5)


def test_a_pipeline_without_child_orders_stands_beside_the_random_one():
    of = {"dataset": "dag_01-like", "dim": 1}
    unordered = {"impl": "gpu-fused", "search": None, "filters": "level,tree,hubs", "order": None}
    found = measured(
        trials(label=10.0, **(of | {"order": "random"})), trials(label=30.0, **(of | {"order": "lexicographic"})),
        trials(label=1.0, **(unordered | of)), trials(label=2.0, **(GPU | of | {"order": "random"})),
    )  # fmt: skip
    ours = {each.series: each.ours for each in computation.checks(found) if each.reading == "device resident"}
    assert ours == {"gpu-path": pytest.approx(5.0), "gpu-fused level,tree,hubs": pytest.approx(10.0)}
    assert "1 graph, 1 cell" in [line[7] for line in computation.claims_table(computation.checks(found)).lines]


def test_claims_are_over_grail_of_its_authors_too_where_the_run_has_it():
    of = {"dataset": "dag_01-like", "dim": 1}
    theirs = {"impl": "program:grail", "search": None, "filters": None, "order": None}
    rows = [*trials(label=10.0, **of), *trials(label=1.0, **(GPU | of))]
    found = measured(rows, trials(label=40.0, apart={"process": 90.0}, **(theirs | of)))
    alone, both = computation.checks(measured(rows)), computation.checks(found)
    assert {each.reference for each in alone} == {"sequential"}
    ours = {each.reference: each.ours for each in both if each.reading == "device resident"}
    assert ours == {"sequential": pytest.approx(10.0), "program:grail": pytest.approx(40.0)}
    drawn = figures.labeling(computation.points(found)).set_index("series").loc["program:grail"]
    assert drawn.low <= drawn.value == drawn.label_s <= drawn.high


def test_all_that_is_timed_apart_is_in_the_share_of_everything_and_the_notes_say_so():
    of = {"dataset": "dag_01-like", "dim": 1, "search": None, "filters": "level,tree,hubs", "order": None}
    apart = {"transfer": 2.0, "allocate": 1.0, "renumber": 6.0}
    parts = {("label", "on_device"): 1.0}
    found = measured(trials(label=1.0, impl="gpu-fused", parts=parts, apart=apart, **of))
    frame = figures.shares(computation.points(found))
    assert frame[(frame.of == "all") & (frame.part == "renumber")].share.iloc[0] == pytest.approx(0.6)
    assert figures.labeling(computation.points(found)).value.iloc[0] == pytest.approx(0.01005)
    assert "renumbering" in " ".join(computation.claims_table(computation.checks(found)).notes)


def test_labeling_is_claimed_from_edges_too_or_said_not_to_be_measured(claims):
    found = [each for each in claims if each.reading == "from edges"]
    assert {each.claim.what for each in found} == {"labeling"}
    assert {each.verdict for each in found} == {"not measured"}
    assert "From edges: not measured, add --from-edges." in computation.claims_table(claims).notes
    of = {"dataset": "dag_01-like", "dim": 1}
    cpu, gpu = ({("", "ready"): ms} | {("ready", part): ms / 9 for part in PARTS} for ms in (10.0, 20.0))
    timed = measured(trials(parts=cpu, **of), trials(label=0.1, apart={"transfer": 2.0}, parts=gpu, **(GPU | of)))
    one = check(computation.checks(timed), "labeling", reading="from edges")
    assert (one.ours, one.cells, one.verdict) == (pytest.approx(0.5), 1, "not confirmed")
    assert not [note for note in computation.claims_table([one]).notes if "not measured, add" in note]


@pytest.mark.slow
def test_page_has_claims_and_figures_and_says_what_it_lacks(report, tmp_path):
    from markup import Page

    from grailbench.report.page import page as page_of

    page = Page(page_of(report))
    assert {f"computation-{n}.csv" for n in range(4, 8)} <= {
        a["download"] for a in page.attributes("a", **{"class": "csv"})
    }
    for words in ("gpu-path device: home-made", "OOM d = 5", "no ncu.csv of Nsight Compute"):
        assert words in "".join(page.words)
    whole = page_of(report, profile=profile(tmp_path, WIDE))
    assert "long_scoreboard" in whole


# ------------------------------------------------------------------ batches of several sizes

FEW = {"query_set": "random-128-s1", "queries": 128}


@pytest.fixture(scope="module")
def batches():
    """dag_01-like with 100,000 queries, for which sequential has no time, and with 128."""
    of = {"dataset": "dag_01-like", "dim": 1}
    return measured(
        lost("timeout", "too long", **of), trials(label=1.0, query=90.0, **(GPU | of)),
        trials(label=10.0, query=6.0, **(of | FEW)), trials(label=1.1, query=3.0, **(GPU | of | FEW)),
    )  # fmt: skip


def test_of_two_whole_batches_labels_are_those_of_the_larger_and_a_series_without_one_has_its_own():
    of = {"dataset": "dag_01-like", "dim": 1}
    found = measured(
        trials(label=10.0, query=60.0, **of), trials(label=20.0, query=6.0, **(of | FEW)),
        trials(label=1.1, query=3.0, **(GPU | of | FEW)), trials(label=1.0, query=90.0, **(GPU | of)),
        trials(label=5.0, query=3.0, **(GPU | of | FEW | {"impl": "gpu-fused"})), lost("timeout", "too long",
        **(GPU | of | {"impl": "gpu-fused"})), trials(label=9.0, query=3.0, impl="parallel", threads=2, **of),
    )  # fmt: skip
    frame = frame_of("computation-4", found)
    assert list(frame.label_s.round(3)) == [0.01, 0.009, 0.001, 0.005]


def test_labels_are_compared_within_the_batch_that_most_have_and_queries_on_the_same_one(batches):
    frame = frame_of("computation-4", batches)
    seconds = dict(zip(frame.series, frame.label_s.round(7), strict=True))
    assert seconds == {"sequential": 0.01005, "gpu-path": 0.0011055}
    found = computation.checks(batches)
    whole = check(found, "query", reading="100,000 queries")
    assert (whole.ours, whole.unmatched) == (None, 1)
    assert check(found, "query", reading=computation.FEWER).ours == pytest.approx(2.0)
    assert check(found, "labeling", reading="device resident").ours == pytest.approx(10 / 1.1)


# ------------------------------------------------------------------ figure 8

LEAD = "==PROF== Connected to process 7\n==PROF== Disconnected\n"
WIDE = LEAD + (
    '"ID","Kernel Name","gpu__time_duration.sum","smsp__pcsamp_warps_issue_stalled_barrier",'
    '"smsp__pcsamp_warps_issue_stalled_barrier_not_issued","smsp__pcsamp_warps_issue_stalled_long_scoreboard",'
    '"smsp__pcsamp_warps_issue_stalled_selected"\n'
    '"","","nsecond","warp","warp","warp","warp"\n'
    '"0","one","1,000","30","29","50","100"\n'
    '"1","two","500","10","9","10","100"\n'
)
LONG = LEAD + (
    '"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"\n'
    '"0","one","x","gpu__time_duration.sum","ns","3,000"\n'
    '"0","one","x","smsp__average_warps_issue_stalled_wait_per_issue_active.ratio","inst","2"\n'
    '"1","two","x","gpu__time_duration.sum","ns","1000"\n'
    '"1","two","x","smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio","inst","2.0"\n'
)


def profile(tmp_path, content):
    path = tmp_path / "ncu.csv"
    path.write_text(content)
    return path


def test_samples_of_all_kernels_add_up_and_cycles_are_weighted_by_their_durations(tmp_path):
    frame = stalls.read(profile(tmp_path, WIDE))
    assert list(zip(frame.reason, frame.value, frame.share, strict=True)) == [
        ("long_scoreboard", 60, 0.6), ("barrier", 40, 0.4)
    ]  # fmt: skip
    assert list(frame.word) == ["memory dependency", "synchronization"]
    assert frame.printed.iloc[1] == 34.0
    frame = stalls.read(profile(tmp_path, LONG))
    assert dict(zip(frame.reason, frame.share, strict=True)) == {"wait": 0.75, "lg_throttle": 0.25}
    assert set(frame.basis) == {"cycles"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("u v\n0 1\n", "is no CSV"),
        ("", "is no CSV"),
        ('"ID","Kernel Name"\n"0","one","1"\n', "is no CSV"),
        ('"ID","Kernel Name","x"\n"0","one","1"\n', "no stall reasons"),
    ],
)
def test_file_without_stall_reasons_is_an_error_that_names_it(tmp_path, content, says):
    with pytest.raises(InputError, match=says) as error:
        stalls.read(profile(tmp_path, content))
    assert "ncu.csv" in str(error.value)


@pytest.mark.slow
def test_profile_in_the_runs_folder_is_drawn(tmp_path):
    run = store(tmp_path / "run", evaluation())
    profile(run, WIDE)
    svg, data = of_runs.write(str(run), ["computation-8"], form="svg")
    assert svg.stat().st_size > 5000
    assert "long_scoreboard" in data.read_text()
