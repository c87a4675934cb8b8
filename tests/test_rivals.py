"""Other people's indexes: their adapters, parts of query sets, and the tables of a run with several of them, or with
workers."""

import json
import sys

import numpy as np
import pytest
from base_install import base_install
from commands import call_apart
from planned import planned, ran
from stored import lost, made, trials
from strategies import dag_of

from grailbench.compare import ranking
from grailbench.errors import MachineLacks
from grailbench.graph.generate import catalogue
from grailbench.harness.cells import cells
from grailbench.harness.plan import load_config, make_plan
from grailbench.problems.reachability.index import NoTimer, Params, implementation
from grailbench.problems.reachability.peers import libraries
from grailbench.problems.reachability.queries import QuerySpec, query_set
from grailbench.report import document, rankings
from grailbench.report.page import page as page_of
from grailbench.util.cores import usable_cores

LIBRARIES = ("networkx", "igraph", "rustworkx", "scipy", "networkit")
BALANCED = "balanced-100000-s1"


def ours(**fields):
    return trials(count=1, **({"filters": "level,tree", "order": "lexicographic", "index_bytes": 400} | fields))


def peer(name, **fields):
    none = {"dim": None, "search": None, "filters": None, "order": None}
    return trials(count=1, **({"impl": f"peer:{name}", "index_bytes": 1000, **none} | fields))


def gone(name, status, **fields):
    return lost(status, "why", impl=f"peer:{name}", dim=None, search=None, filters=None, order=None, **fields)


def table(rows, name):
    (found,) = [each for each in rankings.rivals(cells(rows)) if each.name == name]
    return found


def line(rows, name, first):
    found = table(rows, name)
    (line,) = [dict(zip(found.headers, each, strict=True)) for each in found.lines if first in each[:2]]
    return line


DIAMOND = 5, [(0, 1), (0, 2), (1, 3), (2, 3)]
TWO_GRAPHS = [
    *ours(query=2.0), *ours(query=4.0, dataset="human"),
    *ours(query=1.0, impl="parallel", threads=2), *ours(query=8.0, impl="parallel", threads=2, dataset="human"),
    *peer("a", query=4.0), *peer("a", query=3.0, dataset="human"),
    *peer("b", query=5.0), *peer("b", query=1.0, dataset="human"),
]  # fmt: skip


def test_the_best_of_ours_stands_against_the_best_of_the_others_on_each_graph():
    kegg = line(TWO_GRAPHS, "rivals-random-100000-s1", "kegg")
    assert kegg == {
        "graph": "kegg", "ours, one thread": "20.0‡", "ours, all threads": "10.0‡", "others": "40.0‡", "who": "peer:a",
        "ratio, one thread": "0.50‡", "ratio, all threads": "0.25‡",
    }  # fmt: skip
    assert line(TWO_GRAPHS, "rivals-random-100000-s1", "human")["who"] == "peer:b"
    mean = line(TWO_GRAPHS, "rivals-random-100000-s1", "geometric mean")
    assert (mean["who"], mean["ratio, one thread"], mean["ratio, all threads"]) == ("2 graphs", "1.41‡", "1.41‡")
    worst = line(TWO_GRAPHS, "rivals-random-100000-s1", "largest ratio")
    assert (worst["who"], worst["ratio, one thread"], worst["ratio, all threads"]) == ("human", "4.00‡", "8.00‡")


def test_a_cell_that_was_lost_is_counted_and_never_the_best():
    rows = [*TWO_GRAPHS, *peer("c", query=1e-3), *gone("c", "timeout", dataset="human"), *gone("d", "out of memory")]
    rows += [*gone("d", "timeout", dataset="human"), *gone("d", "timeout", query_set=BALANCED)]
    places = table(rows, "rivals")
    found = {line[1]: line[2:5] for line in places.lines}
    assert found["peer:c"] == ["1 of 2", "1 timeout", "3.16‡"]  # the lost graph counts 10
    assert found["peer:d"] == ["0 of 2", "1 timeout, 1 out of memory", "–"]
    assert found["peer:a"][:2] == ["2 of 2", ""]
    assert len(places.lines) == 6
    assert places.lines[-1][1] == "peer:d"
    assert line(rows, "rivals-random-100000-s1", "human")["who"] == "peer:b"


def test_a_graph_that_only_others_finished_counts_against_us_and_one_that_only_we_did_does_not():
    rows = [*ours(), *peer("a", query=4.0), *peer("b", query=9.0), *ours(dataset="xmark"), *gone("a", "timeout")]
    rows = [*rows, *lost("failed", "why", dataset="human"), *peer("a", query=1.0, dataset="human")]
    rows = [row for row in rows if (row["dataset"], row["impl"], row["status"]) != ("kegg", "peer:a", "timeout")]
    (found,) = [each for each in rankings.compared(cells(rows)) if each.query_set]
    mean = rankings.contest(cells(rows), found).mean("one thread").mean
    assert (mean.measured, mean.missing) == (1, 1)
    assert mean.value == pytest.approx((0.5 * 10) ** 0.5)


