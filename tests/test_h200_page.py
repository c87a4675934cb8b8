"""What the page on the recorded H200 runs says of the thesis's pipeline, of Computation 2020, of traversals and of
closures is what their rows say."""

import re
from functools import cache

import pandas
import pytest
from recorded import FOLDER, TEXT, rows, short

from grailbench.bench.plan import config_from_flags, make_plan
from grailbench.report.papers import traversals as traversal
from grailbench.report.papers.feeds import WEIGHTS
from grailbench.report.published import table
from grailbench.runs.cells import load
from grailbench.runs.statistics import geometric_mean

PAGE = re.sub(r"\s+", " ", TEXT)


@cache
def searches():
    """Median ms of a search, or of a matrix: by problem, graph and implementation."""
    return traversal.cells(load(FOLDER / "traversal").cells).set_index(["problem", "dataset", "impl"])


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


IMPLEMENTATIONS = ("sequential", "parallel", "gpu-path", "gpu-fused")  #: as Computation 2020's tables have them


@cache
def computed():
    """Median ms of Computation 2020's cells, by graph, queries, implementation and d; phases across."""
    found = rows("computation-2020")
    found = found.assign(phase=found.phase.where(found.under == "", found.under + "/" + found.phase))
    return found.groupby(["dataset", "query_set", "impl", "dim", "phase"]).ms.median().unstack()


def alone(phases=("label",)):
    """Ms of labeling by graph and d, implementations across; where a graph has two query sets, of the smaller."""
    ms = computed()[list(phases)].fillna(0).sum(axis=1).unstack("impl").reset_index("query_set")
    rank = ms.query_set.str.len()
    return ms[rank == rank.groupby(level=["dataset", "dim"]).transform("min")].drop(columns="query_set")


def from_host():
    return alone(("label", "renumber", "transfer", "allocate"))


def home_made(frame):
    return frame[frame.index.get_level_values("dataset").str.startswith("dag")]


def labels_line(graph):
    """A line of the table of labels: d = 1 / 5."""
    ms, whole = alone().loc[graph], from_host().loc[graph]
    columns = [ms[impl] for impl in IMPLEMENTATIONS]
    for impl in ("gpu-path", "gpu-fused"):
        columns += [ms.sequential / ms[impl], ms.sequential / whole[impl]]
    return f"| {graph} | " + " | ".join(f"{short(c[1])} / {short(c[5])}" for c in columns) + " |"


def queries_line(graph, pairs):
    """A line of the table of queries and memory."""
    ms = computed()["query"][graph, f"random-{pairs}-s1"]
    found = rows("computation-2020")
    found = found[(found.dataset == graph) & (found.query_set == f"random-{pairs}-s1") & (found.dim == 5)]
    peaks = found.groupby("impl")[["host_peak_bytes", "device_peak_bytes"]].max().fillna(0) / 2**20
    memory = [" + ".join(f"{mib:,.0f}" for mib in peaks.loc[impl] if mib) or "–" for impl in IMPLEMENTATIONS]
    times = [
        " / ".join(short(ms[impl, d]) if (impl, d) in ms else "timeout" for d in (1, 5)) for impl in IMPLEMENTATIONS
    ]
    return f"| {graph} | {pairs:,} | " + " | ".join(times + memory) + " |"


def pairs_100_000():
    """Ms of a batch of 100,000 pairs on home-made DAGs, implementations across."""
    return home_made(computed()["query"].xs("random-100000-s1", level="query_set")).unstack("impl")


def over(slow, fast):
    """How many times as long as `fast` an implementation takes for those batches, where both have a time."""
    ms = pairs_100_000()
    return (ms[slow] / ms[fast]).dropna()


def rated():
    """Ms that one core would take for those batches at the rate of its 1,000 pairs."""
    return 100 * home_made(computed()["query"].xs(("random-1000-s1", "sequential"), level=("query_set", "impl")))


def larger_dags():
    """Seconds of that on dag_03 to dag_11, all d."""
    return rated().drop(["dag_01-like", "dag_02-like"], level="dataset").sum() / 1000


def untimed(of):
    """`of` in the cells where one core has no time."""
    return of[pairs_100_000().sequential.isna()]


def estimated():
    return rated() / pairs_100_000()["gpu-path"]


def filled():
    """One core over `gpu-path`, estimated where it has no time: the geometric mean."""
    both = (pairs_100_000().sequential / pairs_100_000()["gpu-path"]).fillna(estimated())
    return geometric_mean(list(both)).value


COMPUTATION = sorted({graph for graph, *_ in computed().index})


@pytest.mark.parametrize("graph", COMPUTATION)
def test_the_tables_of_computation_2020_say_what_the_rows_say(graph):
    assert labels_line(graph) in PAGE
    asked = {int(queries.split("-")[1]) for queries in computed().loc[graph].index.get_level_values("query_set")}
    for pairs in asked:
        assert queries_line(graph, pairs) in PAGE


def test_computation_2020_has_every_cell_of_the_config_and_only_one_core_ran_out_of_time():
    found = rows("computation-2020")
    asked = {
        (cell.dataset.removesuffix("-like"), cell.impl, cell.dim, cell.queries.name)
        for cell in make_plan(config_from_flags(config="computation-2020")).cells
    }
    graphs = found.dataset.str.removesuffix("-like")
    assert set(zip(graphs, found.impl, found.dim, found.query_set, strict=True)) == asked
    assert found.key.nunique() == len(asked) == 540
    late = found[found.status != "ok"]
    assert set(zip(late.status, late.impl, late.query_set, strict=True)) == {
        ("timeout", "sequential", "random-100000-s1")
    }
    assert len(late) == 31
    assert not set(late.dataset) & {"dag_01-like", "dag_02-like"}


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
        lambda: f"one core {larger_dags():,.0f} s at the rate of its 1,000",
        lambda: f"`parallel` {span(pairs_100_000().parallel / 1000, '{:.1f}')} s",
        lambda: f"100,000 pairs in {span(pairs_100_000()['gpu-fused'], '{:.1f}')} ms",
        lambda: f"{span(over('parallel', 'gpu-fused'), '{:,.0f}')} times as fast as `parallel`",
        lambda: f"{span(over('sequential', 'parallel'), '{:.0f}')} times as fast as `sequential`",
        lambda: f"{geometric_mean(list(over('sequential', 'gpu-path'))).value:.1f}x at 100,000 pairs in the 19 cells",
        lambda: f"would need {span(untimed(rated() / 1000), '{:.0f}')} s at the rate",
        lambda: f"{span((rated() / pairs_100_000().sequential).dropna())} of the measured time in the 19",
        lambda: f"would be {min(untimed(estimated())):.1f}x to {max(untimed(estimated())):.0f}x: {filled():.1f}x over",
        lambda: f"`gpu-path` {span(pairs_100_000()['gpu-path'] / 1000, '{:.1f}')} s",
        lambda: f"labels {span(alone().sequential / alone()['gpu-fused'], '{:,.0f}')} times as fast as one core",
        lambda: f"to {(alone().parallel / from_host()['gpu-fused']).max():.1f}x: the labels are",
        lambda: f"the labels are {span(100 * alone()['gpu-fused'] / from_host()['gpu-fused'], '{:.1g}')} % of that",
        lambda: f"(dag_01, d = 1) to {home_made(alone().sequential / alone()['gpu-path']).max():.1f}x (dag_10, d = 4)",
    ],
)
def test_the_page_says_what_the_rows_say(said):
    assert said() in PAGE
