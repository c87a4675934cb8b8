"""The backend of NetworkX: its answers are NetworkX's own, and a changed graph gets no old ones."""

import copy
import inspect
import json
import pickle
import re
import sys

import networkx as nx
import pytest
from commands import ROOT, in_python
from hypothesis import given
from hypothesis import strategies as st

from grailbench.api import costs
from grailbench.api import nx as nx_backend
from grailbench.api.nx.functions import FEW, Backend
from grailbench.errors import CheckFailed, InputError

NAMES = sorted(nx_backend.info()["functions"])
CLASSES = (nx.DiGraph, nx.Graph, nx.MultiDiGraph, nx.MultiGraph)
#: node of each vertex below 8; others are tuples or text
ODD = (0, "0", (0, 1), "", frozenset({1}), -7, 2.5, b"x")
ABSENT = "no such node"


def odd_node(vertex):
    if vertex < len(ODD):
        return ODD[vertex]
    return f"v{vertex}" if vertex % 3 else (vertex, "x")


@st.composite
def odd_graphs(draw):
    """NetworkX graphs of every class with nodes of many types, and attributes everywhere; half have no cycle."""
    vertices, random = draw(st.integers(0, 16)), draw(st.randoms(use_true_random=True))
    count, acyclic = draw(st.integers(0, 2)) * vertices, draw(st.booleans())
    pairs = [(random.randrange(vertices), random.randrange(vertices)) for _ in range(count)]
    place = random.sample(range(vertices), vertices)
    graph = draw(st.sampled_from((nx.DiGraph, *CLASSES)))(title="odd")
    graph.add_nodes_from((odd_node(v), {"size": v}) for v in random.sample(range(vertices), vertices))
    edges = [(place[min(pair)], place[max(pair)]) for pair in pairs if pair[0] != pair[1]] if acyclic else pairs
    graph.add_edges_from((odd_node(u), odd_node(v), {"weight": u}) for u, v in edges)
    return graph


def outcome(name, *arguments, **named):
    """What a function of NetworkX gives, with the order of everything that has one; or its exception."""
    try:
        found = getattr(nx, name)(*arguments, **named)
        if inspect.isgenerator(found):
            given_, found = [], found
            try:
                given_.extend(found)
            except Exception as error:
                given_.append((type(error), str(error)))
            return given_
    except Exception as error:
        return type(error), str(error)
    if isinstance(found, nx.Graph):
        edges = found.edges(keys=True, data=True) if found.is_multigraph() else found.edges(data=True)
        graph = [(key, list(value.items())) if key == "mapping" else (key, value) for key, value in found.graph.items()]
        edges = list(edges)
        if name == "transitive_closure_dag":  # there the order of NetworkX is that of sets of tuples
            return type(found), graph, list(found.nodes(data=True)), {repr(edge) for edge in edges}, len(edges)
        return type(found), graph, list(found.nodes(data=True)), edges
    return list(found.items()) if isinstance(found, dict) else found


@pytest.fixture(autouse=True)
def _silent():
    """NetworkX warns whenever it takes a converted graph from its cache."""
    assert "grailbench" in nx.utils.backends.backends, "install grailbench again: pip install -e '.[dev]'"
    with nx.config(warnings_to_ignore={"cache"}):
        yield


def asked(name, draw, graph):
    """Arguments for a function: nodes of the graph mostly, now and then one that it does not have."""
    node = st.sampled_from([*graph, ABSENT])
    if name == "has_path":
        return (draw(node), draw(node))
    if name in ("descendants", "ancestors"):
        return (draw(node),)
    if name == "single_source_shortest_path_length":
        cutoff = st.one_of(st.none(), st.integers(-1, 6), st.sampled_from([0.5, 2.5, float("inf"), float("nan")]))
        return (draw(node), draw(cutoff))
    if name == "transitive_closure":
        return draw(st.sampled_from([(), (False,), (True,), (None,), ("wrong",)]))
    if name == "transitive_closure_dag" and graph.is_directed():
        order = list(graph)
        if nx.is_directed_acyclic_graph(graph):
            order = list(reversed(list(nx.topological_sort(graph.reverse()))))
        return draw(st.sampled_from([(), (None,), (order,), (order[::-1],), (order[1:],)]))
    if name == "condensation" and graph.is_directed():
        return draw(st.sampled_from([(), (list(nx.strongly_connected_components(graph)),)]))
    return ()


@pytest.mark.slow
@given(data=st.data(), graph=odd_graphs())
def test_answers_are_those_of_networkx_in_its_order(data, graph):
    for name in NAMES:
        arguments = asked(name, data.draw, graph)
        assert outcome(name, graph, *arguments, backend="grailbench") == outcome(name, graph, *arguments), name


