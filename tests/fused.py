"""A fused searcher on labels made by the CPU, for tests of the search alone."""

import numpy as np

from grailbench.cuda import graphs
from grailbench.cuda.gateway import cuda
from grailbench.graph.leveled import by_level
from grailbench.problems.reachability.gpu.fused.batch import Labelled, Searcher
from grailbench.problems.reachability.gpu.fused.filter import record_width, records_of
from grailbench.problems.reachability.gpu.fused.search import Adjacency
from grailbench.problems.reachability.index import NoTimer, implementation


def searcher_on(dag, params, sizes=None, counting=False):
    """A `Searcher` with the labels and hubs that `sequential` makes of a DAG."""
    index = implementation("sequential").build(dag, params, NoTimer())
    graph = by_level(dag)
    lanes = _with_ranks(index.labels)[graph.vertex].reshape(-1)
    hubs = np.zeros(1, np.uint64)
    if index.hubs is not None:
        hubs = index.hubs.reshape(-1, 2)[graph.vertex].reshape(-1)
    there = graphs.upload_leveled(graph, graph.parents())
    records = records_of(cuda.to_device(lanes), params.dim, cuda.to_device(hubs))
    adjacency = Adjacency(there.starts, there.targets, there.parent_starts, there.parents)
    return Searcher(Labelled(there.rank, graph.level_starts, adjacency, records), sizes, counting)


def _with_ranks(labels):
    """The records as `records` lays them out: the ranks beside the starts of pair 0's subtrees."""
    dim = len(labels.pairs)
    given = labels.lanes.reshape(-1, int(labels.width))
    lanes = np.zeros((given.shape[0], record_width(dim)), np.int32)
    lanes[:, : 2 * dim + 2] = given[:, : 2 * dim + 2]
    lanes[:, 2 * dim + 2] = given[:, 1]
    return lanes
