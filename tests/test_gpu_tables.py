"""Tables 6.1-6.6 and the weights of the sub algorithms: what fills them, what never does."""

import pytest
from stored import lost, made, trials
from tabled import all_records, table_markdown

from grailbench.harness.cells import cells
from grailbench.report import document
from grailbench.report.papers import figures, thesis
from grailbench.report.papers.feeds import WEIGHTS

MS = dict(zip(WEIGHTS.values(), (10.0, 12.0, 0.5, 5.0, 4.0, 6.0, 2.5), strict=True))
GPU = {"impl": "gpu", "search": None, "filters": None, "threads": None}


def labels(dim=1, **fields):
    """Two trials of `gpu`, a hundredth apart: the thesis's phases, 40 ms in all."""
    parts = {("label", phase): ms for phase, ms in MS.items()}
    return trials(**{"label": 40.0, "query": 800.0, "apart": {"transfer": 1.0}, **GPU, **fields}, parts=parts, dim=dim)


def search(dim=2, **fields):
    """Two trials of `gpu`: filter, search and what it counted."""
    parts = {("query", "cpu_filter"): 0.25, ("query", "gpu_search"): 750.0}
    counted = {"counters": {"queries_on_gpu": 25162, "positives": 20223}}
    return trials(label=80.0, query=751.0, parts=parts, dim=dim, **(GPU | counted | fields))


def sequential(dim, **fields):
    return trials(dim=dim, **fields)


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


def test_transfers_that_print_counts_as_overhead_stand_beside_the_total():
    assert row(built("6.1", labels())).entries["gpu transfer"].measured == pytest.approx(1.005)
    assert "gpu transfer" not in built("6.4", search()).columns
    whole = labels(apart={"transfer": 1.0, "allocate": 2.0})
    assert row(built("6.1", whole)).entries["Total + transfer + allocate"].measured == pytest.approx(43 * 1.005)
    assert row(built("6.1", labels())).entries["Total + transfer + allocate"].measured is None  # nothing was allocated


def test_counts_of_several_seeds_are_means_with_their_least_and_greatest():
    each = [row_ for seed, found in ((1, 20), (2, 23)) for row_ in search(
        count=1, planned=1, seed=seed, query_set=f"random-100000-s{seed}", positives=found + 5,
        counters={"queries_on_gpu": 100 * found, "positives": found})]  # fmt: skip
    entries = row(built("6.4", each)).entries
    found = {name: (entries[name].measured, entries[name].spread) for name in ("Queries on GPU", "Positive Queries")}
    assert found == {"Queries on GPU": (2150, (2000, 2300)), "Positive Queries": (22, (20, 23))}


def test_labeling_tables_are_of_one_pair_and_search_tables_of_two_without_filters_and_lost_cells_have_no_time():
    assert row(built("6.1", labels(dim=2))).entries["Total"].measured is None
    assert row(built("6.1", sequential(1, label=0.2))).entries["CPU ICT"].measured == pytest.approx(0.201)
    assert row(built("6.4", search(dim=1))).entries["GPU Search"].measured is None
    assert row(built("6.4", search(filters="level"))).entries["GPU Search"].measured is None
    table = built("6.1", lost("out of memory", "needs 200 GiB", dim=1, **GPU))
    assert row(table).entries["Total"].status == "out of memory"
    assert "OUT OF MEMORY" in table_markdown(table)


def test_search_columns_are_two_phases_and_two_counts_and_errata_of_print_are_noted():
    entries = row(built("6.4", search())).entries
    assert [entries[name].measured for name in ("CPU Filter", "GPU Search", "Queries on GPU", "Positive Queries")] == [
        pytest.approx(0.25125), pytest.approx(753.75), 25162, 20223
    ]  # fmt: skip
    assert "25162" in table_markdown(built("6.4", search()))
    assert "should read 44.18" in table_markdown(built("6.3", labels(dataset="uniprotenc_22")))
    assert "ten times its neighbours" in table_markdown(built("6.1", labels()))


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


def from_edges(ms, *parts, **fields):
    """Trials with the whole way from edges, in ms, and its parts."""
    return trials(parts={("", "ready"): ms} | {("ready", part): ms / 9 for part in parts}, **fields)


def test_ready_of_older_versions_that_left_phases_out_is_not_shown():
    apart = {"transfer": 2.0, "renumber": 3.0, "allocate": 1.0}
    older = from_edges(0.5, "condense", "build", label=0.1, apart=apart, **(GPU | {"impl": "gpu-fused", "dim": 1}))
    cpu = from_edges(4.0, "condense", "build", dim=1, label=0.2)
    peer = from_edges(3.0, "load", "build", apart={"load": 1.0, "arrange": 1.0}, impl="peer:pyreachability-grail")
    shown = {cell.impl: cell.stats("ready") for cell in cells(frame(older, cpu, peer))}
    assert shown["gpu-fused"] is None
    assert shown["sequential"].median == pytest.approx(4.02)
    assert shown["peer:pyreachability-grail"].median == pytest.approx(3.015)
    compared = cells(older + cpu)
    assert [sorted(phase for phase in cell.timed if "ready" in phase) for cell in compared] == [
        [], ["ready", "ready/build", "ready/condense"]
    ]  # fmt: skip


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
    report = document.make(made(frame(labels(), search()), {}))
    assert [t.name for t in report.tables] == ["2.1", "6.1", "6.4"]  # no column of 2.4 is of a GPU
    names = {path.name for path in document.write(report, out=tmp_path / "report")}
    assert {"table-6.1.csv", "table-6.4.csv"} <= names
    assert all(record["table"] for record in all_records(report))


# ------------------------------------------------------------------ figures


def weights(*groups):
    found = cells(frame(*groups))
    return figures.weights_frame([thesis.build(name, found) for name in ("6.1", "6.2", "6.3")])


def test_weights_of_a_bar_add_up_to_one_and_are_those_of_the_phases():
    found = weights(labels(), labels(dataset="human"))
    assert found.groupby(["level", "name", "source"]).share.sum().round(9).eq(1).all()
    one = found[(found.level == "data set") & (found.source == "measured") & (found.phase == "Parent SSSP")]
    assert list(one.share.round(9)) == [0.3]
    assert list(one.name) == ["Small sparse, 2 graphs"]
