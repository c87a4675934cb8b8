"""What workers of a cluster add, as reports say it."""

import pytest
from stored import made, trials

from grailbench.harness.cells import cells
from grailbench.report import document, workers

NONE = {"dim": 2, "search": "dfs", "filters": "none", "order": None}


def timed(impl, threads, query, **fields):
    return trials(count=1, impl=impl, label=1.0, query=query, threads=threads, **NONE, **fields)


def found(rows):
    return {(one.cell.dataset, one.cell.threads): one for one in workers.shares(cells(rows))}


def test_efficiency_is_the_rate_over_that_of_one_worker_times_the_workers():
    rows = [*timed("dask", 1, 10.0), *timed("dask", 2, 6.25), *timed("dask", 4, 10.0), *timed("parallel", 2, 5.0)]
    shares = found(rows)
    assert [shares["kegg", count].efficiency for count in (1, 2, 4)] == pytest.approx([1.0, 0.8, 0.25])
    assert shares["kegg", 2].of_process == pytest.approx(0.8)
    assert shares["kegg", 4].of_process is None
    (table,) = workers.tables(cells(rows))
    assert [line[2:] for line in table.lines] == [
        ["1", "100,000", "10.0", "1.00", "–"], ["2", "100,000", "16.0", "0.800", "0.800"],
        ["4", "100,000", "10.0", "0.250", "–"],
    ]  # fmt: skip
    assert table.data["efficiency"].tolist() == pytest.approx([1.0, 0.8, 0.25])


def test_workers_with_a_gpu_each_are_compared_with_as_many_gpus_of_one_process():
    own = {"threads": None, "search": None, "filters": "level,tree,hubs"}
    made = {"count": 1, "label": 1.0, **NONE, **own}
    rows = trials(impl="dask-gpu", devices=1, query=8.0, **made) + trials(impl="dask-gpu", devices=2, query=5.0, **made)
    one, two = workers.shares(cells([*rows, *trials(impl="gpu-fused", devices=2, query=4.0, **made)]))
    assert (one.workers, two.workers) == (1, 2)
    assert (two.efficiency, two.of_process) == pytest.approx((0.8, 0.8))


def test_only_cells_that_differ_in_workers_alone_are_compared():
    rows = [*timed("dask", 1, 10.0, dataset="human"), *timed("dask", 2, 5.0)]
    assert found(rows)["kegg", 2].efficiency is None
    assert workers.tables(cells(timed("parallel", 2, 5.0))) == []


def test_a_report_has_the_table():
    report = document.make(made(timed("dask", 2, 5.0)))
    assert [table.name for table in report.part("workers")] == ["workers"]