def test_what_keeps_no_index_has_no_build_and_no_size():
    rows = [*ours(label=3.0), *peer("a", label=6.0), *peer("nothing", label=1e-4, index_bytes=0)]
    assert line(rows, "rivals-build", "kegg")["who"] == "peer:a"
    assert line(rows, "rivals-bytes", "kegg")["who"] == "peer:a"
    assert line(rows, "rivals", "peer:nothing")["build"] == "–"
    assert line(rows, "rivals", "peer:nothing")["random, a pair"] == "1.00‡"


def test_a_part_of_a_query_set_is_compared_by_the_time_of_a_pair_and_named():
    part = {"query_set": "random-100000-s1-first-1000", "queries": 1000}
    rows = [*ours(query=2.0), *peer("a", query=400.0), *peer("slow", query=1.0, **part)]
    kegg = line(rows, "rivals-random-100000-s1", "kegg")
    assert (kegg["others"], kegg["who"], kegg["ratio"]) == ("1,000‡", "peer:slow (first 1,000 pairs)", "0.02‡")
    assert line(rows, "rivals", "peer:slow (first 1,000 pairs)")["random, a pair"] == "50.0‡"
    assert not any("first" in name for each in rankings.rivals(cells(rows)) for name in [each.name])


def titles(rows):
    return [each.title for each in rankings.rivals(cells(rows)) if each.name in ("rivals", "rivals-generated")]


def test_tables_need_ours_and_others_and_real_and_generated_graphs_have_their_own():
    assert rankings.rivals(cells(ours())) == rankings.rivals(cells(peer("a"))) == []
    rows = [*TWO_GRAPHS, *ours(dataset="kegg-like"), *peer("a", dataset="kegg-like"), *peer("b", dataset="kegg-like")]
    assert titles(rows) == ["Everybody in one ranking", "Everybody in one ranking (look-alikes)"]
    names = [each.name for each in rankings.rivals(cells(rows))]
    assert len(set(names)) == len(names)
    assert {"rivals-build", "rivals-build-generated"} <= set(names)
    alone = rankings.rivals(cells([row for row in rows if row["dataset"] == "kegg-like"]))
    assert {"rivals", "rivals-build"} <= {each.name for each in alone}
    made = {"dataset": "dense-small", "kind": "synthetic"}
    rows = [*TWO_GRAPHS, *ours(**made), *peer("a", **made), *peer("b", **made)]
    assert titles(rows)[1:] == ["Everybody in one ranking (generated graphs)"]
    hard = made | {"dataset": "layered-2m"}
    rows = [*TWO_GRAPHS, *ours(**hard), *peer("a", **hard), *peer("b", **hard)]
    assert titles(rows) == ["Everybody in one ranking", "Everybody in one ranking (the set hard)"]
    found = ranking.rankings(cells(rows))
    assert {(each.like, each.about.endswith(", the set hard")) for each in found} == {(False, False), (True, True)}


def test_the_ratio_of_trials_has_its_interval_in_brackets():
    rows = [row for n, ms in enumerate((1.0, 1.1, 1.2, 1.3)) for row in
            [*ours(query=ms), *peer("a", query=4 * ms)] for row in [row | {"trial": n}]]  # fmt: skip
    kegg = line(rows, "rivals-random-100000-s1", "kegg")
    assert kegg["ratio"] == "0.25‡ (0.25)"
    assert line(rows, "rivals", "peer:a")["random, a pair"] == "4.00‡ (4.00)"


@pytest.mark.slow
def test_a_report_on_a_peer_begins_with_the_ranking():
    found = document.make(made([*ours(), *peer("a")]))
    assert found.shown[0].name == "rivals"
    assert "## Everybody in one ranking" in document.as_markdown(found)
    assert 'id="rivals"' in page_of(found)


# ------------------------------------------------------------------ parts of query sets


def test_the_first_pairs_of_a_set_are_those_of_the_whole_with_its_answers():
    dag, whole = dag_of(*DIAMOND), QuerySpec("balanced", 50, 3)
    every = query_set(whole, dag, "a" * 64)
    every.answers[:], every.known[:], every.method = np.arange(50) % 2 == 0, True, "closure"
    every.save()
    found = query_set(whole.head(20), dag, "a" * 64)
    assert (found.size, found.spec.name, found.method) == (20, "balanced-50-s3-first-20", "closure")
    assert (found.u == every.u[:20]).all()
    assert (found.answers == every.answers[:20]).all()
    assert found.known.all()
    assert whole.head(50) is whole
    assert whole.head(20).identity() != whole.identity()


