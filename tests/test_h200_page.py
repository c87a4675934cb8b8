"""What the page on the recorded H200 runs says of the thesis's pipeline, of traversals and of closures is what their
rows say."""

import re
from functools import cache
from pathlib import Path

import pandas
import pytest

from grailbench.bench.results import load_run
from grailbench.report import traversal
from grailbench.report.feeds import WEIGHTS
from grailbench.report.published import table

FOLDER = Path(__file__).parents[1] / "results" / "baselines" / "h200"
PAGE = re.sub(r"\s+", " ", (FOLDER / "README.md").read_text(encoding="utf-8"))


@cache
def rows(name):
    return load_run(FOLDER / name)[0]


@cache
def searches():
    """Median ms of a search, or of a matrix: by problem, graph and implementation."""
    return traversal.cells(rows("traversal")).set_index(["problem", "dataset", "impl"])


@cache
def closures(phase):
    """Mean ms of a phase: graphs down, implementations across."""
    found = pandas.read_csv(FOLDER / "closure" / "report" / "closure.csv")
    return found[found.phase == phase].pivot(index="dataset", columns="impl", values="mean")


@cache
def gpu(name, phase):
    """Mean ms of a phase of `gpu`, by graph and label pairs."""
    found = rows(name)
    return found[(found.impl == "gpu") & (found.phase == phase)].groupby(["dataset", "dim"]).ms.mean()


def span(values, form="{:.2f}"):
    return f"{form.format(min(values))} to {form.format(max(values))}"


def times(problem, impl, over):
    """How many times as long as `over` an implementation takes, on each graph that has both."""
    ms = searches().ms[problem].unstack()
    return (ms[impl] / ms[over]).dropna()


def blocked():
    found = searches().xs(("apsp", "floyd-warshall-blocked"), level=("problem", "impl"))
    return found.ms * 1000 / (found.vertices.astype(float) ** 3 / 1e6)


def a_source():
    ms = closures("solve")["sssp-each"].dropna()
    return ms / pandas.read_csv(FOLDER / "closure" / "report" / "closure.csv").groupby("dataset").vertices.first()


def queues():
    found = searches().xs(("bfs", "geometric-20"), level=("problem", "dataset"))
    return (1000 * found.ms / found.steps)[["queue", "scan", "enterprise"]]


def rest(name, graph):
    """Mean ms of the total that no phase of the thesis has, one label pair."""
    others = [phase for phase in WEIGHTS.values() if phase != "overhead"]
    return gpu(name, "label")[graph, 1] - sum(gpu(name, phase)[graph, 1] for phase in others)


def uniprotenc_total():
    return gpu("thesis-gpu", "label")["uniprotenc_22", 1]


def look_alike(graph, total):
    return f"{rest('thesis-gpu-like', graph):.0f} | {total}"


def printed(graph, column):
    return float(table("6.6").rows[graph][column])


def uniprotenc():
    ms = gpu("thesis-gpu", "gpu_search")["uniprotenc_22", 2]
    both = [ms / printed(graph, "GPU Search") for graph in ("uniprotenc_22", "uniprotenc_150")]
    return "| uniprotenc_22 | {:.2f} ({:.2f}) |".format(*both)


def groups_of_32():
    found = rows("thesis-gpu-32")
    ms = found[found.phase == "gpu_search"].groupby(["dataset", "impl"]).ms.mean().unstack()
    return (ms["gpu-32"] / ms.gpu).drop("human")


def pinned(phase, vertices):
    ms = pandas.read_csv(FOLDER / "closure" / "figures" / "closure-6.csv")
    ms = ms[(ms.phase == phase) & (ms.vertices == vertices)].set_index("impl")["mean"]
    return f"{ms['pinned']:.3f} ms against {ms['naive']:.3f} at {vertices}"


@pytest.mark.parametrize(
    "said",
    [
        lambda: f"{span(blocked())} us a million triples of vertices on all five",
        lambda: f"{span(times('apsp', 'floyd-warshall', 'floyd-warshall-blocked'), '{:.1f}')} times as fast.",
        lambda: f"`level` is {span([*times('bfs', 'queue', 'level'), *times('bfs', 'scan', 'level')], '{:.1f}')} times",
        lambda: f"{span(queues(), '{:.0f}')} in what makes queues",
        lambda: f"| {searches().ms['bfs', 'slides-bfs-3-like', 'enterprise']:.2f} | 3.94 |",
        lambda: f"{span(a_source().dropna(), '{:.1f}')} ms a source",
        lambda: pinned("host_to_device", 100),
        lambda: f"{closures('kernel')['warshall-bits-gpu']['erdos-renyi-10000-0.1']:.1f} ms of device time",
        uniprotenc,
        lambda: look_alike("cit-patents-like", "330"),
        lambda: look_alike("uniprotenc_100-like", "1,304"),
        lambda: look_alike("uniprotenc_150-like", "2,173"),
        lambda: f"7 (8) | {100 * rest('thesis-gpu', 'uniprotenc_22') / uniprotenc_total():.0f} (20) |",
        lambda: f"the search takes {span(groups_of_32())} times as long on seven",
        lambda: f"{gpu('thesis-gpu-like', 'gpu_search')['uniprotenc_100-like', 2]:.0f}, 468 and 530 ms",
    ],
)
def test_the_page_says_what_the_rows_say(said):
    assert said() in PAGE