@st.composite
def views(draw):
    """A view of a graph of any class, by each of NetworkX's functions that make one, or a view of such a view."""
    graph = draw(odd_graphs())
    for _ in range(draw(st.integers(1, 2))):
        graph = draw(st.sampled_from(VIEWS))(graph, draw(st.randoms(use_true_random=True)))
    return graph


def some(found, random):
    found = list(found)
    return random.sample(found, random.randint(0, len(found)))


def keyed(graph):
    """The edges as functions of views take them."""
    return graph.edges(keys=True) if graph.is_multigraph() else graph.edges()


def filtered(graph, random):
    """`nx.subgraph_view`, with filters that hide some nodes and edges."""
    nodes, edges = some(graph, random), some(keyed(graph), random)
    if not graph.is_directed():
        edges += [(v, u, *key) for u, v, *key in edges]
    return nx.subgraph_view(
        graph, filter_node=lambda node: node not in nodes, filter_edge=lambda *edge: edge not in edges
    )


VIEWS = (
    lambda graph, random: graph.subgraph(some(graph, random)),
    lambda graph, random: graph.edge_subgraph(some(keyed(graph), random)),
    lambda graph, random: nx.restricted_view(graph, some(graph, random), some(keyed(graph), random)),
    filtered,
    lambda graph, random: graph.reverse(copy=False) if graph.is_directed() else graph.to_directed(as_view=True),
    lambda graph, random: graph.to_directed(as_view=True),
    lambda graph, random: graph.to_undirected(as_view=True),
    lambda graph, random: nx.graphviews.generic_graph_view(graph),
    lambda graph, random: nx.freeze(graph.copy()),
)


@pytest.mark.slow
@given(data=st.data(), graph=views())
def test_answers_on_views_are_those_of_networkx(data, graph):
    """A view of a multigraph with hidden edges was 'iterator too short'."""
    with nx.config.backend_priority(algos=["grailbench"]), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Backend, "should_run", staticmethod(lambda name, args, kwargs: True))
        for name in NAMES:
            arguments = asked(name, data.draw, graph)
            theirs = outcome(name, graph, *arguments, backend="networkx")
            assert outcome(name, graph, *arguments) == theirs, name
            assert outcome(name, graph, *arguments, backend="grailbench") == theirs, name


def test_has_path_without_a_node_asks_for_all_as_in_networkx():
    graph = nx.path_graph(3, nx.DiGraph)
    for pair in ((0, None), (None, 2), (None, None), ([0], 1)):
        assert outcome("has_path", graph, *pair, backend="grailbench") == outcome("has_path", graph, *pair)


def test_every_function_that_networkx_is_told_of_is_there_with_its_arguments():
    for name in NAMES:
        ours, theirs = (
            [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]
            for function in (getattr(Backend, name), getattr(nx, name).orig_func)
        )
        assert ours == theirs, name


# ------------------------------------------------------------------ the cache


def held(graph):
    """The converted graphs that NetworkX keeps with a graph."""
    return list(graph.__networkx_cache__.get("backends", {}).get("grailbench", {}).values())


def test_a_graph_is_converted_once_for_all_functions_and_its_index_built_once():
    graph = nx.path_graph(9, nx.DiGraph)
    assert nx.has_path(graph, 0, 8, backend="grailbench")
    (first,) = held(graph)
    index = first.index
    nx.transitive_closure(graph, backend="grailbench")  # for which NetworkX would keep all attributes
    assert not nx.has_path(graph, 8, 0, backend="grailbench")
    assert held(graph) == [first]
    assert first.index is index


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph.add_edge(8, 0),
        lambda graph: graph.remove_edge(0, 1),
        lambda graph: graph.remove_node(4),
        lambda graph: graph.add_edges_from([(8, 9), (9, 0)]),
        lambda graph: nx.add_cycle(graph, [8, 0]),
        lambda graph: graph.clear_edges(),
    ],
)
def test_a_method_that_changes_the_graph_drops_the_index(change):
    graph = nx.path_graph(9, nx.DiGraph)
    nx.has_path(graph, 0, 8, backend="grailbench")
    (old,) = held(graph)
    change(graph)
    assert held(graph) == []
    for pair in ((0, 8), (8, 0), (3, 5)):
        assert nx.has_path(graph, *pair, backend="grailbench") == nx.has_path(graph, *pair)
    with pytest.raises(InputError, match="changed after"):
        nx.has_path(old, 0, 8)


