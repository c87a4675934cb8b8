"""Toy implementations that do one thing wrong each, for tests of the harness.

`python toys.py ARGS` is `grailbench ARGS` with them registered.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from numba import njit

from grailbench.errors import MachineLacks, TooLittleMemory
from grailbench.graph.oracle import closure_answers
from grailbench.problems.reachability.index import Implementation, Index, register

CALLS: list[str] = []  #: what was built, in order, by name and label pairs
PAUSE_SECONDS = 0.02
GREED = 300 << 20  #: bytes that a toy makes resident


class Toy(Index):
    """Answers from the closure, after whatever the toy does."""

    def __init__(self, dag, spoil=None):
        self.dag, self.spoil = dag, spoil
        self.counters = {"asked": 0}

    def query_batch(self, sources, targets, timer):
        self.counters["asked"] += sources.size
        answers = closure_answers(self.dag, sources, targets)
        with timer.phase("spoil"):
            return answers if self.spoil is None else self.spoil(answers)

    @property
    def index_bytes(self):
        return 8


def _toy(name, build, axes=(), **more):
    def build_toy(cls, dag, params, timer):
        CALLS.append(f"{name} {params.dim}")
        return build(dag)

    body = {"name": f"toy:{name}", "source": "tests", "axes": frozenset(axes), "build": classmethod(build_toy)}
    body |= {key: classmethod(function) for key, function in more.items()}
    body |= {"__module__": "toys", "__qualname__": f"Toy_{name}"}  # so that other processes find it
    return type(f"Toy_{name}", (Implementation,), body)


def _wasteful_from_edges(cls, graph, params, timer):
    np.ones(GREED, np.uint8)
    return super(cls, cls).ready(graph, params, timer)


SPOILED: list[int] = []  #: which answers of `toy:chains` are wrong


def chains(n, scatter=7919):
    """Two paths of every other vertex, with shortcuts, as sources and targets; ids in no order. What reaches what takes
    no search: see `Chains`."""
    steps = [(np.arange(n - step), step) for step in (2, 8)]
    sources, targets = (np.concatenate(ends) for ends in zip(*((at, at + step) for at, step in steps), strict=True))
    return sources * scatter % n, targets * scatter % n


class Chains(Toy):
    """Answers on a graph of `chains`, right but for those in `SPOILED`."""

    def query_batch(self, sources, targets, timer):
        n = self.dag.component.size
        u, v = (ends.astype(np.int64) * pow(7919, -1, n) % n for ends in (sources, targets))
        answers = (u <= v) & ((v - u) % 2 == 0)
        answers[SPOILED] ^= True
        return answers


class BadLabels(Toy):
    """Right answers from labels that do not hold."""

    def check_labels(self, dag):
        return "pair 0: edge 0 -> 1 is not contained"


class Unsendable(Toy):
    """Right answers, and a counter that no process can send to another."""

    def __init__(self, dag):
        super().__init__(dag)
        self.counters["found"] = lambda: 0


def _raise(error):
    raise error


def _flip_one(answers):
    answers[-1] ^= True
    return answers


def _flip_later(answers):
    fickle = sum(call.startswith("fickle ") for call in CALLS) > 3
    return _flip_one(answers) if fickle else answers


def _pause(answers):
    time.sleep(PAUSE_SECONDS)
    return answers


@njit(nogil=True)
def _spin(rounds):
    x = np.uint64(1)
    for _ in range(rounds):
        x = x * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return x


def _spin_long(answers):
    if len(CALLS) > 1:  # the verification is quick, the first warm-up is not
        print("spinning", flush=True)
        _spin(10**12)
    else:
        _spin(1)
    return answers


def _die(number):
    os.kill(os.getpid(), number)


def _lose(answers, times):
    """Right answers, but the worker of this process is killed in the third pass, so many times in all."""
    here = sum(call.startswith("lost") for call in CALLS)
    marks = [Path(os.environ["GRAILBENCH_CACHE"]) / f"lost-{times}-{number}" for number in range(times)]
    if here == 3 and sys.argv[0] == "-c" and (left := [mark for mark in marks if not mark.exists()]):
        left[0].touch()
        assert str(os.getppid()) != os.environ["GRAILBENCH_TESTS"]
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)  # until the system ends this process too
    return answers


TOYS = {
    toy.name: toy
    for toy in (
        _toy("right", Toy, ("dim",)),
        _toy("other", Toy),
        _toy("wrong", lambda dag: Toy(dag, _flip_one)),
        _toy("fickle", lambda dag: Toy(dag, _flip_later)),
        _toy("labels", BadLabels),
        _toy("chains", Chains),
        _toy("crash", lambda dag: _raise(ZeroDivisionError("by zero"))),
        _toy("memory", lambda dag: _raise(MemoryError())),
        _toy("lacks", lambda dag: _raise(MachineLacks("needs a moon"))),
        _toy("slow", lambda dag: Toy(dag, _pause), ("dim",)),
        _toy("spin", lambda dag: Toy(dag, _spin_long)),
        _toy("forever", lambda dag: _spin(10**12)),
        _toy("greedy", lambda dag: Toy(dag, lambda answers: np.ones(GREED, np.uint8)[: answers.size] * answers > 0)),
        _toy("wasteful", Toy, ready=_wasteful_from_edges),
        _toy("full", lambda dag: _raise(TooLittleMemory("needs 5 GiB"))),
        _toy("killed", lambda dag: _die(signal.SIGKILL)),
        _toy("unsendable", Unsendable),
        _toy("lost-once", lambda dag: Toy(dag, lambda answers: _lose(answers, 1)), ("dim",)),
        _toy("lost-twice", lambda dag: Toy(dag, lambda answers: _lose(answers, 2))),
        _toy("stopped", lambda dag: _die(signal.SIGSTOP)),
        _toy("abort", lambda dag: _die(signal.SIGABRT)),
    )
}
globals().update({toy.__qualname__: toy for toy in TOYS.values()})

if __name__ == "__main__":
    from grailbench.cli.main import main

    for toy in TOYS.values():
        register(toy)
    main()
