"""Query sets: uniform or balanced or from a file, on original vertices, stored whole."""

import gzip
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, digraphs

from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph.ids import Counted
from grailbench.problems.reachability import queries
from grailbench.problems.reachability.pairs import read_pairs
from grailbench.problems.reachability.queries import QuerySpec, draw_balanced, query_set
from grailbench.util import memory

CYCLE_AND_TAIL = (5, [(0, 1), (1, 0), (1, 2), (2, 3), (4, 4)])


def test_random_pairs_are_uniform_over_original_vertices_and_mapped_to_components():
    dag = dag_of(*CYCLE_AND_TAIL)
    found = query_set(QuerySpec("random", 20_000, 3), dag, "a" * 64)
    for ends in (found.sources, found.targets):
        assert np.bincount(ends, minlength=5).min() > 0.9 * 20_000 / 5
        assert ends.max() == 4
    assert (found.u == dag.component[found.sources]).all()
    assert (found.v == dag.component[found.targets]).all()
    assert max(found.u.max(), found.v.max()) < dag.super_root


def test_same_seed_same_pairs_other_seed_other_pairs():
    dag = dag_of(*CYCLE_AND_TAIL)
    one, again, other = (
        query_set(QuerySpec("random", 100, seed), dag, sha * 64) for seed, sha in ((1, "b"), (1, "c"), (2, "b"))
    )
    assert (one.sources == again.sources).all()
    assert (one.sources != other.sources).any()


@given(digraphs().filter(lambda graph: graph[0] > 0), st.integers(0, 5), st.integers(1, 40))
def test_balanced_pairs_are_what_they_claim(graph, seed, count):
    reach = closure(*graph)
    sources, targets, answers = draw_balanced(dag_of(*graph), count, seed)
    assert len(sources) == len(targets) == count
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    assert [t in reach[s] for s, t in pairs] == answers.tolist()


def test_balanced_is_half_positive_and_targets_spread_over_the_descendants():
    chain = dag_of(100, [(u, u + 1) for u in range(99)])
    sources, targets, answers = draw_balanced(chain, 1001, 1)
    assert answers.sum() == 501
    assert len(np.unique((targets - sources)[answers == 1])) > 50


def test_stored_set_comes_back_with_the_oracles_answers(monkeypatch):
    dag, spec = dag_of(*CYCLE_AND_TAIL), QuerySpec("random", 1000, 9)
    first = query_set(spec, dag, "d" * 64)
    first.answers[::3], first.known[::2], first.method, first.agreed = True, True, "sweep", 334
    first.save()
    monkeypatch.setattr(queries.np.random, "default_rng", None)  # drawing again would fail
    again = query_set(spec, dag, "d" * 64)
    for name in ("sources", "targets", "u", "v", "given", "answers", "known"):
        assert (getattr(again, name) == getattr(first, name)).all()
        assert getattr(again, name).dtype == getattr(first, name).dtype
    assert (again.method, again.positives) == ("sweep", 334)


def _flipped(bits):
    bits[7] ^= 1


_EDITS = {
    "an answer": lambda stored: _flipped(stored["answers"]),
    "a source": lambda stored: _flipped(stored["sources"]),
    "the count": lambda stored: stored.update(meta=np.array(str(stored["meta"]).replace("334", "335"))),
    "too few sources": lambda stored: stored.update(sources=np.zeros(3, np.int32)),
    "a target beyond": lambda stored: stored.update(targets=np.full(500, 5, np.int32)),
    "too few answers": lambda stored: stored.update(answers=np.zeros(1, np.uint8)),
    "no header": lambda stored: stored.update(meta=np.array("[]")),
}


@pytest.mark.parametrize("edit", _EDITS.values(), ids=_EDITS)
def test_stored_set_that_says_anything_else_than_it_did_is_made_again_with_a_warning(edit, caplog):
    dag, spec = dag_of(*CYCLE_AND_TAIL), QuerySpec("random", 500, 5)
    first = query_set(spec, dag, "1" * 64)
    first.known[:100], first.method, first.agreed = True, "sweep", 334
    first.save()
    with np.load(first.path) as stored:
        arrays = dict(stored)
    assert query_set(spec, dag, "1" * 64).known.any()
    assert not caplog.text
    edit(arrays)
    np.savez_compressed(first.path, **arrays)
    again = query_set(spec, dag, "1" * 64)
    assert "damaged query set, made again" in caplog.text
    assert (again.sources == first.sources).all()
    assert not again.known.any()
    caplog.clear()
    query_set(spec, dag, "1" * 64)
    assert not caplog.text


def test_a_query_file_may_be_zipped_and_must_stay_what_it_was(tmp_path):
    path = tmp_path / "pairs.gz"
    path.write_bytes(gzip.compress(b"0 3 1\n3 0\n"))
    spec = QuerySpec.parse(str(path), 10, 1)
    assert read_pairs(spec.path, Counted(5), spec.digest)[0].tolist() == [0, 3]
    path.write_bytes(b"3 0\n")
    with pytest.raises(InputError, match="the file changed since the run was planned"):
        query_set(spec, dag_of(*CYCLE_AND_TAIL), "8" * 64)


def test_queries_come_from_no_pipe_folder_or_device(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path, said in ((tmp_path / "fifo", "a pipe"), (tmp_path, "a folder"), ("/dev/zero", "a device")):
        with pytest.raises(InputError, match=f"it is {said}.*write it to a file first"):
            QuerySpec.parse(str(path), 10, 1)


def test_a_query_file_is_held_against_the_memory(tmp_path, monkeypatch):
    (tmp_path / "pairs").write_text("0 1\n" * 1000)
    os.truncate(tmp_path / "pairs", 1 << 40)
    with pytest.raises(TooLittleMemory, match="pairs: a (query )?file of 1,099,511,627,776 bytes"):
        QuerySpec.parse(str(tmp_path / "pairs"), 10, 1)
    os.truncate(tmp_path / "pairs", 4000)
    monkeypatch.setattr(memory, "available", lambda: 200_000)
    with pytest.raises(TooLittleMemory, match="pairs: its queries: about 0.2 MB of memory needed, 0.2 MB free"):
        read_pairs(str(tmp_path / "pairs"), Counted(5))


def test_a_missing_file_and_a_graph_without_vertices_give_nothing_to_ask(tmp_path):
    with pytest.raises(InputError, match="no query set"):
        QuerySpec.parse(str(tmp_path / "missing.txt"), 10, 1)
    with pytest.raises(InputError, match="no vertices"):
        query_set(QuerySpec("random", 10, 1), dag_of(0, []), "0" * 64)


def test_of_a_set_too_large_to_be_worth_storing_the_answers_are_kept_and_pairs_drawn_again(monkeypatch):
    monkeypatch.setattr(queries, "MOST_STORED", 50)
    dag, sha = dag_of(9, [(0, 1), (1, 2)]), "0" * 64
    small, large = (query_set(QuerySpec.parse("random", count, 3), dag, sha) for count in (50, 51))
    assert (small.path.is_file(), large.path.is_file()) == (True, False)
    large.answers[:5], large.known[:] = True, True
    large.save()
    with np.load(large.path) as held:
        assert sorted(held.files) == ["answers", "known", "meta"]
    again = query_set(QuerySpec.parse("random", 51, 3), dag, sha)
    assert (again.sources == large.sources).all()
    assert (again.answers == large.answers).all()
    assert again.known.all()
