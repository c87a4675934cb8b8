"""One wrong answer is found on every graph; implementations are judged by one another where no oracle looked."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest
from hypothesis import given
from naive import reaches
from strategies import dag_of, digraphs

from grailbench.errors import InputError, MachineLacks
from grailbench.graph import oracle
from grailbench.problems.contract import Checks
from grailbench.problems.reachability.queries import QuerySpec, query_set
from grailbench.problems.reachability.verify import Checker, consult_oracle
from grailbench.util.guard import Outcome, deadline, guarded

SWEPT = Checks(closure_limit=0)
FEW = Checks(sample=20, closure_limit=0)
CHAIN = (60, [(u, u + 1) for u in range(59)])


def true_answers(graph, queries):
    return np.array([reaches(*graph, u, v) for u, v in zip(queries.sources, queries.targets, strict=True)], bool)


def drawn(graph, count=200, seed=1, sha="a"):
    found = query_set(QuerySpec("random", count, seed), dag_of(*graph), sha * 64)
    found.known[:] = False
    return found


@pytest.mark.slow
@pytest.mark.parametrize("checks", [Checks(), SWEPT], ids=["closure", "sweep"])
@given(digraphs().filter(lambda graph: graph[0] > 0))
def test_oracle_agrees_with_plain_python(checks, graph):
    queries = drawn(graph)
    consult_oracle(dag_of(*graph), queries, checks)
    assert queries.known.all()
    assert (queries.answers == true_answers(graph, queries)).all()
    assert queries.positives == queries.answers.sum()


@pytest.mark.parametrize("checks", [Checks(), SWEPT], ids=["closure", "sweep"])
def test_one_flipped_answer_is_found_and_named(checks):
    queries = drawn(CHAIN)
    checker = Checker(dag_of(*CHAIN), queries, checks)
    answers = true_answers(CHAIN, queries)
    assert checker.check("right", answers.copy()) is None
    answers[17] ^= True
    pair = f"{queries.sources[17]} -> {queries.targets[17]}"
    assert checker.check("wrong", answers).startswith(f"1 of 200 answers are wrong: {pair} is ")


@pytest.mark.parametrize(
    ("answers", "words"),
    [(np.zeros(200, int), "not a bool array"), (np.zeros(199, bool), "200 queries"), ([True], "list")],
)
def test_answers_of_another_type_or_length_are_faults(answers, words):
    assert words in Checker(dag_of(*CHAIN), drawn(CHAIN)).check("odd", answers)


def test_sample_is_as_large_as_asked_and_a_wrong_answer_outside_it_is_settled_by_agreement():
    queries = drawn(CHAIN, sha="b")
    checker = Checker(dag_of(*CHAIN), queries, FEW)
    assert queries.known.sum() == 20
    assert checker.method == "sample of 20"
    right = true_answers(CHAIN, queries)
    wrong = right.copy()
    outside = np.flatnonzero(~queries.known)[5]
    wrong[outside] ^= True
    assert checker.check("right", right) is None
    assert checker.check("wrong", wrong) is None
    faults = checker.compare()
    assert list(faults) == ["wrong"]
    assert f"{queries.sources[outside]} -> {queries.targets[outside]}" in faults["wrong"]
    assert queries.positives == right.sum()
    assert checker.describe().endswith("by agreement of the implementations")


def test_oracle_that_has_no_time_left_answers_a_sample_and_goes_on_where_it_stopped(monkeypatch):
    monkeypatch.setattr(oracle, "SOURCES", 64)
    graph = (2000, [(u, u + 1) for u in range(1999)])
    queries = drawn(graph, 3000, sha="3")
    checker = Checker(dag_of(*graph), queries, Checks(closure_limit=0, oracle_seconds=0))
    found = queries.known.copy()
    assert 64 <= found.sum() < 300  # the queries of 64 sources
    assert checker.method == f"sample of {found.sum()}"
    assert (queries.answers == (queries.sources <= queries.targets))[found].all()
    again = Checker(dag_of(*graph), query_set(queries.spec, dag_of(*graph), "3" * 64), SWEPT)
    assert again.method == "sweep"
    assert (again.queries.answers == (queries.sources <= queries.targets)).all()


class Unwatched(ThreadPoolExecutor):
    """A pool whose caller sees no result before all work has ended, as on a machine that is busy."""

    def map(self, work, *parts):
        made = [self.submit(work, *each) for each in zip(*parts, strict=True)]
        wait(made)
        return (each.result() for each in made)


def test_an_interrupted_sweep_ends_at_once(monkeypatch):
    begun = []
    monkeypatch.setattr(oracle, "ThreadPoolExecutor", Unwatched)

    def interrupted(*args):
        begun.append(args)
        raise KeyboardInterrupt

    monkeypatch.setattr(oracle, "_push", interrupted)
    queries = drawn(CHAIN, 500, sha="4")
    with pytest.raises(KeyboardInterrupt):
        oracle.swept_answers(dag_of(*CHAIN), queries.u, queries.v, sources=1, threads=1)
    assert len(begun) == 1


def query_file(tmp_path, text):
    path = tmp_path / "pairs.txt"
    path.write_text(text)
    return QuerySpec.parse(str(path), 0, 0)


def test_wrong_answer_in_a_query_file_is_an_error_at_its_line(tmp_path):
    spec = query_file(tmp_path, "0 5 1\n# and\n5 0 1\n")
    queries = query_set(spec, dag_of(*CHAIN), "d" * 64)
    with pytest.raises(InputError, match="5 0 is wrong: it is not reachable") as caught:
        consult_oracle(dag_of(*CHAIN), queries)
    assert caught.value.line == 3
    with pytest.raises(InputError):  # and again when the oracle was asked before
        consult_oracle(dag_of(*CHAIN), queries)


def test_wrong_answer_in_a_query_file_is_found_even_outside_the_sample(tmp_path):
    spec = query_file(tmp_path, "".join(f"0 {v} {int(v != 7)}\n" for v in range(60)))
    queries = query_set(spec, dag_of(*CHAIN), "e" * 64)
    queries.known[7], queries.answers[8:40], queries.known[8:40] = False, True, True
    checker = Checker(dag_of(*CHAIN), queries, FEW)
    assert not queries.known[7]
    checker.check("right", np.ones(60, bool))
    with pytest.raises(InputError, match="0 to 0 7 is wrong"):
        checker.compare()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MemoryError(), "out of memory"),
        (np._core._exceptions._ArrayMemoryError((1 << 50,), np.dtype("u1")), "out of memory"),
        (MachineLacks("no such extra"), "skipped"),
        (InputError("bad"), "failed"),
        (ZeroDivisionError("by zero"), "failed"),
    ],
)
def test_what_an_implementation_raises_becomes_a_status_with_a_reason(error, status):
    def fail():
        raise error

    outcome = guarded(fail)
    assert outcome.status == status
    assert outcome.reason


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_time_limit_that_a_destructor_swallowed_comes_again():
    class Swallows:
        def __del__(self):
            ends = time.monotonic() + 0.1
            while time.monotonic() < ends:
                pass

    def work():
        held = Swallows()
        del held
        while True:
            pass

    assert guarded(work, 0.05).status == "timeout"


def test_work_past_its_time_is_a_timeout_and_no_timer_is_left_running():
    def forever():
        while True:
            pass

    assert guarded(forever, 0.05).status == "timeout"
    assert guarded(lambda: 7, 600) == Outcome("ok", value=7)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert guarded(lambda: 7, 0).status == "timeout"
    with deadline(None):
        pass