def test_a_change_that_no_method_made_is_one_error_where_it_is_seen():
    graph = nx.path_graph(9, nx.DiGraph)
    nx.has_path(graph, 0, 8, backend="grailbench")
    graph._succ[8][0] = graph._pred[0][8] = {}
    for name in ("is_directed_acyclic_graph", "topological_generations", "transitive_closure", "condensation"):
        with pytest.raises(InputError, match=r"G\.__networkx_cache__\.clear\(\)"):
            getattr(nx, name)(graph, backend="grailbench")
    graph.__networkx_cache__.clear()
    assert not nx.is_directed_acyclic_graph(graph, backend="grailbench")
    graph._node[9], graph._succ[9], graph._pred[9] = {}, {}, {}
    for name in ("descendants", "ancestors", "single_source_shortest_path_length"):
        with pytest.raises(InputError, match="changed after"):
            getattr(nx, name)(graph, 0, backend="grailbench")
    with pytest.raises(InputError, match="changed after"):
        nx.has_path(graph, 0, 9, backend="grailbench")


def test_a_view_of_a_graph_that_was_changed_is_one_error():
    graph = nx.path_graph(9, nx.DiGraph)
    view = graph.reverse(copy=False)
    assert nx.has_path(view, 8, 0, backend="grailbench")
    graph.remove_edge(0, 1)  # the cache of the view does not hear of it
    with pytest.raises(InputError, match="changed after"):
        nx.has_path(view, 8, 0, backend="grailbench")
    view.__networkx_cache__.clear()
    assert not nx.has_path(view, 8, 0, backend="grailbench")


def test_attributes_are_those_of_the_time_of_the_call():
    graph = nx.DiGraph([("a", "b", {"weight": 1}), ("b", "c")])
    nx.transitive_closure(graph, backend="grailbench")
    graph["a"]["b"]["weight"] = 7  # as NetworkX warns, nothing tells its cache of that
    graph.nodes["c"]["size"] = 3
    closed = nx.transitive_closure(graph, backend="grailbench")
    assert closed.edges["a", "b"] == {"weight": 7}
    assert closed.nodes["c"] == {"size": 3}
    closed.edges["a", "b"]["weight"] = 0
    assert graph.edges["a", "b"] == {"weight": 7}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])
def test_a_graph_is_copied_and_pickled_with_what_is_kept_with_it(copied):
    graph = nx.path_graph(9, nx.DiGraph)
    nx.has_path(graph, 0, 8, backend="grailbench")
    other = copied(graph)
    assert nx.has_path(other, 0, 8, backend="grailbench")
    other.add_edge(8, 0)
    assert nx.has_path(other, 8, 0, backend="grailbench")
    assert not nx.has_path(graph, 8, 0, backend="grailbench")


def test_generations_go_on_as_in_networkx_when_the_graph_is_changed_meanwhile():
    def changed(change, **named):
        graph = nx.DiGraph([(1, 2), (2, 3), (3, 4), (1, 5)])
        found = []
        try:
            for generation in nx.topological_generations(graph, **named):
                found.append(list(generation))
                if len(found) == 1:
                    change(graph)
        except Exception as error:
            found.append((type(error), str(error)))
        return found

    changes = [
        lambda graph: graph.add_edge(4, 6),
        lambda graph: graph.remove_node(2),
        lambda graph: graph.remove_node(4),
        lambda graph: graph.remove_edge(3, 4),
        lambda graph: graph.add_edge(5, 3),
        lambda graph: graph.add_node(9),
    ]
    for change in changes:
        assert changed(change, backend="grailbench") == changed(change)


# ------------------------------------------------------------------ being chosen


def test_networkx_keeps_small_graphs_for_itself_where_it_may_choose():
    with nx.config.backend_priority(algos=["grailbench"]):
        for nodes, converted in ((FEW - 1, 0), (FEW, 1)):
            graph = nx.path_graph(nodes, nx.DiGraph)
            assert nx.has_path(graph, 0, nodes - 1)
            assert len(held(graph)) == converted
        assert nx.has_path(G=graph, source=0, target=1)
        graph.remove_node(0)
        nx.has_path(graph, 1, 2, backend="grailbench")
        assert Backend.should_run("has_path", (), {"G": graph}) is True  # it is converted already


