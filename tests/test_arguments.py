"""Whatever is passed to the library, it gives the right answer or one InputError, and never crashes.

Public methods and their parameters are found by reflection: a new one needs a right value in `right_values`, and is
then given everything that `NEVER` has.
"""

import array
import inspect
import itertools
import pickle
from collections import deque
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from commands import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import closure

import grailbench as gb
from grailbench.api import graph as of_user
from grailbench.graph import arguments as of_columns
from grailbench.graph.arguments import id_column

EDGES = [(0, 1), (1, 2), (3, 4), (4, 3), (3, 1), *((v, v) for v in range(5))]
#: the ids of vertices 0..4: consecutive from 0 on or from below 0, any numbers, names. The numbers have 0, 1 and 2.
IDS = {
    "from 0": [0, 1, 2, 3, 4],
    "from -2": [-2, -1, 0, 1, 2],
    "any numbers": [-7, 0, 1, 2, 2**63 - 1],
    "names": ["b", "0", "a", "c", "-7"],
}
NUMBERED = ("from 0", "from -2", "any numbers")


def graph_of(kind):
    ids = IDS[kind]
    if kind == "from 0":
        return gb.Graph.from_edges(*zip(*EDGES, strict=True), vertices=5, kinds=["a"] * len(EDGES))
    made = nx.DiGraph()
    made.add_nodes_from(ids)
    made.add_edges_from(((ids[u], ids[v]) for u, v in EDGES), kind="a")
    return gb.Graph.from_networkx(made, kind="kind")


@pytest.fixture(scope="module")
def indexes():
    return {(kind, name): gb.build(graph_of(kind), name) for kind in IDS for name in ("auto", "parallel")}


def arrow(values, type=None):
    return pa.array(values, type)


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no text")


_PACKED = np.dtype([("odd", np.int8), ("id", np.int64)])  # its ids are not aligned


def packed(values):
    found = np.zeros(len(values), _PACKED)
    found["id"] = values
    return found["id"]


def read_only(values):
    values = np.array(values)
    values.flags.writeable = False
    return values


#: a column that holds some numbers -> how it is made of a list of them
NUMBERS = {
    **{f"numpy {dtype}": lambda ids, dtype=dtype: np.array(ids, dtype) for dtype in (
        "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u8", "longlong", object)},
    "tuple": tuple, "generator": iter, "deque": deque, "keys": lambda ids: dict.fromkeys(ids).keys(),
    "array": lambda ids: array.array("q", ids), "numbers of numpy": lambda ids: list(map(np.uint8, ids)),
    "every second": lambda ids: np.repeat(ids, 2)[::2], "backwards": lambda ids: np.array(ids[::-1])[::-1],
    "column": lambda ids: np.array([ids, ids]).T[:, 0], "Fortran": lambda ids: np.array([ids, ids], order="F")[0],
    "read-only": read_only, "packed": packed, "no mask": lambda ids: np.ma.array(ids),
    "series": lambda ids: pd.Series(ids, index=ids[::-1]), "index": pd.Index, "categorical": pd.Categorical,
    "nullable": lambda ids: pd.array(ids, dtype="Int64"),
    "pandas Arrow": lambda ids: pd.Series(ids, dtype="int8[pyarrow]"),
    "Arrow": arrow, "Arrow u8": lambda ids: arrow(ids, pa.uint64()),
    "chunks": lambda ids: pa.chunked_array([ids[:1], ids[1:]]),
    "Arrow dictionary": lambda ids: arrow(ids).dictionary_encode(), "digits": lambda ids: list(map(str, ids)),
}  # fmt: skip
#: the same of names
TEXTS = {
    "tuple": tuple, "generator": iter, "numpy U": np.array, "objects": lambda ids: np.array(ids, object),
    "texts of numpy": lambda ids: list(np.array(ids)), "series": pd.Series, "index": pd.Index,
    "series of objects": lambda ids: pd.Series(ids, dtype=object), "categorical": pd.Categorical, "Arrow": arrow,
    "Arrow large": lambda ids: arrow(ids, pa.large_string()),
    "chunks": lambda ids: pa.chunked_array([ids[:1], ids[1:]]),
    "Arrow dictionary": lambda ids: arrow(ids).dictionary_encode(),
    "pandas Arrow": lambda ids: pd.Series(ids, dtype="string[pyarrow]"),
}  # fmt: skip
if hasattr(np.dtypes, "StringDType"):  # from numpy 2 on
    TEXTS["StringDType"] = lambda ids: np.array(ids, np.dtypes.StringDType())
