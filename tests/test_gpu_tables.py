"""Tables 6.1-6.6 and the weights of the sub algorithms: what fills them, what never does."""

import pytest
from stored import lost, made, trials
from tabled import all_records, table_markdown

from grailbench.harness.cells import cells
from grailbench.report import document
from grailbench.report.papers import beside, figures, thesis
from grailbench.report.papers.feeds import WEIGHTS
from grailbench.report.render import records

MS = dict(zip(WEIGHTS.values(), (10.0, 12.0, 0.5, 5.0, 4.0, 6.0, 2.5), strict=True))
GPU = {"impl": "gpu", "search": None, "filters": None, "threads": None}


def labels(dim=1, **fields):
    """Two trials of `gpu`, a hundredth apart: the thesis's phases, 40 ms in all."""
    parts = {("label", phase): ms for phase, ms in MS.items()}
    return trials(label=40.0, query=800.0, parts=parts, apart={"transfer": 1.0}, dim=dim, **(GPU | fields))


def search(dim=2, **fields):
    """Two trials of `gpu`: filter, search and what it counted."""
    parts = {("query", "cpu_filter"): 0.25, ("query", "gpu_search"): 750.0}
    counted = {"counters": {"queries_on_gpu": 25162, "positives": 20223}}
    return trials(label=80.0, query=751.0, parts=parts, dim=dim, **(GPU | counted | fields))


def sequential(dim, **fields):
    return trials(dim=dim, **fields)


def gpu_labels(dim, **fields):
    return trials(dim=dim, **(GPU | fields))


def frame(*groups):
    return [row for group in groups for row in group]


def built(name, *groups):
    return thesis.build(name, cells(frame(*groups)))


def row(table, dataset="kegg"):
    return next(row for row in table.rows if row.dataset == dataset)


# ------------------------------------------------------------------ columns


def test_each_phase_stands_in_the_column_that_print_gives_it():
    entries = row(built("6.1", labels())).entries
    assert {column: entries[column].measured for column in WEIGHTS} == {
        column: pytest.approx(MS[phase] * 1.005) for column, phase in WEIGHTS.items()
    }
    assert all(e.ratio == pytest.approx(e.measured / float(e.printed)) for e in map(entries.get, WEIGHTS))


def test_labeling_tables_are_of_one_pair_and_search_tables_of_two():
    assert row(built("6.1", labels(dim=2))).entries["Total"].measured is None
    assert row(built("6.1", sequential(1, label=0.2))).entries["CPU ICT"].measured == pytest.approx(0.201)
    assert row(built("6.4", search(dim=1))).entries["GPU Search"].measured is None


def test_search_columns_are_two_phases_and_two_counts():
    entries = row(built("6.4", search())).entries
    assert [entries[name].measured for name in ("CPU Filter", "GPU Search", "Queries on GPU", "Positive Queries")] == [
        pytest.approx(0.25125), pytest.approx(753.75), 25162, 20223
    ]  # fmt: skip
    assert "25162" in table_markdown(built("6.4", search()))


def test_errata_of_print_are_noted():
    assert "should read 44.18" in table_markdown(built("6.3", labels(dataset="uniprotenc_22")))
    assert "ten times its neighbours" in table_markdown(built("6.1", labels()))


def test_filtered_or_lost_cells_give_no_time():
    table = built("6.1", lost("out of memory", "needs 200 GiB", dim=1, **GPU))
    assert row(table).entries["Total"].status == "out of memory"
    assert "OUT OF MEMORY" in table_markdown(table)
    assert row(built("6.4", search(filters="level"))).entries["GPU Search"].measured is None


# ------------------------------------------------------------------ columns of ours


def test_other_implementations_stand_beside_with_their_ratio_to_sequential():
    table = built(
        "6.1", labels(), sequential(1, label=0.2), trials(label=0.1, **(GPU | {"impl": "gpu-fused", "dim": 1}))
    )
    entries = row(table).entries
    assert table.columns[-2:] == ("gpu-fused", "sequential / gpu-fused")
    assert entries["gpu-fused"].measured == pytest.approx(0.1005)
    assert entries["sequential / gpu-fused"].measured == pytest.approx(2.0)
    assert entries["sequential / gpu"].measured == pytest.approx(0.2 / 40)


