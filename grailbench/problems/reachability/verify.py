"""Compares every answer with an oracle that shares no code with the implementations (`grailbench.graph.oracle`).

Up to `Checks.closure_limit` vertices it computes the whole closure; beyond, it sweeps from the sources of the queries,
or on a GPU (`grailbench.cuda.oracle`) where the host would take minutes. Beyond a sample, implementations are compared
with one another, and the oracle decides where they differ.
"""

from contextlib import suppress
from typing import IO

import numpy as np

from grailbench import cuda as device
from grailbench.cuda.installed import gpus
from grailbench.errors import CheckFailed, InputError, MachineLacks, TooLittleMemory
from grailbench.graph.csr import Dag
from grailbench.graph.ids import Counted, write_pairs
from grailbench.graph.oracle import SOURCES, closure_answers, swept_answers
from grailbench.problems import contract
from grailbench.problems.contract import Attempt, Checks, Verdict, Workload
from grailbench.problems.reachability.index import Count, Index
from grailbench.problems.reachability.pairs import UNKNOWN
from grailbench.problems.reachability.queries import QuerySet
from grailbench.util import faults
from grailbench.util.cores import usable_cores

_SHOWN = 3
DEVICE_FROM = 1 << 29  #: edges that each core of the host would sweep, half a minute, from which on a GPU is asked
_DISPUTED = 1_024  # queries per question to the oracle when implementations disagree


class Checker(Workload):
    """One query set on one graph, and the check of the answers of many implementations."""

    def __init__(self, dag: Dag, queries: QuerySet, checks: Checks = Checks()):  # noqa: B008 - frozen
        self.dag, self.queries, self.checks = dag, queries, checks
        self._ballots: dict[str, np.ndarray] = {}
        consult_oracle(dag, queries, checks)

    @property
    def method(self) -> str:
        """How answers are checked, in words: 'closure', 'sweep' or 'sample of 1,000'."""
        known = int(self.queries.known.sum())
        return self.queries.method if known == self.size else f"sample of {known:,}"

    @property
    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """Sources and targets as vertices of the `Dag`, int32[k] each."""
        return self.queries.u, self.queries.v

    @property
    def size(self) -> int:
        """Number of queries."""
        return self.queries.size

    def describe(self) -> str:
        """Returns a description, such as '20,146 of 100,000 pairs reachable'."""
        positives = "unknown" if self.queries.positives is None else f"{self.queries.positives:,}"
        agreed = "" if self.queries.known.all() else " by agreement of the implementations"
        return f"{positives} of {self.size:,} pairs reachable{agreed}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Judges the answers and the labels of a cell. Of a `Count` only the number is compared.

        Raises InputError for a `Count` if the oracle did not answer all queries.
        """
        answers = attempt.answers
        if isinstance(answers, Count):
            if not self.queries.known.all():
                what = "only the number of reachable pairs is known, and the oracle answered a part of the queries"
                raise InputError(what, remedy="leave out --sample and --oracle-seconds")
            number, right, fault = answers.reachable, self.queries.positives, attempt.fault
            if number != right:
                fault = f"{number:,} pairs of {self.size:,} are said to be reachable: it is {right:,}"
            return attempt.verdict(fault, number, checksum(answers), method=f"their number, by {self.queries.method}")
        fault = self.check(key, answers) or attempt.fault
        if not isinstance(answers, np.ndarray) or answers.dtype != np.bool_:
            return Verdict(fault, 0, "", 0, {})
        return attempt.verdict(fault, int(answers.sum()), checksum(answers))

    def check(self, name: str, answers) -> str | None:
        """Returns what is wrong with the answers of `name`, or None."""
        if not isinstance(answers, np.ndarray) or answers.dtype != np.bool_:
            kind = answers.dtype if isinstance(answers, np.ndarray) else type(answers).__name__
            return f"the answers are {kind}, not a bool array"
        if answers.shape != (self.size,):
            return f"{answers.shape} answers to {self.size} queries"
        wrong = np.flatnonzero(self.queries.known & (answers != self.queries.answers))
        if wrong.size:
            return self._describe(wrong, answers)
        self._ballots[name] = np.packbits(answers)
        return None

    def compare(self) -> dict[str, str]:
        """Compares all implementations on the queries that the oracle has not answered, and returns the faults by name.

        The others then agree on the number of reachable pairs, which is stored with the query set. Raises InputError if
        an answer in the query file is wrong.
        """
        faults: dict[str, str] = {}
        while self._ballots and (disputed := self._disputed()).size:
            _sweep(self.dag, self.queries, disputed[:_DISPUTED])
            _check_given(self.queries)
            for name, ballot in list(self._ballots.items()):
                answers = self._unpacked(ballot)
                wrong = np.flatnonzero(self.queries.known & (answers != self.queries.answers))
                if wrong.size:
                    faults[name] = self._describe(wrong, answers)
                    del self._ballots[name]
        if not self.queries.known.all() and self._ballots:
            self.queries.agreed = int(self._unpacked(next(iter(self._ballots.values()))).sum())
            self.queries.save()
        return faults

    def write_answers(self, stream: IO[bytes], answers: np.ndarray) -> None:
        """Writes lines `u v 0|1` in the order of the query set, in ids of the graph's file."""
        queries = self.queries
        ids = Counted(self.dag.component.shape[0]) if queries.ids is None else queries.ids()
        write_pairs(stream, ids, queries.sources, queries.targets, answers)

    def _disputed(self) -> np.ndarray:
        """Returns the unanswered queries on which implementations differ, or differ from a given answer."""
        ballots = list(self._ballots.values())
        differ = np.zeros_like(ballots[0])
        for ballot in ballots[1:]:
            differ |= ballot ^ ballots[0]
        given = self.queries.given
        against = (given != UNKNOWN) & (given != self._unpacked(ballots[0]))
        return np.flatnonzero((self._unpacked(differ) | against) & ~self.queries.known)

    def _unpacked(self, ballot: np.ndarray) -> np.ndarray:
        return np.unpackbits(ballot, count=self.queries.size).astype(np.bool_)

    def _describe(self, wrong: np.ndarray, answers: np.ndarray) -> str:
        queries = self.queries
        shown = [
            f"{' -> '.join(map(str, queries.pair(q)))} is {'' if queries.answers[q] else 'not '}reachable"
            for q in wrong[:_SHOWN]
        ]
        more = ", ..." if wrong.size > _SHOWN else ""
        return f"{wrong.size:,} of {queries.size:,} answers are wrong: {', '.join(shown)}{more}"