#: what is neither a column of ids nor an id, nor any other argument of the library
NEVER = {
    "fraction": [0.5, 1], "whole floats": [1.0, 2.0], "floats": np.array([0.0, 1.0]), "f2": np.array([1], "f2"),
    "NaN": [float("nan"), 1], "NaNs": np.array([np.nan]), "infinity": np.array([np.inf, 1]), "None inside": [0, None],
    "truth": [True, False], "truths": np.array([True]), "complex": np.array([1j]),
    "dates": np.array(["2026-01-01"], "M8[D]"),
    "spans": np.array([1], "m8[s]"), "datetime": [datetime(2026, 1, 1)], "structured": np.zeros(2, _PACKED),
    "bytes inside": [b"a"], "numpy S": np.array([b"a"]), "void": np.zeros(2, "V8"), "mixed": ["a", 0],
    "mixed too": [0, "a"],
    "tuples": [(0, 1)], "lists": [[0], [1]], "arrays": [np.array([0]), np.array([1])], "decimal": [Decimal(1)],
    "fractions": [Fraction(1)], "ellipsis": [...], "unprintable": [Unprintable()], "beyond": [2**63],
    "below": [-(2**63) - 1], "huge": [10**5000],
    "u8 beyond": np.array([1, 2**63], "u8"), ">u8 beyond": np.array([2**64 - 1], ">u8"),
    "square": np.zeros((2, 2), np.int64), "0-d": np.array(1.5), "3-D": np.zeros((1, 1, 1), np.int8),
    "masked": np.ma.array([0, 1], mask=[False, True]), "all masked": np.ma.masked,
    "NA": pd.array([0, None], dtype="Int64"),
    "float NA": pd.Series([0, None]), "category NA": pd.Categorical([0, None]), "str NA": pd.Series(["a", None]),
    "Arrow null": arrow([0, None]), "Arrow text null": arrow(["a", None]), "Arrow truth": arrow([True]),
    "Arrow floats": arrow([1.0]), "Arrow lists": arrow([[1]]), "Arrow dates": arrow([datetime(2026, 1, 1)]),
    "Arrow beyond": arrow([2**63], pa.uint64()), "Arrow nulls": pa.nulls(2),
    "Arrow table": pa.table({"s": [0], "t": [1]}),
    "table": pd.DataFrame({"s": [0], "t": [1]}), "levels": pd.MultiIndex.from_tuples([(0, 1)]),
    "sparse": scipy.sparse.coo_array(np.ones((2, 3))), "csr": scipy.sparse.csr_array(np.ones((2, 3))),
    "dictionary": {0: 1}, "object": object(), "unprintable itself": Unprintable(), "type": np.int64, "module": np,
    "ellipsis itself": ..., "bytes": b"ab", "bytearray": bytearray(b"ab"), "NaN itself": float("nan"),
    "complex itself": 1j, "infinite": float("inf"), "huge itself": 10**5000, "minus huge": -(10**5000),
    "NA itself": pd.NA, "NaT": pd.NaT, "date": np.datetime64("2026"), "nothing": "", "NUL": "\0", "slice": slice(2),
    "list in list": [[[]]],
    "decimal itself": Decimal("1.5"), "float of numpy": np.float64(1.5), "set of floats": {0.5},
    "function": lambda given: 0.5,
}  # fmt: skip
#: what is no id of any of the graphs
NO_ID = (True, np.True_, 1.0, 0.5, np.float32(1), None, 99, -99, 2**63, -(2**63) - 1, 2**64, Decimal(1), Fraction(1),
         "x", "1.0", " 1", "1_0", "+1", "\u0661", "-", "-0", "9" * 40, np.array(1), [], [1], (1,), {}, ...)  # fmt: skip