def test_labels_that_one_gpu_timed_by_events_have_columns_of_the_device_alone():
    by_events = {"parts": {("label", "on_device"): 0.05, ("query", "on_device"): 0.2}}
    fused = trials(label=0.1, query=0.5, **by_events, **(GPU | {"impl": "gpu-fused", "dim": 1, "devices": 1}))
    table = built("6.1", sequential(1, label=0.2), fused)
    entries = row(table).entries
    assert table.columns[-6:] == (
        "gpu-fused", "sequential / gpu-fused", "gpu-fused, device alone", "sequential / gpu-fused, device alone",
        "gpu-fused, from edges", "sequential / gpu-fused, from edges",
    )  # fmt: skip
    assert entries["gpu-fused, device alone"].measured == pytest.approx(0.05025)
    assert entries["sequential / gpu-fused, device alone"].measured == pytest.approx(4.0)
    assert entries["sequential / gpu-fused"].measured == pytest.approx(2.0)
    assert "by the GPU's events" in table_markdown(table)
    assert entries["sequential / gpu-fused, from edges"].measured is None
    assert "not measured, add --from-edges" in table_markdown(table)


def from_edges(ms, *parts, **fields):
    """Trials with the whole way from edges, in ms, and its parts."""
    return trials(parts={("", "ready"): ms} | {("ready", part): ms / 9 for part in parts}, **fields)


@pytest.mark.parametrize("impl", ["gpu", "gpu-path", "gpu-fused"])
def test_labels_of_a_gpu_stand_beside_the_whole_way_from_edges(impl):
    parts = "condense", "label", "transfer", "renumber", "allocate"
    apart = {"transfer": 2.0, "renumber": 3.0, "allocate": 1.0}
    gpu = from_edges(8.0, *parts, label=0.1, apart=apart, **(GPU | {"impl": impl, "dim": 1}))
    table = built("6.1", from_edges(4.0, "condense", "label", dim=1, label=0.2), gpu)
    entries = row(table).entries
    assert entries[f"{impl}, from edges"].measured == pytest.approx(8.04)
    assert entries[f"sequential / {impl}, from edges"].measured == pytest.approx(0.5)
    assert "all from the file's edges" in table_markdown(table)
    assert not [column for column in built("6.4", gpu).columns if "from edges" in column]


def test_ready_of_older_versions_that_left_phases_out_is_not_shown():
    apart = {"transfer": 2.0, "renumber": 3.0, "allocate": 1.0}
    older = from_edges(0.5, "condense", "build", label=0.1, apart=apart, **(GPU | {"impl": "gpu-fused", "dim": 1}))
    cpu = from_edges(4.0, "condense", "build", dim=1, label=0.2)
    peer = from_edges(3.0, "load", "build", apart={"load": 1.0, "arrange": 1.0}, impl="peer:pyreachability-grail")
    shown = {cell.impl: cell.stats("ready") for cell in cells(frame(older, cpu, peer))}
    assert shown["gpu-fused"] is None
    assert shown["sequential"].median == pytest.approx(4.02)
    assert shown["peer:pyreachability-grail"].median == pytest.approx(3.015)
    assert not [column for column in built("6.1", cpu, older).columns if "from edges" in column]
    compared = cells(older + cpu)
    assert [sorted(phase for phase in cell.timed if "ready" in phase) for cell in compared] == [
        [], ["ready", "ready/build", "ready/condense"]
    ]  # fmt: skip


def test_search_and_several_gpus_have_no_columns_of_the_device_alone():
    by_events = {"parts": {("label", "on_device"): 0.05, ("query", "on_device"): 0.2}}
    fused = trials(query=0.5, **by_events, **(GPU | {"impl": "gpu-fused", "devices": 1}))
    assert not [column for column in built("6.4", sequential(2), fused).columns if "device alone" in column]
    several = trials(label=0.1, **by_events, **(GPU | {"impl": "gpu-fused", "dim": 1, "devices": 2}))
    assert not [column for column in built("6.1", sequential(1), several).columns if "device alone" in column]


def test_search_of_ours_is_the_whole_batch_against_sequential_dfs():
    fused = trials(query=0.5, **(GPU | {"impl": "gpu-fused", "filters": "level,tree"}))
    entries = row(built("6.4", search(), sequential(2, query=20.0), fused)).entries
    assert entries["gpu-fused level,tree"].measured == pytest.approx(0.5025)
    assert entries["sequential / gpu-fused level,tree"].measured == pytest.approx(40.0)
    assert entries["gpu"].measured == pytest.approx(751.0 * 1.005)


