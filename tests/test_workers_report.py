"""What workers of a cluster add, as reports say it."""

import pytest
from stored import made, trials

from grailbench.harness.cells import cells
from grailbench.report import document, rankings

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
    assert table.lines[1][4:] == ["15.8", "0.800 (0.80)", "0.800 (0.80)"]
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