def test_answers_of_a_part_that_the_oracle_gave_are_kept():
    dag, spec = dag_of(*DIAMOND), QuerySpec("random", 50, 4).head(10)
    found = query_set(spec, dag, "b" * 64)
    found.answers[:], found.known[:] = True, True
    found.save()
    again = query_set(spec, dag, "b" * 64)
    assert again.known.all()
    assert again.answers.all()


@pytest.mark.parametrize("spoiled", [False, True])
def test_what_takes_one_pair_at_a_time_is_asked_checked_and_timed_on_a_part(diamond, tmp_path, monkeypatch, spoiled):
    right = libraries.Searched.query_batch
    if spoiled:
        wrong = lambda *batch: right(*batch) ^ (np.arange(20) == 7)  # noqa: E731
        monkeypatch.setattr(libraries.Searched, "query_batch", wrong)
    monkeypatch.setattr(libraries.NetworkX, "sample", 20)
    block = {"datasets": [diamond], "implementations": ["peer:networkx", "dfs"], "process": "shared"}
    block |= {"count": 50, "trials": 1, "warmup": 0}
    rows = {row["impl"]: row for row in ran(tmp_path / "run", block).rows if row["phase"] in ("query", None)}
    assert (rows["dfs"]["queries"], rows["dfs"]["query_set"]) == (50, "random-50-s1")
    asked = rows["peer:networkx"]
    assert asked["query_set"] == "random-50-s1-first-20"
    assert (asked["status"], asked["queries"]) == (("wrong", None) if spoiled else ("ok", 20))
    assert not spoiled or "1 of 20 answers are wrong" in asked["reason"]


@pytest.mark.parametrize("name", [*LIBRARIES, "pyreachability-grail"])
def test_without_a_library_the_error_names_the_extra(monkeypatch, name):
    made = implementation(f"peer:{name}")
    monkeypatch.setitem(sys.modules, "pyreachability" if name not in LIBRARIES else made.modules[0], None)
    with pytest.raises(MachineLacks, match="pip install 'igraph"):
        made.build(dag_of(*DIAMOND), Params(), NoTimer())
    with pytest.raises(MachineLacks, match="pip install 'igraph"):
        made.require()


def test_the_config_has_everybody_on_the_17_graphs_within_limits_and_who_scales_on_the_hard_ones():
    plan = make_plan(load_config("rivals"))
    everybody = {f"peer:pyreachability-{name}" for name in libraries.METHODS} | {f"peer:{n}" for n in LIBRARIES}
    graphs = plan.by_dataset()
    hard = {name: graphs.pop(name) for name in catalogue.sets()["hard"].names}
    assert len(graphs) == 17
    scaling = {f"peer:pyreachability-{name}" for name in ("bfl", "feline", "ferrari", "grail", "pll", "preach")}
    authors = {f"program:{name}" for name in ("bfl", "grail", "oreach", "preach")}
    for own in hard.values():
        assert {cell.impl for cell in own} == scaling | authors | {"sequential", "supports", "core", "sweep"}
        assert {cell.threads for cell in own if cell.impl == "supports"} == {1, usable_cores()}
        pairs = {f"{kind}-{count}-s1" for kind in ("random", "balanced") for count in (10_000, 100_000)}
        for impl in ("supports", "peer:pyreachability-bfl", "program:preach"):  # by ten trials, which can be stable
            found = [cell for cell in own if cell.impl == impl]
            assert ({cell.queries.name for cell in found}, {cell.trials for cell in found}) == (pairs, {10})
        assert {(cell.trials < 10, cell.time_limit) for cell in own} == {(True, 40), (False, 80), (False, 120)}
        assert {cell.memory_limit for cell in own} == {10}
    for own in graphs.values():
        assert {cell.impl for cell in own} == everybody | {"sequential", "parallel", "core", "sweep"}
        for impl in ("core", "sweep"):
            assert {cell.threads for cell in own if cell.impl == impl} == {1, usable_cores()}
        for impl in everybody:
            assert {cell.queries.kind for cell in own if cell.impl == impl} == {"random", "balanced"}
        assert {cell.memory_limit for cell in own} == {8.0}
    assert {(cell.process, cell.retry) for cell in plan.cells} == {("own", False)}
    assert all(cell.time_limit for cell in plan.cells)
    assert {cell.queries.first for cell in plan.cells if cell.impl == "peer:networkx"} == {1000}


# ------------------------------------------------------------------ PyReachability