@pytest.mark.parametrize("impl", ["core", "core-gpu"])
def test_core_stands_in_tables_of_searches_and_in_none_of_labels(impl):
    core = trials(label=0.1, query=0.5, **(GPU | {"impl": impl, "dim": None, "filters": None}))
    table = built("6.4", search(), sequential(2, query=20.0), core)
    assert row(table).entries[impl].measured == pytest.approx(0.5025)
    assert row(table).entries[f"sequential / {impl}"].measured == pytest.approx(40.0)
    assert f"{impl}: no label pairs" in table_markdown(table)
    assert not [column for column in built("6.1", labels(), sequential(1), core).columns if impl in column]


def test_implementation_without_the_tables_label_pairs_shows_its_own_and_says_so():
    fused = trials(label=0.1, **(GPU | {"impl": "gpu-fused", "dim": 2}))
    table = built("6.1", labels(), labels(dim=2), sequential(1, label=0.2), sequential(2, label=0.5), fused)
    assert table.columns[-2:] == ("gpu-fused d=2", "sequential / gpu-fused d=2")
    assert row(table).entries["sequential / gpu-fused d=2"].measured == pytest.approx(5.0)
    assert not [column for column in table.columns if column.startswith("gpu d=2")]


def test_each_time_in_a_row_without_print_says_its_batch_where_it_is_not_prints():
    few = {"dataset": "mine", "query_set": "random-16-s1", "queries": 16}
    found = thesis.others(cells(frame(sequential(2, **few), search(**few))))
    for table, column in ((found[0], "Sequential DFS"), (found[-1], "Sequential DFS"), (found[-1], "GPU Search")):
        entries = row(table, "mine").entries
        assert entries[column].measured_notes == ("asked 16 queries, not 100,000",)
    assert row(found[0], "mine").entries["Index CT"].measured_notes == ()
    assert "] asked 16 queries, not 100,000" in table_markdown(found[-1])


def test_sets_that_are_not_random_neither_fill_nor_empty_the_table_of_labels():
    own = {"dataset": "mine", "query_set": "random-16-s1", "queries": 16}
    more = {"dataset": "mine", "query_set": "balanced-5000-s1", "queries": 5000}
    groups = [f(1, label=ms, **of) for of, ms in ((own, 3.0), (more, 9.0)) for f in (sequential, gpu_labels)]
    found = {table.name: table for table in thesis.others(cells(frame(*groups, gpu_labels(1, **more, seed=2))))}
    entries = row(found["gpu-labels-other-graphs"], "mine").entries
    assert entries["CPU ICT"].measured == pytest.approx(3.015)
    assert entries["Total"].cell.query_set == "random-16-s1"


def test_batch_that_no_column_of_a_table_shows_has_no_row_there():
    few = {"dataset": "mine", "query_set": "random-16-s1", "queries": 16}
    pairs = frame(sequential(2, **few), search(**few), search(dataset="mine", query_set="random-100000-s1"))
    found = {table.name: table for table in thesis.others(cells(pairs))}
    assert [each.title for each in found["other-graphs"].rows] == ["mine"]
    searches = found["gpu-search-other-graphs"]
    assert [each.title for each in searches.rows] == ["mine, 100,000 queries", "mine, 16 queries"]
    shown = {record["title"] for record in records(beside.table(searches))}
    assert shown == {
        "mine, 100,000 queries",
        "mine, 16 queries",
    }


