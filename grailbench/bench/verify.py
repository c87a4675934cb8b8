"""Every answer against an oracle that shares no code with the implementations, and against one another.

Up to `CLOSURE_LIMIT` vertices the oracle is the whole transitive closure, a bit a pair (uint64 words,
vertices in reverse topological order). Beyond, it is an unguided search for each query of a seeded sample,
and where two implementations disagree on a query outside the sample, that query is searched too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numba import njit

from grailbench.bench.queries import UNKNOWN, QuerySet
from grailbench.contract import Attempt, Verdict, Workload
from grailbench.errors import CheckFailed, InputError
from grailbench.graph.csr import Dag
from grailbench.reachability.index import Index

CLOSURE_LIMIT = 50_000
SAMPLE = 1_000
FREE_SECONDS = 1.0  # the sample grows beyond what was asked for as long as this lasts
MOST_SECONDS = 30.0  # and stays below it when it would last longer than this
_SHOWN = 3


@dataclass(frozen=True)
class Checks:
    """How thoroughly to check: closure up to `closure_limit` vertices, else a sample of `sample` queries; and how many
    cells in processes of their own make the pass that is verified at once (`jobs`; those on a GPU one at a time)."""

    sample: int = SAMPLE
    closure_limit: int = CLOSURE_LIMIT
    free_seconds: float = FREE_SECONDS
    most_seconds: float = MOST_SECONDS
    jobs: int = 1


class Checker(Workload):
    """One query set on one graph, and the check of many implementations' answers to it.

    `check` judges one by the oracle; `settle`, after all were checked, judges them by one another.
    """

    def __init__(self, dag: Dag, queries: QuerySet, checks: Checks = Checks()):  # noqa: B008 - frozen
        self.dag, self.queries, self.checks = dag, queries, checks
        self._ballots: dict[str, np.ndarray] = {}
        self._search = _Search(dag)
        consult_oracle(dag, queries, checks)

    @property
    def method(self) -> str:
        """How answers are checked, for people: 'closure' or 'search of 1,000'."""
        if self.queries.known.all():
            return self.queries.method
        return f"{self.queries.method} of {int(self.queries.known.sum()):,}"

    @property
    def asked(self) -> tuple[np.ndarray, np.ndarray]:
        """int32[k] twice: sources and targets, as vertices of the `Dag`."""
        return self.queries.u, self.queries.v

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.queries.size

    def describe(self) -> str:
        """'20,146 of 100,000 pairs reachable'."""
        positives = "unknown" if self.queries.positives is None else f"{self.queries.positives:,}"
        agreed = " by agreement of the implementations" if self.queries.agreed else ""
        return f"{positives} of {self.size:,} pairs reachable{agreed}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Judge answers and labels. That pass counted its work; the trials' must give answers of the same checksum."""
        answers = attempt.answers
        fault = self.check(key, answers) or attempt.fault
        if not isinstance(answers, np.ndarray) or answers.dtype != np.bool_:
            return Verdict(fault, 0, "", 0, {})
        return Verdict(
            fault, int(answers.sum()), checksum(answers), attempt.index_bytes, attempt.counters, attempt.memory
        )

    def check(self, name: str, answers) -> str | None:
        """What is wrong with the answers of `name`, None when nothing is found."""
        fault = _shape_fault(answers, self.queries.size)
        if fault:
            return fault
        wrong = np.flatnonzero(self.queries.known & (answers != self.queries.answers))
        if wrong.size:
            return self._describe(wrong, answers)
        self._ballots[name] = np.packbits(answers)
        return None

    def settle(self) -> dict[str, str]:
        """Faults found by comparing all implementations on what the oracle has not answered, by name.

        Afterwards the count of positive queries is known, and the query set is stored with it.
        Raises InputError when the query file gives an answer that turns out to be wrong.
        """
        faults: dict[str, str] = {}
        ends = monotonic() + self.checks.most_seconds
        while not self.queries.known.all() and self._ballots:
            disputed = self._disputed()
            if disputed.size == 0:
                break
            if monotonic() > ends:
                reason = f"implementations disagree on {disputed.size:,} queries, unsettled in time"
                faults |= dict.fromkeys(self._ballots, reason)
                self._ballots.clear()
                return faults
            self._search.settle(self.queries, disputed[:256], ends)
            _check_given(self.queries)
            for name, ballot in list(self._ballots.items()):
                answers = self._unpacked(ballot)
                wrong = np.flatnonzero(self.queries.known & (answers != self.queries.answers))
                if wrong.size:
                    faults[name] = self._describe(wrong, answers)
                    del self._ballots[name]
        self._note_positives()
        return faults

    def _disputed(self) -> np.ndarray:
        """Indices of unanswered queries on which ballots differ from one another or from a given answer."""
        ballots = list(self._ballots.values())
        differ = np.zeros_like(ballots[0])
        for ballot in ballots[1:]:
            differ |= ballot ^ ballots[0]
        given = self.queries.given
        against = (given != UNKNOWN) & (given != self._unpacked(ballots[0]))
        return np.flatnonzero((self._unpacked(differ) | against) & ~self.queries.known)

    def _note_positives(self) -> None:
        queries = self.queries
        if queries.positives is not None and not queries.agreed:
            return
        if queries.known.all():
            queries.positives, queries.agreed = int(queries.answers.sum()), False
        elif self._ballots:
            ballot = next(iter(self._ballots.values()))
            queries.positives, queries.agreed = int(self._unpacked(ballot).sum()), True
        queries.save()

    def _unpacked(self, ballot: np.ndarray) -> np.ndarray:
        return np.unpackbits(ballot, count=self.queries.size).astype(np.bool_)

    def _describe(self, wrong: np.ndarray, answers: np.ndarray) -> str:
        queries = self.queries
        shown = [
            f"{queries.sources[q]} -> {queries.targets[q]} is {'' if queries.answers[q] else 'not '}reachable"
            for q in wrong[:_SHOWN]
        ]
        more = ", ..." if wrong.size > _SHOWN else ""
        return f"{wrong.size:,} of {queries.size:,} answers are wrong: {', '.join(shown)}{more}"