def checksum(answers: np.ndarray | Count) -> str:
    """Returns the first 16 hex digits of the sha256 of the answers, packed as bits, or of their number."""
    if isinstance(answers, Count):
        return contract.checksum(f"{answers.reachable} reachable".encode())
    return contract.checksum(np.packbits(answers))


def label_fault(index: Index, dag: Dag) -> str | None:
    """Returns what the index finds wrong with its own labels, in vertices of the `Dag`, or None."""
    fault = index.check_labels(dag)
    return f"labels: {fault} (its vertices are components, from 0)" if fault else None


def consult_oracle(dag: Dag, queries: QuerySet, checks: Checks = Checks()) -> None:  # noqa: B008 - frozen
    """Fills in as many of the oracle's answers as `checks` asks for, and stores them with the query set.

    Raises InputError if a query file gives a wrong answer, CheckFailed if a drawn set does.
    """
    wanted = ~queries.known
    if dag.vertices > checks.closure_limit and checks.sample is not None:
        wanted[np.random.default_rng(queries.spec.seed).permutation(queries.size)[checks.sample :]] = False
    if wanted.any():
        if dag.vertices <= checks.closure_limit:
            queries.answers[:], queries.known[:] = closure_answers(dag, queries.u, queries.v), True
            queries.method = "closure"
        else:
            _sweep(dag, queries, np.flatnonzero(wanted), checks.oracle_seconds)
        queries.save()
    _check_given(queries)


def _sweep(dag: Dag, queries: QuerySet, which: np.ndarray, seconds: float | None = None) -> None:
    """Asks the oracle: on a GPU if there is much to sweep and one that has the memory, else on the host."""
    given, found = (dag, queries.u[which], queries.v[which], seconds), None
    rounds = -(-which.size // (SOURCES * usable_cores()))  # of sweeps of the host, a core each
    if dag.edges * rounds >= DEVICE_FROM and not device.simulating() and gpus():
        with suppress(MachineLacks, TooLittleMemory):
            from grailbench.cuda import oracle

            found = faults.freeing(oracle.swept_answers, *given)
    queries.method = "sweep" if found is None else "sweep on the GPU"
    queries.answers[which], queries.known[which] = swept_answers(*given) if found is None else found


def _check_given(queries: QuerySet) -> None:
    wrong = np.flatnonzero(queries.known & (queries.given != UNKNOWN) & (queries.given != queries.answers))
    if wrong.size == 0:
        return
    q = int(wrong[0])
    pair, truth = " ".join(map(str, queries.pair(q))), "" if queries.answers[q] else "not "
    says = f"the answer {int(queries.given[q])} to {pair} is wrong: it is {truth}reachable"
    if queries.lines is None:
        raise CheckFailed(f"query set {queries.spec.name}: {says}")
    raise InputError(says, path=queries.spec.path, line=int(queries.lines[q]))
