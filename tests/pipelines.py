"""What tests of CUDA pipelines share: shapes of launches, graphs, and labels that are the sequential DFS's.

In the simulator blocks and queues are tiny, so that a dozen vertices span all of them; on a GPU the same tests run,
and with the thesis's sizes too.
"""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import settings
from hypothesis import strategies as st

from grailbench.cuda import gateway
from grailbench.cuda.frontier import Enterprise
from grailbench.problems.reachability.index import NoTimer, Params, implementation

gateway.require()
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(gateway.simulated, reason="needs a GPU")]

SMALLEST = Enterprise(blocks=2, threads=2, lanes=1, small=1, large=1)
SHAPES = [SMALLEST, Enterprise(blocks=2, threads=4, lanes=2, small=2, large=3)]
SHAPES += [] if gateway.simulated else [Enterprise(blocks=3, threads=64, lanes=32, small=2, large=4), Enterprise()]
MANY = settings(max_examples=5 if gateway.simulated else 150)

shapes = st.sampled_from(SHAPES)
some_params = st.builds(
    Params,
    dim=st.sampled_from([1, 2, 3]),
    order=st.sampled_from(["random", "lexicographic"]),
    seed=st.integers(0, 99),
)


def assert_as_sequential(built, dag, params):
    """Labels on the host and on the device equal the sequential DFS's, element by element."""
    expected = implementation("sequential").build(dag, params, NoTimer()).labels
    assert np.array_equal(built.labels.lanes, expected.lanes)
    starts, ends = (column.copy_to_host() for column in built.pairs)
    on_device = np.stack([starts, -ends], axis=1).reshape(2 * params.dim, -1)
    assert np.array_equal(on_device, expected.lanes.reshape(dag.vertices, -1)[:, : 2 * params.dim].T)


def hubs(vertices, fan):
    """Layers that are completely linked: as many parents and children as a layer has vertices."""
    layers = [range(first, min(first + fan, vertices)) for first in range(0, vertices, fan)]
    return vertices, [(u, v) for a, b in zip(layers, layers[1:], strict=False) for u in a for v in b]