#: parameters for which such a value means something, as no name at all does for filters
ALLOWED = {("filters", "nothing"), ("pairs", "square"), ("memory", "float of numpy")}
UNRELATED = {"of_parts"}  #: a constructor for modules of grailbench, of parts that those have checked
SINGLE = {"source", "target", "first", "second", "id"}


def right_values(kind, tmp_path):
    """A right value for each parameter: of a method where it needs one of its own, else of all."""
    ids = IDS[kind]
    return {
        "source": ids[0], "target": ids[2], "first": ids[1], "second": ids[2], "id": ids[1], "sources": ids[:3],
        "targets": ids[1:4], "ids": ids[:3], "shard": 2, "columns": None, "pairs": (ids[:3], ids[1:4]),
        "within": 1, "topological": True, "distances": True, "confidence": 0.9, "seed": 1,
        "path": str(tmp_path / "x"), "ids_of.vertices": [0, 2], "name": "path-3",
        "reaches_vertices.source": 0, "reaches_vertices.target": 2, "reaches_many_vertices.sources": [0, 1],
        "reaches_many_vertices.targets": [2, 2], "from_edges.sources": [0, 1], "from_edges.targets": [1, 2],
        "names": None, "kinds": None, "from_networkx.kind": None, "from_igraph.kind": None, "only.kind": "a",
        "by": None, "from_edges.vertices": None, "renumber": False, "matrix": scipy.sparse.eye_array(3).tocsr(),
        "from_scipy.matrix": scipy.sparse.eye_array(3).tocsr(), "from_networkx.graph": nx.path_graph(3),
        "from_igraph.graph": igraph.Graph([(0, 1)]), "read.path": str(tmp_path / "edges.txt"),
        "format": "edges", "build.graph": graph_of(kind), "implementation": "sequential", "d": 2, "filters": None,
        "threads": 1, "device": None,
        "search": "dfs", "order": "random", "devices": 1, "memory": None, "build.pairs": None, "client": None,
        "folder": None, "build.vertices": None, "resume": False, "load.path": str(tmp_path / "saved.index"),
        "add_vertices": False, "without_edges.sources": [ids[0], ids[1]], "without_edges.targets": [ids[1], ids[2]],
        "background": False, "rebuild_pays_from.pairs": 3,
        "load.graph": None, "sha256": None, "mmap": True, "load.implementation": None,
        "read_run.path": str(ROOT / "results" / "baselines" / "ci"), "machine": None,
        "graphs": "path-5", "implementations": "dfs", "config": None, "out": str(tmp_path / "run"), "progress": True,
    }  # fmt: skip


def calls_of(index, kind, tmp_path):
    """Every public function and method: its name, what is called, and right arguments."""
    (tmp_path / "edges.txt").write_text("0 1\n")
    index.save(tmp_path / "saved.index")
    right = right_values(kind, tmp_path)
    public = [(name, getattr(thing, name)) for thing in (index, index.graph) for name in dir(type(thing))]
    for name, called in [*public, *((name, getattr(gb, name)) for name in ("build", "load", "read_run", "run"))]:
        if name.startswith("_") or name in UNRELATED or not callable(called):
            continue
        kinds = inspect.signature(called).parameters.values()
        names = [each.name for each in kinds if each.kind is not inspect.Parameter.VAR_KEYWORD]
        yield name, called, {each: right.get(f"{name}.{each}", right.get(each, KeyError)) for each in names}


def plain(found):
    """What a call returned, so that two results can be compared."""
    if isinstance(found, gb.Graph | gb.Index):
        return getattr(found, "graph", found).checksum
    if inspect.isgenerator(found):
        return np.concatenate([np.empty(0, np.uint8), *found]).tolist()
    if isinstance(found, tuple):
        return [each.tolist() for each in found]
    return found.tolist() if isinstance(found, np.ndarray) else found


def test_every_public_method_is_called_with_right_arguments(indexes, tmp_path):
    """If this fails for a method of yours, `right_values` lacks a value for a parameter of it."""
    index, names = indexes["names", "auto"], []
    for name, called, arguments in calls_of(index, "names", tmp_path):
        plain(called(**arguments))
        names.append(name)
    assert {"reaches", "reaches_many_vertices", "stream", "from_networkx", "ids_of", "build", "load", "run"} <= set(
        names
    )