THEIRS = """
import collections
import pytest
from grailbench.api import nx as nx_backend
from grailbench.api import Graph, build, costs
from grailbench.api.nx.functions import Backend

calls = collections.Counter()

def counted(name, function):
    def call(*arguments, **named):
        calls[name] += 1
        return function(*arguments, **named)
    return staticmethod(call)

for name in nx_backend.info()["functions"]:
    setattr(Backend, name, counted(name, getattr(Backend, name)))

class Outcomes:
    seen = collections.Counter()
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome == "failed":
            self.seen["expected to fail" if hasattr(report, "wasxfail") else report.outcome] += 1

modules = ("tests.test_dag", "shortest_paths.tests.test_generic", "shortest_paths.tests.test_unweighted",
           "components.tests.test_strongly_connected")
code = pytest.main(["-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", FILE, "--pyargs",
                    *("networkx.algorithms." + module for module in modules)], plugins=[Outcomes()])
print("code", int(code))
print("outcomes", dict(Outcomes.seen))
print("calls", dict(calls))
"""


@pytest.mark.slow
def test_networkxs_own_tests_pass_with_the_backend(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    code, out = in_python(
        f"FILE = {str(tmp_path / 'pytest.ini')!r}\n" + THEIRS,
        NETWORKX_TEST_BACKEND="grailbench",
        NETWORKX_FALLBACK_TO_NX="1",
    )
    said = dict(line.split(" ", 1) for line in out.splitlines() if line.startswith(("code", "outcomes", "calls")))
    assert said["code"] == "0", out
    outcomes, calls = eval(said["outcomes"]), eval(said["calls"])
    assert outcomes.keys() == {"passed"}, out
    assert outcomes["passed"] > 100
    assert sorted(calls) == NAMES, "every function was used"


# ------------------------------------------------------------------ the page and its command


def test_the_programs_of_the_page_run():
    page = (ROOT / "docs" / "how-to" / "networkx.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(programs) == 2
    with nx.config(warnings_to_ignore=set()), nx.config.backend_priority(algos=[], generators=[]):
        found = {}
        for program in programs:
            exec(program, found)
    assert found["H"].source is found["G"]
    assert f"fewer than {FEW} nodes" in page
    table = "".join(line for line in page.splitlines() if line.startswith("| `"))
    assert sorted(re.findall(r"`(\w+)`", table)) == NAMES


def test_the_costs_of_the_library_are_measured_and_every_answer_is_checked(diamond, capsys, monkeypatch):
    words = [diamond, "--pairs", "400", "--rounds", "2"]
    costs.main([*words, "--json"], standalone_mode=False)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["part"] for line in lines} == set(costs.PARTS)
    assert all(line["ms_low"] <= line["ms"] <= line["ms_high"] for line in lines)
    asked = [line for line in lines if line["calls"]]
    assert all(line["ns_low"] <= line["ns"] <= line["ns_high"] for line in asked)
    assert all(line["ns_low"] is None for line in lines if line not in asked)
    assert 0 < len(asked) < len(lines)
    assert {line["graph"] for line in lines if line["part"] == "networkx"} == {"diamond, random", "diamond, balanced"}
    costs.main([*words, "--part", "load"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "the first answer" in out
    assert "‡ fewer than ten trials" in out
    monkeypatch.setattr(Backend, "has_path", staticmethod(lambda G, source, target: True))
    with pytest.raises(CheckFailed, match="an answer differs from that of has_path"):
        costs.networkx(diamond, 4000, 1)
    for wrong, code, said in (("--pairs=0", 2, "at least one"), ("--part=networkx", 4, "networkx>=")):
        monkeypatch.setitem(sys.modules, "networkx", None)
        with pytest.raises(SystemExit) as exit_:
            costs.main([diamond, wrong], standalone_mode=False)
        assert (exit_.value.code, said in capsys.readouterr().err) == (code, True)


def test_networkx_is_imported_without_numba_and_the_library():
    """With grailbench installed, `import networkx` took ten times as long."""
    code, out = in_python("import networkx, sys; print('grailbench' in networkx.utils.backends.backends, *sys.modules)")
    assert (code, out.split()[0]) == (0, "True")
    assert not {"numba", "pandas", "grailbench.graph", "grailbench.api.graph"} & {*out.split()}


@given(graph=odd_graphs())
def test_edges_of_a_condensation_have_one_dictionary_each_from_both_ends(graph):
    if not graph.is_directed():
        return
    own, ours = nx.condensation(graph, backend="networkx"), nx.condensation(graph, backend="grailbench")
    assert [[*ours.pred[v]] for v in ours] == [[*own.pred[v]] for v in own]
    assert all(ours.pred[v][u] is data for u, v, data in ours.edges(data=True))
    assert len({id(data) for _, _, data in ours.edges(data=True)}) == ours.number_of_edges() == own.number_of_edges()
