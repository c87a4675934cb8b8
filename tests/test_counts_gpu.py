"""`counts-gpu`: counts of the naive closure, in passes of few chunks. In the simulator a grid is one warp of four."""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import dag_of, digraphs
from test_counts import DIAMONDS, RINGS, counted, naive_counts, of_vertices, some_dag

from grailbench.cuda import gateway
from grailbench.cuda.timers import Phases
from grailbench.errors import TooLittleMemory
from grailbench.problems.counts import problem
from grailbench.problems.counts.gpu import sweep
from grailbench.problems.counts.index import task_of
from grailbench.problems.counts.reduce import expanded, listed

gateway.require()
MANY = settings(max_examples=2 if gateway.simulated else 100)


@MANY
@given(drawn=digraphs(), ancestors=st.booleans())
@example(drawn=DIAMONDS, ancestors=False)
@example(drawn=RINGS, ancestors=True)
@example(drawn=(0, []), ancestors=False)
def test_counts_are_those_of_the_naive_closure(drawn, ancestors):
    task = task_of(dag_of(*drawn), ancestors)
    assert of_vertices(task, counted("counts-gpu", task).counts) == naive_counts(*drawn, ancestors)


@pytest.mark.parametrize(("chunks", "parts"), [(1, 1), (2, 1), (2, 2), (32, 1)])
def test_passes_of_few_chunks_count_the_same(chunks, parts, monkeypatch):
    monkeypatch.setattr(sweep, "PARTS", parts)  # a grid of one warp never shares a vertex; a GPU does
    vertices = 600 if gateway.simulated else 30_000
    task = task_of(some_dag(vertices, 3 * vertices))
    form = listed(task)
    columns, work, _ = sweep.swept(task, form, Phases(), chunks)
    right = problem.closed(task.offsets, task.children, task.order, task.sizes)
    assert expanded(task, form, columns).tolist() == right.tolist()
    assert work["passes"] == -(-form.columns.shape[0] // (chunks * sweep.GROUP))


def test_chunks_that_are_reached_whole_and_heavy_columns_are_counted():
    """Three layers of rings below a fan: what is above reaches every column, and columns weigh 1 to 3."""
    edges, wide = [], sweep.GROUP + 6
    for u in range(wide):
        edges += [(wide + u, u), (wide + (u + 1) % wide, u)]  # every vertex below has two parents
    rings = [(2 * wide + 3 * i + j, 2 * wide + 3 * i + (j + 1) % 3) for i in range(4) for j in range(3)]
    edges += rings + [(top, wide + u) for u in range(wide) for top in (2 * wide, 2 * wide + 3)]
    edges += [(2 * wide + 6, 2 * wide), (2 * wide + 6, 2 * wide + 3), (2 * wide + 9, 2 * wide + 6), (2 * wide + 9, 0)]
    edges += [(2 * wide + 9, 2 * wide)]
    vertices = 2 * wide + 12
    task = task_of(dag_of(vertices, edges))
    right = problem.closed(task.offsets, task.children, task.order, task.sizes)
    assert counted("counts-gpu", task).counts.tolist() == right.tolist()
    assert int(right.max()) == vertices


@pytest.mark.parametrize("ancestors", [False, True])
def test_children_are_on_levels_before(ancestors):
    task = task_of(some_dag(200, 500), ancestors)
    form = listed(task)
    level = np.full(task.vertices, -1)
    for number in range(form.bounds.shape[0] - 1):
        level[form.order[form.bounds[number] : form.bounds[number + 1]]] = number
    assert (level[form.order] >= 0).all()
    for v in form.order.tolist():
        assert (level[task.children[task.offsets[v] : task.offsets[v + 1]]] < level[v]).all()


def test_rows_that_fit_no_device_are_refused(monkeypatch):
    from grailbench.cuda import describe

    for module in (describe, sweep):
        monkeypatch.setattr(module, "memory", lambda: (1000, 1 << 30))
    with pytest.raises(TooLittleMemory, match="counting .* vertices needs"):
        counted("counts-gpu", task_of(some_dag(200, 500)))