def outcome(called, arguments):
    """What a call gives: a result, 'refused' for one clear InputError, or what it crashes with."""
    try:
        return plain(called(**arguments))
    except gb.InputError as error:
        return "refused" if "\n" not in str(error) and len(str(error)) < 600 else f"unclear: {error}"
    except Exception as error:
        return f"crashed: {error!r}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", IDS)
def test_what_is_no_argument_is_one_clear_error_of_every_method(indexes, tmp_path, kind):
    """Fractions were cut off, columns of Arrow and numbers in the place of names crashed."""
    faults = []
    for name, called, arguments in calls_of(indexes[kind, "auto"], kind, tmp_path):
        for parameter, (what, wrong) in itertools.product(arguments, NEVER.items()):
            found = outcome(called, arguments | {parameter: wrong})
            if found != "refused" and (parameter, what) not in ALLOWED:
                faults.append(f"{name}({parameter}=<{what}>): {found!r:.150}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("name", ["auto", "parallel"])
def test_what_is_no_id_has_no_answer(indexes, tmp_path, kind, name):
    """True and 1.0 were taken for 1 where the ids have gaps, and a number for the name with its digits."""
    index, faults = indexes[kind, name], []
    for method, called, arguments in calls_of(index, kind, tmp_path):
        for parameter in SINGLE & arguments.keys():
            for wrong in (*NO_ID, *([0, -7] if kind == "names" and method != "reaches_vertices" else [])):
                if method in ("descendants", "ancestors") and isinstance(wrong, list | tuple):
                    continue  # these are of several ids
                found = outcome(called, arguments | {parameter: wrong})
                if found != "refused":
                    faults.append(f"{method}({parameter}={wrong!r}): {found!r:.150}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("kind", IDS)
def test_columns_of_every_kind_have_the_answers_of_lists(indexes, tmp_path, kind):
    """Columns of uint64 went through floats; those of Arrow, and in the other byte order, crashed."""
    index, ids, faults = indexes[kind, "auto"], [0, 2, 1] if kind in NUMBERED else ["a", "0", "b"], []
    columns = {"sources", "targets", "ids", "vertices"}
    for name, called, arguments in calls_of(index, kind, tmp_path):
        for parameter in columns & arguments.keys():
            if arguments[parameter] is None:
                continue
            numbers = kind in NUMBERED or name in ("reaches_many_vertices", "ids_of", "from_edges")
            right = [0, 2, 1] if numbers else ids
            both = {each: right for each in {"sources", "targets"} & arguments.keys()}
            expected = outcome(called, arguments | both | {parameter: right})
            for what, make in (NUMBERS if numbers else TEXTS).items():
                if what == "digits" and name in ("reaches_many_vertices", "ids_of", "from_edges"):
                    continue  # there they are names
                found = outcome(called, arguments | both | {parameter: make(right)})
                if found != expected or expected == "refused":
                    faults.append(f"{name}({parameter}=<{what}>): {found!r:.100}, {expected!r:.100} is right")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("single", [np.int8, np.uint64, np.int64, str])
def test_an_id_may_be_a_number_of_numpy_or_its_digits(indexes, kind, single):
    index, right = indexes[kind, "auto"], closure(5, EDGES)
    for u, v in itertools.product(range(5), repeat=2):
        if kind != "names" and IDS[kind][u] in (0, 1, 2) and IDS[kind][v] in (0, 1, 2):
            assert index.reaches(*(single(IDS[kind][vertex]) for vertex in (u, v))) is (v in right[u])


@pytest.mark.parametrize("name", ["auto", "core", "parallel", "sequential", "sweep", "dfs", "peer:scipy"])
def test_columns_of_unequal_length_are_refused(name):
    """They read and wrote outside of arrays, and the process crashed."""
    for edges in ([0, 1, 2], [1, 2, 3]), ([0, 1, 2, 2], [1, 2, 3, 1]):
        index = gb.build(gb.Graph.from_edges(*edges), name)
        for few, many in ((1, 5000), (0, 3), (2, 3)):
            columns = np.zeros(few, np.int32), np.zeros(many, np.int32)
            for us, vs in (columns, columns[::-1]):
                says = f"{us.size:,} sources and {vs.size:,} targets"
                with pytest.raises(gb.InputError, match=says):
                    index.reaches_many_vertices(us, vs)
                with pytest.raises(gb.InputError, match=says):
                    index.reaches_many(us, vs)
                with pytest.raises(gb.InputError, match=says):
                    index.stream((us, vs))


def test_unsigned_ids_beside_signed_ones_stay_different():
    """As floats, 2^53 and 2^53 + 1 became one vertex: 7 reached 1."""
    graph = gb.Graph.from_edges(np.array([2**53, 7], np.uint64), np.array([1, 2**53 + 1]), renumber=True)
    index = gb.build(graph)
    assert (graph.vertices, index.reaches(7, 1), index.reaches(2**53, 1)) == (4, False, True)
    far = gb.build(gb.Graph.from_edges(np.array([2**62 + 1], "u8"), [5], renumber=True))
    shards = (np.array([2**62 + 1], "u8"), np.array([5])), (np.array([5]), np.array([2**62 + 1], "u8"))
    assert [np.unpackbits(bits, count=2).tolist() for bits in far.stream(iter(shards), shard=9)] == [[1, 0]]


@pytest.mark.parametrize("make", [lambda ids: np.array(ids, "u8"), list, lambda ids: arrow(ids, pa.uint64())])
def test_ids_beyond_64_bits_with_a_sign_are_one_error(make, tmp_path):
    """An array of uint64 made negative ids of them, a list was refused."""
    with pytest.raises(gb.InputError, match=r"sources, place 1 of 2: 9223372036854775809 is an id beyond 64 bits"):
        gb.Graph.from_edges(make([3, 2**63 + 1]), [5, 5], renumber=True)
    pd.DataFrame({"source": np.array([3, 2**63 + 1], "u8"), "target": [5, 5]}).to_parquet(tmp_path / "far.parquet")
    with pytest.raises(gb.InputError, match=r"far.parquet: column 'source' has an id beyond 64 bits with a sign \("):
        gb.Graph.read(tmp_path / "far.parquet")


SIGNED = st.lists(st.integers(-4, 4) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8, unique=True)


@pytest.mark.slow
@settings(max_examples=10)
@given(ids=SIGNED, data=st.data())
def test_signed_ids_are_answered_also_when_saved_and_pickled(tmp_path_factory, ids, data):
    """Negative ids were taken, half of the questions failed, and a saved index never opened."""
    ends = data.draw(st.lists(st.tuples(*[st.sampled_from(range(len(ids)))] * 2), min_size=1, max_size=12))
    edges = [(ids[u], ids[v]) for u, v in ends]
    path = tmp_path_factory.mktemp("signed") / "x.index"
    graph = nx.DiGraph(edges)
    right = {(u, v): nx.has_path(graph, u, v) for u in graph for v in graph}
    for made in (gb.Graph.from_edges(*zip(*edges, strict=True), renumber=True), gb.Graph.from_networkx(graph)):
        index = gb.build(made, "sequential")
        index.save(path)
        for each in (index, gb.load(path), gb.load(path, made), pickle.loads(pickle.dumps(index))):
            assert each.reaches_many(*zip(*right, strict=True)).tolist() == [*right.values()]
            for (u, v), reachable in right.items():
                assert each.reaches(u, v) is each.explain(u, v).reachable is reachable
            for u in graph:
                assert each.descendants(u).tolist() == [
                    v for v in made.ids_of(range(made.vertices)) if right[u, v] and u != v
                ]
                assert each.graph.vertex(u) == each.graph.vertices_of([u])[0] == each.graph.vertex(str(u))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: gb.Graph.from_edges(arrow(["a", None]), ["b", "c"]), "sources, place 1 of 2: the id is missing"),
        (lambda: gb.Graph.from_edges([0, 1], pd.Series([1, None])), "targets, place 1 of 2: the id is missing"),
        (
            lambda: gb.Graph.from_edges([0, 1], np.ma.array([1, 2], mask=[1, 0])),
            "targets, place 0 of 2: the id is missing",
        ),
        (lambda: gb.Graph.from_edges([0.0, 1.0], [1.0, 2.0]), r"0.0 is neither a name nor a whole number, .*int\(id\)"),
        (lambda: gb.Graph.from_edges(np.array([0.0]), np.array([1.0])), r"sources of float64.*astype\(int\)"),
        (lambda: gb.Graph.from_edges(["a", 1], ["b", "c"]), r"place 1 of 2: 1 is a number among names \(str\(id\)"),
        (lambda: gb.Graph.from_networkx(nx.DiGraph([((0, 0), (0, 1))])), r"place 0 of 2: \(0, 0\).*relabel_nodes"),
        (lambda: gb.build(pd.DataFrame({"s": [0], "t": [1]})), r"^s t 0 0 1 is no Graph.*from_edges\(table"),
        (lambda: gb.build(nx.DiGraph()), "from_networkx"),
        (lambda: gb.Graph.from_edges("ab", "cd"), "'ab': a text is no column"),
        (lambda: gb.Graph.from_edges({0, 1}, [1, 2]), "sources as a set, which has no order"),
        (lambda: gb.Graph.from_edges([0], [1], names={"a", "b"}), "names as a set"),
        (lambda: gb.Graph.from_edges([[0, 1], [1, 2]], [0, 1]), r"place 0 of 2: \[0, 1\] is neither"),
        (lambda: gb.Graph.from_edges(np.zeros((2, 2), int), [0, 1]), r"shape \(2, 2\): one column"),
    ],
)
def test_errors_name_the_place_and_the_remedy_in_one_line(make, says):
    with pytest.raises(gb.InputError, match=says) as error:
        make()
    assert "\n" not in str(error.value)


