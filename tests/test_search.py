"""The search for a single question, in numpy alone, against the oracle; and that such a question loads no kernels."""

import naive
import numpy as np
import pytest
from commands import call, heavy_imports
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import dag_of, digraphs

from grailbench.data.imported import import_graph
from grailbench.graph import search
from grailbench.graph.ids import Named


@given(drawn=digraphs())
def test_every_pair_is_answered_as_by_the_oracle(drawn):
    vertices, edges = drawn
    dag = dag_of(vertices, edges)
    some = range(0, vertices, max(1, vertices // 10))
    for u in some:
        found = {v for v in some if search.reaches(dag, *dag.component[[u, v]])}
        assert found == naive.reachable_from(vertices, edges, u) & {*some}


@given(drawn=digraphs(), data=st.data())
def test_sets_are_answered_as_by_the_oracle(drawn, data):
    vertices, edges = drawn
    assume(vertices)
    dag = dag_of(vertices, edges)
    starts = data.draw(st.lists(st.integers(0, vertices - 1), min_size=1, max_size=4))
    for rows, turned in (
        ((dag.offsets, dag.children), edges),
        ((dag.parent_offsets, dag.parents), [(v, u) for u, v in edges]),
    ):
        seen = search.reached(*rows, np.unique(dag.component[starts]))[dag.component]
        assert {*np.flatnonzero(seen).tolist()} == set().union(
            *(naive.reachable_from(vertices, turned, u) for u in starts)
        )


@pytest.mark.parametrize(("steps", "edges", "answer"), [(8, 8, True), (5, 8, None), (8, 3, None)])
def test_it_gives_up_after_so_many_steps_or_edges_and_a_kernel_answers(
    monkeypatch, cache, tmp_path, capsys, steps, edges, answer
):
    monkeypatch.setattr(search, "_MOST_STEPS", steps)
    monkeypatch.setattr(search, "_MOST_EDGES", edges)
    path = [(u, u + 1) for u in range(5)]
    assert search.reaches(dag_of(6, path), 0, 5) is answer
    (tmp_path / "path.txt").write_text("".join(f"{u} {v}\n" for u, v in path))
    assert call(capsys, "ask", tmp_path / "path.txt", 0, 5)[:2] == (0, "0 5 1\n")
    (tmp_path / "names.txt").write_text("1\n4\n")
    for words, said in (
        (("--descendants", 3), "4\n5\n"), (("--ancestors", 2, "--count"), "2\n"),
        (("--descendants", 2, "--descendants", 4, "--json"), '{"vertices": [2, 4], "descendants": [3, 5]}\n'),
        (("--ancestors", "--from-file", tmp_path / "names.txt"), "0\n2\n3\n"),
    ):  # fmt: skip
        assert call(capsys, "ask", "path", *words)[:2] == (0, said)
    assert call(capsys, "ask", "path", 5, 0, "--json")[1] == '{"source": 5, "target": 0, "reachable": false}\n'


def test_a_question_to_a_graph_that_is_here_loads_no_kernels(cache, tmp_path):
    (tmp_path / "g.csv").write_text("source,target\na,b\nb,c\n")
    import_graph(tmp_path / "g.csv", "g")
    for words, answer in ((("g", "a", "c"), "a\tc\t1\n"), ((str(tmp_path / "g.csv"), "--ancestors", "c"), "a\nb\n")):
        said, heavy = heavy_imports("ask", *words, GRAILBENCH_CACHE=str(cache))
        assert (said, heavy & {"numba", "pandas", "scipy"}) == (answer, set())


@pytest.mark.parametrize("names", [["a", "b"], ["ab", "b", "ba", "abab"], ["\u00e4", "\ud800", "a\u0308"], []])
def test_names_are_found_among_their_bytes_as_in_the_dictionary(names):
    stored = Named(names).stored()[1].values()
    others = ["", "c", "bab", "\u00e4\u00e4", "\u00c3", 7]
    for label in [*names, *others]:
        fresh = Named.of_bytes(*stored)
        assert fresh._place(label) == (names.index(label) if label in names else -1)
        assert "_places" not in vars(fresh)
    for _ in range(9):
        assert [fresh._place(name) for name in names] == [*range(len(names))]
    assert not names or "_places" in vars(fresh)