def _shape_fault(answers, size: int) -> str | None:
    if not isinstance(answers, np.ndarray) or answers.dtype != np.bool_:
        kind = answers.dtype if isinstance(answers, np.ndarray) else type(answers).__name__
        return f"the answers are {kind}, not a bool array"
    return None if answers.shape == (size,) else f"{answers.shape} answers to {size} queries"


def checksum(answers: np.ndarray) -> str:
    """16 hex digits of the sha256 of the answers, 8 a byte."""
    return hashlib.sha256(np.packbits(answers)).hexdigest()[:16]


def label_fault(index: Index, dag: Dag) -> str | None:
    """What the index finds wrong with its own labels; None when nothing, or when it has no `check_labels`."""
    check = getattr(index, "check_labels", None)
    fault = check(dag) if check is not None else None
    return f"labels: {fault}" if fault else None


def consult_oracle(dag: Dag, queries: QuerySet, checks: Checks = Checks()) -> None:  # noqa: B008 - frozen
    """Fill in the oracle's answers to a query set, as many as `checks` asks for, and store them with it.

    Raises InputError when a query file gives a wrong answer, CheckFailed when a drawn set does.
    """
    if queries.known.all():
        _check_given(queries)
        return
    if dag.vertices <= checks.closure_limit:
        queries.answers = closure_answers(dag, queries.u, queries.v)
        queries.known = np.ones(queries.size, np.bool_)
        queries.method = "closure"
    elif int(queries.known.sum()) < min(checks.sample, queries.size):
        _sample(dag, queries, checks)
    _check_given(queries)
    if queries.known.all():
        queries.positives, queries.agreed = int(queries.answers.sum()), False
    queries.save()