def test_graph_without_print_has_a_row_of_searches_a_batch_and_one_of_labels():
    few = {"dataset": "mine", "query_set": "random-16-s1", "queries": 16}
    late = lost("timeout", "too long", dataset="mine", dim=2, query_set="random-100000-s1")
    pairs = frame(
        late, sequential(2, query=6.0, **few), search(dataset="mine", query_set="random-100000-s1"), search(**few),
        sequential(1, label=7.0, **few), labels(dataset="mine", query_set="random-100000-s1"), labels(**few),
    )  # fmt: skip
    found = {table.name: table for table in thesis.others(cells(pairs))}
    searches = found["gpu-search-other-graphs"].rows
    assert [each.title for each in searches] == ["mine, 100,000 queries", "mine, 16 queries"]
    first, second = (each.entries for each in searches)
    assert (first["Sequential DFS"].status, first["GPU Search"].measured) == ("timeout", pytest.approx(753.75))
    assert first["GPU Search"].measured_notes == ()
    assert second["Sequential DFS"].measured == pytest.approx(6.03)
    assert second["sequential / gpu"].measured == pytest.approx(6.03 / second["gpu"].measured)
    assert [each.title for each in found["other-graphs"].rows] == ["mine, 100,000 queries", "mine, 16 queries"]
    (labeled,) = found["gpu-labels-other-graphs"].rows
    assert labeled.title == "mine"
    assert labeled.entries["CPU ICT"].measured == pytest.approx(7.035)
    assert labeled.entries["Total"].cell.batch == 16


# ------------------------------------------------------------------ look-alikes and other graphs


def test_look_alike_is_an_extra_row_marked_and_without_print():
    table = built("6.3", labels(dataset="cit-patents-like"))
    assert row(table, "cit-patents").entries["Total"].measured is None
    like = row(table, "cit-patents-like")
    assert like.title == "cit-Patents-like (generated)"
    assert {(e.printed, e.ratio) for e in like.entries.values()} == {(None, None)}
    assert table.rows.index(like) == 1 + table.rows.index(row(table, "cit-patents"))


# ------------------------------------------------------------------ the report


def test_run_with_a_gpu_shows_the_tables_of_its_graphs(tmp_path):
    report = document.make(made(frame(sequential(1), sequential(2)), {}))
    assert [t.name for t in report.tables] == ["2.1", "2.4"]
    assert not {"6.1", "6.4"} & set(report.left_out), "a run without a GPU"
    report = document.make(made(frame(labels(), search()), {}))
    assert [t.name for t in report.tables] == ["2.1", "6.1", "6.4"]  # no column of 2.4 is of a GPU
    assert "2.4" in report.left_out
    names = {path.name for path in document.write(report, out=tmp_path / "report")}
    assert {"table-6.1.csv", "table-6.4.csv"} <= names
    assert all(record["table"] for record in all_records(report))


# ------------------------------------------------------------------ figures


def weights(*groups):
    found = cells(frame(*groups))
    return figures.weights_frame([thesis.build(name, found) for name in ("6.1", "6.2", "6.3")] + thesis.others(found))


def test_weights_of_a_bar_add_up_to_one_and_are_those_of_the_phases():
    found = weights(labels(), labels(dataset="human"))
    assert found.groupby(["level", "name", "source"]).share.sum().round(9).eq(1).all()
    one = found[(found.level == "data set") & (found.source == "measured") & (found.phase == "Parent SSSP")]
    assert list(one.share.round(9)) == [0.3]
    assert list(one.name) == ["Small sparse, 2 graphs"]


def test_two_graphs_of_one_printed_name_have_a_bar_each():
    found = weights(labels(dataset="citeseer"), labels(dataset="citeseer-large"))
    bars = found[found.level == "graph"].groupby(["name", "source"]).share.sum()
    assert bars.round(9).eq(1).all()
    assert set(bars.index.get_level_values("name")) == {"Citeseer (table 6.2)", "Citeseer (table 6.3)"}


def test_printed_weights_are_those_of_the_graphs_measured():
    found = weights(labels())
    one = found[(found.level == "data set") & (found.source == "printed") & (found.phase == "Overhead")]
    assert one.share.iloc[0] == pytest.approx(45.5 / 394.5, rel=1e-3)


def test_look_alikes_are_no_part_of_a_data_set():
    found = weights(labels(dataset="cit-patents-like"), labels(dataset="citeseer-large"))
    grouped = found[(found.level == "data set") & (found.source == "measured")]
    assert set(grouped.name) == {"Large real, 1 graph", "Generated graphs, 1 graph"}


def test_times_that_two_tables_print_are_drawn_once():
    report = document.make(made(frame(labels(), search(), sequential(2)), {}))
    shown = figures.printed_frame(report.tables)
    assert not shown.duplicated(["dataset", "column"]).any()
    assert {"Subsizes DAG", "GPU Search", "Sequential DFS"} <= set(shown.column)
    assert "Queries on GPU" not in set(shown.column)