def test_every_method_of_the_catalog_has_an_adapter():
    pytest.importorskip("pyreachability")
    assert sorted(libraries._peer().catalog.methods("all")) == sorted(libraries.METHODS)


def test_grail_is_given_the_number_of_label_pairs():
    pytest.importorskip("pyreachability")
    chain, grail = dag_of(50, [(u, u + 1) for u in range(49)]), implementation("peer:pyreachability-GRAIL")
    sizes = [grail.build(chain, Params(dim=dim), NoTimer()).index_bytes for dim in (1, 2, 4)]
    assert sizes[1] - sizes[0] > 0
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


@pytest.mark.parametrize("said", [{}, {"process": "shared"}, {"process": "own"}])
def test_peers_have_a_process_of_their_own_unless_told(said, diamond):
    impls = ["sequential", *(f"peer:pyreachability-{method}" for method in libraries.METHODS)]
    plan = planned({"datasets": [diamond], "implementations": impls} | said)
    found = {cell.process for cell in plan.cells if cell.impl.startswith("peer:")}
    assert found == {said.get("process", "own")}
    assert plan.cells[0].process == said.get("process", "shared")


def test_peers_are_measured_on_the_base_install_with_the_peers_extra(diamond, tmp_path):
    pytest.importorskip("pyreachability")
    words = ["run", "--dataset", diamond, "--impl", "sequential", "--trials", "1", "--count", "50", "--json"]
    words += ["--impl", "peer:pyreachability-grail", "--impl", "peer:pyreachability-3hop"]
    code, out, err = call_apart(*words, "--out", tmp_path / "run", **base_install(tmp_path, "peers"))
    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["status"] for row in rows} == {"ok"}
    apart = {row["impl"] for row in rows if row["host_peak_bytes"]}
    assert apart == {"peer:pyreachability-grail", "peer:pyreachability-3hop"}


# ------------------------------------------------------------------ workers of a cluster


NONE = {"dim": 2, "search": "dfs", "filters": "none", "order": None}


def timed(impl, threads, query, **fields):
    return trials(count=3, impl=impl, label=1.0, query=query, threads=threads, **NONE, **fields)


def shares(rows):
    """Efficiency, and share of one process, by graph and workers."""
    (table,) = rankings.workers(cells(rows))
    return {(one["dataset"], one["workers"]): (one["efficiency"], one["of_process"]) for one in table.records}


def test_efficiency_is_the_rate_over_that_of_one_worker_times_the_workers():
    rows = [*timed("dask", 1, 10.0), *timed("dask", 2, 6.25), *timed("dask", 4, 10.0), *timed("parallel", 2, 5.0)]
    found = shares(rows)
    assert [found["kegg", count][0] for count in (1, 2, 4)] == pytest.approx([1.0, 0.8, 0.25])
    assert found["kegg", 2][1] == pytest.approx(0.8)
    assert found["kegg", 4][1] is None
    (table,) = rankings.workers(cells(rows))
    assert table.lines[1][4:] == ["15.8", "0.800‡ (0.80)", "0.800‡ (0.80)"]
    assert table.data["efficiency"].tolist() == pytest.approx([1.0, 0.8, 0.25])


def test_workers_with_a_gpu_each_are_compared_with_as_many_gpus_of_one_process():
    own = {**NONE, "count": 1, "label": 1.0, "threads": None, "search": None, "filters": "level,tree,hubs"}
    rows = trials(impl="dask-gpu", devices=1, query=8.0, **own) + trials(impl="dask-gpu", devices=2, query=5.0, **own)
    found = shares([*rows, *trials(impl="gpu-fused", devices=2, query=4.0, **own)])
    assert found["kegg", 2] == pytest.approx((0.8, 0.8))


def test_only_cells_that_differ_in_workers_alone_are_compared():
    rows = [*timed("dask", 1, 10.0, dataset="human"), *timed("dask", 2, 5.0)]
    assert shares(rows)["kegg", 2] == (None, None)
    assert rankings.workers(cells(timed("parallel", 2, 5.0))) == []


def test_a_report_has_the_table():
    report = document.make(made(timed("dask", 2, 5.0)))
    assert [table.name for table in report.part("workers")] == ["workers"]


def test_pairs_asked_one_at_a_time_are_ranked_apart_and_sets_of_one_kind_are_told_apart():
    other = {"query_set": "random-9-s1"}
    rows = [*ours(apart={"single": 7.0}), *peer("a", apart={"single": 5.0}), *ours(**other), *peer("a", **other)]
    assert line(rows, "rivals-single-random-100000-s1", "kegg")["ratio"] == "1.40‡"
    heads = table(rows, "rivals").headers
    assert {"random-9-s1, a pair", "random-100000-s1, a pair", "random-100000-s1, one at a time"} <= set(heads)