def closure_answers(dag: Dag, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """bool[k]: u[q] reaches v[q], from the transitive closure. Memory: vertices squared over 8 bytes."""
    return _look_up(_closure(dag.offsets, dag.children, dag.order), u, v)


def _sample(dag: Dag, queries: QuerySet, checks: Checks) -> None:
    """Search queries in a seeded order: the sample, more while it costs little, fewer where it costs much."""
    began = monotonic()
    search = _Search(dag)
    waiting = np.random.default_rng(queries.spec.seed).permutation(queries.size)
    waiting = waiting[~queries.known[waiting]]
    wanted = checks.sample - int(queries.known.sum())
    chunk = 16
    while waiting.size:
        spent = monotonic() - began
        if spent > checks.most_seconds or (wanted <= 0 and spent > checks.free_seconds):
            break
        size = min(chunk, wanted) if wanted > 0 else chunk
        search.settle(queries, waiting[:size], began + checks.most_seconds)
        waiting, wanted = waiting[size:], wanted - size
        chunk = min(2 * chunk, 4096) if monotonic() - began < checks.free_seconds else 16
    queries.method = "search"


class _Search:
    """Unguided search on one graph; its scratch is made when first needed and kept."""

    STEP = 16

    def __init__(self, dag: Dag):
        self.dag, self.stamp = dag, 1
        self.seen = self.todo = None

    def settle(self, queries: QuerySet, which: np.ndarray, ends: float) -> None:
        """Answer the queries `which`, some at least, and no longer than until `ends`."""
        dag = self.dag
        if self.seen is None:
            self.seen, self.todo = np.zeros(dag.vertices, np.int64), np.empty(dag.vertices, np.int32)
        for done in range(0, which.size, self.STEP):
            part = which[done : done + self.STEP]
            u, v = queries.u[part], queries.v[part]
            queries.answers[part] = _searched(dag.offsets, dag.children, u, v, self.seen, self.todo, self.stamp)
            queries.known[part] = True
            self.stamp += part.size
            if monotonic() > ends:
                return


def _check_given(queries: QuerySet) -> None:
    wrong = np.flatnonzero(queries.known & (queries.given != UNKNOWN) & (queries.given != queries.answers))
    if wrong.size == 0:
        return
    q = int(wrong[0])
    pair, truth = f"{queries.sources[q]} {queries.targets[q]}", "" if queries.answers[q] else "not "
    says = f"the answer {int(queries.given[q])} to {pair} is wrong: it is {truth}reachable"
    if queries.lines is None:
        raise CheckFailed(f"query set {queries.spec.name}: {says}")
    raise InputError(says, path=queries.spec.path, line=int(queries.lines[q]))


@njit(cache=True, nogil=True)
def _closure(offsets, children, order):
    """uint64[n, ceil(n / 64)]: bit v of row u says that u reaches v. order int32[n] is topological."""
    n = offsets.shape[0] - 1
    words = (n + 63) // 64
    bits = np.zeros((n, words), np.uint64)
    for i in range(n - 1, -1, -1):
        u = order[i]
        bits[u, u >> 6] |= np.uint64(1) << np.uint64(u & 63)
        for k in range(offsets[u], offsets[u + 1]):
            v = children[k]
            for w in range(words):
                bits[u, w] |= bits[v, w]
    return bits


@njit(cache=True, nogil=True)
def _look_up(bits, u, v):
    answers = np.empty(u.shape[0], np.bool_)
    for q in range(u.shape[0]):
        answers[q] = (bits[u[q], v[q] >> 6] >> np.uint64(v[q] & 63)) & np.uint64(1) != 0
    return answers


@njit(cache=True, nogil=True)
def _searched(offsets, children, u, v, seen, todo, base):
    """bool[k]: plain search from u[q] for v[q]. seen int64[n] has stamps below `base`, todo int32[n] none."""
    answers = np.zeros(u.shape[0], np.bool_)
    for q in range(u.shape[0]):
        stamp = base + q
        todo[0] = u[q]
        seen[u[q]] = stamp
        waiting = 1
        found = u[q] == v[q]
        while waiting > 0 and not found:
            waiting -= 1
            at = todo[waiting]
            for k in range(offsets[at], offsets[at + 1]):
                w = children[k]
                if w == v[q]:
                    found = True
                    break
                if seen[w] != stamp:
                    seen[w] = stamp
                    todo[waiting] = w
                    waiting += 1
        answers[q] = found
    return answers