def test_blocks_of_a_stream_are_checked_as_columns_are():
    streams = pytest.importorskip("grailbench.outofcore.streams")
    for wrong in (5, [5], [[0]], [([0.5], [1])], [(["a"], ["b"])], [([0], [1, 2])], [(np.array([2**63], "u8"), [1])]):
        with pytest.raises(gb.InputError):
            [*streams.opened(lambda wrong=wrong: wrong).blocks()]
    ((us, vs),) = streams.opened([(arrow([0, 2]), np.array([1, 3], ">i8"))]).blocks()
    assert (us.tolist(), vs.tolist()) == ([0, 2], [1, 3])


@given(
    st.lists(st.integers(-(2**66), 2**66) | st.floats() | st.text(max_size=2) | st.booleans() | st.none(), max_size=4)
)
def test_a_list_is_a_column_as_it_is_or_is_refused(values):
    try:
        found = id_column(values, "ids").tolist()
    except gb.InputError:
        fits = {type(each) for each in values} == {str} or all(
            type(each) is int and -(2**63) <= each < 2**63 for each in values
        )
        assert not fits
    else:
        assert [*map(type, found)] == [*map(type, values)]
        assert found == values


CODED = {
    "categorical": lambda names: pd.Categorical(names, categories=["unused", *sorted(set(names), reverse=True)]),
    "series": lambda names: pd.Series(names, dtype="category", index=range(len(names), 0, -1)),
    "str": lambda names: pd.Series(names, dtype="str"),
    "Arrow": pa.array,
    "chunks of Arrow": lambda names: pa.chunked_array([names[:1], names[1:]]),
    "dictionary of Arrow": lambda names: pa.chunked_array([names[:1], names[1:]]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", CODED)
def test_columns_that_hold_each_name_once_are_never_spelled_out(kind, monkeypatch):
    """A million categories took a second to look up, where vertices take 15 ms."""
    us, vs = ["b", "a", "b", "d", "b"], ["a", "c", "a", "c", "e"]
    plain = gb.Graph.from_edges(us, vs)
    monkeypatch.setattr(of_user, "uncoded", None)
    monkeypatch.setattr(of_columns, "uncoded", None)
    graph = gb.Graph.from_edges(CODED[kind](us), CODED[kind](vs))
    assert (list(graph), graph.checksum) == (list(plain), plain.checksum)
    asked = CODED[kind](["b", "c", "d", "d"]), CODED[kind](["c", "b", "d", "a"])
    assert gb.build(graph).reaches_many(*asked).tolist() == [True, False, True, False]
    monkeypatch.undo()
    with pytest.raises(gb.InputError, match="place 1 of 2: no vertex is named 'x'"):
        graph.vertices_of(CODED[kind](["b", "x"]))
