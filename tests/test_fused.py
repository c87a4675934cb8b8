"""`gpu-fused`: its labels are the twin's element by element, its hubs' words those of the CPU, its answers the oracle's.

In the simulator blocks are tiny; on a GPU the same tests run with real blocks, on the real graphs too.
"""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from fused_twin import records
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dag_of, digraphs

from grailbench.device import gateway, leveled
from grailbench.device.launch import Shape
from grailbench.graph.leveled import by_level
from grailbench.reachability import hubs
from grailbench.reachability.gpu import fused_labels

gateway.require()
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(gateway.simulated, reason="needs a GPU")]
MANY = settings(max_examples=12 if gateway.simulated else 150)
SHAPES = [Shape(1, 1), Shape(1, 4)] if gateway.simulated else [None, Shape(1, 512), Shape(3, 64)]


def labelled(dag, dim, seed, **how):
    graph = by_level(dag)
    chosen = graph.rank[hubs.choose(dag)]
    labeler = fused_labels.Labeler(graph, leveled.upload(graph), chosen, dim, seed, **how)
    labels = labeler.run()
    lanes = labels.lanes.copy_to_host().reshape(dag.vertices, labels.width)
    return graph, lanes, labels.hubs.copy_to_host().view(np.uint64)


@MANY
@given(
    graph=digraphs(),
    dim=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 2**64 - 1),
    how=st.one_of(
        st.just({"small": True}),
        st.fixed_dictionaries(
            {"small": st.just(False), "shape": st.sampled_from(SHAPES), "narrow": st.sampled_from([0, 3, 2048])}
        ),
    ),
)
def test_labels_are_the_twins_and_words_those_of_the_cpu(graph, dim, seed, how):
    dag = dag_of(*graph)
    leveled_dag, lanes, words = labelled(dag, dim, seed, **how)
    expected = records(leveled_dag, fused_labels.salts(seed, dim), dim, lanes.shape[1])
    assert np.array_equal(lanes, expected)
    assert np.array_equal(words.reshape(-1, 2), hubs.hub_words(dag).reshape(-1, 2)[leveled_dag.vertex])
