"""Index files in which a bit or a byte was changed, and what each question answers then.

    python tests/faults/flips.py --implementation sweep --count 500
    python tests/faults/flips.py --nightly --record damaged-indexes

A flip changes a file that `Index.save` wrote, at any place, half of them inside the header or an array. It is loaded,
mapped, read into memory or unpickled, and every method is called in an order drawn at random. Each ends in an
InputError of one line, or answers as the index that was saved. Forked children make the flips, so that a crash or a
hang is known by its flip. Indexes that need a GPU or a cluster are left out. Exit code 1 if a promise broke.
"""

from __future__ import annotations

import functools
import mmap
import os
import pickle
import random
import signal
import struct
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import record

import grailbench as gb
from grailbench.api.index import _unpacked
from grailbench.graph import mapped
from grailbench.problems.contract import implementations

NIGHT = 10_000  #: flips of each implementation with `--nightly`
PATIENCE = 120  #: seconds after which a flip hangs
_AT = struct.Struct("<qqq")  #: what a child is at, how many of its flips were refused, and how many were right


def graphs() -> Iterator[gb.Graph]:
    """Small graphs: names and cycles; levels, with numbers from 0; other numbers; one whose core is no forest."""
    yield gb.Graph.from_edges(["b", "a", "c", "d", "é" * 9, "f"], ["c", "b", "b", "é" * 9, "c", "f"])
    yield gb.Graph.from_edges([0, 0, 1, 2, 3, 4, 2, 7], [1, 2, 3, 3, 4, 5, 5, 5], vertices=9)
    yield gb.Graph.from_edges([70, 956203, 11, 70, 12], [956203, 11, 70, 13, 13], renumber=True)
    yield gb.Graph.from_edges(*np.random.default_rng(5).integers(0, 40, (2, 90)).tolist(), vertices=40)


def saving() -> list[str]:
    """The names of the implementations whose indexes can be saved, of those that run in one process on the CPU."""
    tiny, found = gb.Graph.from_edges([0], [1]), []
    for name, implementation in implementations().items():
        if {"gpu", "dask"} & set(implementation.needs):
            continue
        try:
            pickle.dumps(gb.build(tiny, name))
            found.append(name)
        except (gb.InputError, gb.MachineLacks):
            continue
    return found


# ------------------------------------------------------------------ questions

Question = Callable[[gb.Index, list[Any], list[Any]], Any]
#: each asks of two columns of ids
QUESTIONS: dict[str, Question] = {
    "reaches": lambda index, us, vs: [index.reaches(u, v) for u, v in zip(us, vs, strict=True)],
    "reaches_vertices": lambda index, us, vs: [index.reaches_vertices(at, 0) for at in range(len({*us, *vs}))],
    "reaches_many": lambda index, us, vs: index.reaches_many(us, vs).tolist(),
    "reaches_many_vertices": lambda index, us, vs: index.reaches_many_vertices(*np.zeros((2, 3), np.int32)).tolist(),
    "reaches_any": lambda index, us, vs: index.reaches_any(us[:3], vs[-2:]),
    "matrix": lambda index, us, vs: index.matrix(us[:9], vs).tolist(),
    "stream": lambda index, us, vs: [bits.tolist() for bits in index.stream((us, vs))],
    "descendants": lambda index, us, vs: [index.descendants(u).tolist() for u in us[:9]],
    "ancestors": lambda index, us, vs: [index.ancestors(v).tolist() for v in vs[-9:]],
    "count_descendants": lambda index, us, vs: index.count_descendants().tolist(),
    "count_ancestors": lambda index, us, vs: index.count_ancestors(vs[-3:]).tolist(),
    "estimate_descendants": lambda index, us, vs: [each.tolist() for each in index.estimate_descendants()],
    "common_ancestors": lambda index, us, vs: index.common_ancestors(us[0], vs[-1]).tolist(),
    "lowest_common_ancestors": lambda index, us, vs: index.lowest_common_ancestors(us[0], vs[-1]).tolist(),
    "path": lambda index, us, vs: [index.path(u, v) for u, v in zip(us[:9], vs[-9:], strict=True)],
    "explain": lambda index, us, vs: str(index.explain(us[0], vs[-1])),
    "graph": lambda index, us, vs: (repr(index), repr(index.graph), index.graph.edges, index.graph.checksum),
    "raw": lambda index, us, vs: (index.graph.raw.sources.tolist(), index.graph.raw.targets.tolist()),
    "ids": lambda index, us, vs: index.graph.ids_of(np.arange(index.graph.vertices)).tolist(),
    "nbytes": lambda index, us, vs: (index.nbytes, index.workers, index.implementation, index.params),
    "pickle": lambda index, us, vs: len(pickle.dumps(index)),
}
WAYS = ("mapped", "read", "unpickled", "other")


def opened(way: str, path: Path) -> gb.Index:
    """The index in a file: mapped, read into memory, unpickled, or another one of its graph."""
    if way == "unpickled":
        return _unpacked(path.read_bytes())
    return gb.load(path, mmap=way == "mapped", implementation="bfs" if way == "other" else None)


@dataclass
class Saved:
    """The file of an index, pairs of ids, and the right answers to each question, by the way it is opened."""

    what: str
    content: bytes
    pairs: tuple[list[Any], list[Any]]
    right: dict[str, dict[str, Any]]

    @functools.cached_property
    def meaning(self) -> list[range]:
        """Where the header and the arrays are, without what fills the pages."""
        header, start = mapped.header(self.content, None)
        arrays = mapped.arrays_of(self.content, header, start)
        starts = {name: start + each["at"] for name, each in header["arrays"].items()}
        places = [range(starts[name], starts[name] + each.nbytes)
                  for name, each in arrays.items() if each.nbytes]  # fmt: skip
        return [range(len(self.content[:start].rstrip(b"\0"))), *places]


def saved(name: str, folder: Path) -> list[Saved]:
    """Files of an implementation: of every graph, and of each form that its parameters give the index."""
    axes, path, made = implementations()[name].axes, folder / "saved.index", []
    forms: list[dict[str, Any]] = [{}]
    forms += [{"memory": 1}] * (name == "core") + [{"filters": "none", "d": 3}] * ("filters" in axes)
    for number, graph in enumerate(graphs()):
        every = graph.ids_of(np.arange(graph.vertices)).tolist()
        step = max(1, len(every) // 9)
        us, vs = zip(*((u, v) for u in every[::step] for v in every[::-step]), strict=True)
        for form in forms:
            index = gb.build(graph, name, threads=2, **form)
            index.save(path)
            right = {way: answers(opened(way, path), (list(us), list(vs)), [*QUESTIONS], None)[0] for way in WAYS}
            for question, answer in answers(index, (list(us), list(vs)), [*QUESTIONS], None)[0].items():
                if right["mapped"][question] != answer and question != "raw":  # without duplicates and self-loops
                    raise AssertionError(f"{name}: {question} of the saved index differs")
            made.append(Saved(f"{name}, graph {number}, {form}", path.read_bytes(), (list(us), list(vs)), right))
    return made


def answers(
    index: gb.Index, pairs: tuple[list[Any], list[Any]], order: list[str], path: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """The answer to each question that was answered, and what is wrong with the errors of the others."""
    found, wrong = {}, []
    for name in order:
        try:
            found[name] = QUESTIONS[name](index, *pairs)
        except gb.InputError as error:
            wrong += unclear(error, path)
    return found, wrong


def unclear(error: gb.InputError, path: Path | None) -> list[str]:
    """What is wrong with an error of a damaged file."""
    text = str(error)
    clear = "\n" not in text and error.remedy and ("damaged" in text or "it is no index" in text or "format" in text)
    return [] if clear and (path is None or str(path) in text) else [f"an error that is not clear: {text!r}"]


# ------------------------------------------------------------------ flips


def flip(draw: random.Random, file: Saved) -> tuple[int, int]:
    """A place and the byte to put there."""
    whole = draw.random() < 0.5
    at = draw.randrange(len(file.content)) if whole else draw.choice(draw.choice(file.meaning))
    byte = file.content[at]
    return at, byte ^ (1 << draw.randrange(8)) if draw.random() < 0.5 else (byte + draw.randrange(1, 256)) % 256


def trial(seed: int, number: int, files: list[Saved], path: Path) -> tuple[bool, list[str]]:
    """One flip: whether the file was refused, and what is wrong."""
    draw = random.Random(f"{seed} {number}")
    file, way = draw.choice(files), draw.choice(WAYS)
    at, byte = flip(draw, file)
    path.write_bytes(file.content[:at] + bytes([byte]) + file.content[at + 1 :])
    named = None if way == "unpickled" else path
    try:
        index = opened(way, path)
    except gb.InputError as error:
        return True, described(file, way, at, unclear(error, named))
    found, wrong = answers(index, file.pairs, draw.sample([*QUESTIONS], len(QUESTIONS)), named)
    wrong += [f"{name}: another answer" for name, answer in found.items() if answer != file.right[way][name]]
    if 0 < len(found) < len(QUESTIONS):
        wrong.append(f"some questions are answered, and others refused: {sorted(found)}")
    return not found, described(file, way, at, wrong)


def described(file: Saved, way: str, at: int, wrong: list[str]) -> list[str]:
    return [f"{file.what}, byte {at}, {way}: {each}" for each in wrong]


def trials(seed: int, count: int, files: list[Saved], folder: Path) -> tuple[int, int, list[str]]:
    """So many flips, in forked children: how many files were refused, how many answered right, and what is wrong."""
    wrong, first, refused, right = [], 0, 0, 0
    while first < count:
        shared, notes = mmap.mmap(-1, _AT.size), folder / "wrong.txt"
        notes.write_text("")
        if (pid := os.fork()) == 0:
            _be_child(seed, first, count, files, folder, shared)
        _, status = os.waitpid(pid, 0)
        wrong += notes.read_text(encoding="utf-8").splitlines()
        at, more, fine = _AT.unpack(shared[:])
        refused, right = refused + more, right + fine
        if status == 0:
            break
        what = signal.Signals(status & 127).name if status & 127 else f"exit code {status >> 8}"
        wrong.append(f"{files[0].what.partition(',')[0]}, seed {seed}, flip {at}: the process ended: {what}")
        first = at + 1
    return refused, right, wrong


def _be_child(seed: int, first: int, count: int, files: list[Saved], folder: Path, shared: mmap.mmap) -> None:
    """Make flips, and end the process."""
    kinds: Counter[bool] = Counter()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        with open(folder / "wrong.txt", "a", encoding="utf-8", buffering=1) as notes:
            for number in range(first, count):
                shared[:] = _AT.pack(number, kinds[True], kinds[False])
                signal.alarm(PATIENCE)
                refused, wrong = trial(seed, number, files, folder / "flipped.index")
                kinds[refused] += 1
                notes.writelines(f"seed {seed}, flip {number}: {line}\n" for line in wrong)
            shared[:] = _AT.pack(count, kinds[True], kinds[False])
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


@record.program(
    "Inputs",
    "An index file with a changed byte is refused in one line before anything follows its arrays, or answers right.",
    night=f"{NIGHT:,} flips of each.",
)
@click.option("--implementation", "names", multiple=True, help="Only this one; may repeat.")
@click.option("--count", default=200, show_default=True, help="Flips of each implementation.")
@click.option("--seed", default=1, show_default=True)
def main(names: tuple[str, ...], count: int, seed: int, nightly: bool) -> record.Found:
    wrong, count, details = [], NIGHT if nightly else count, {}
    for name in names or saving():
        with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as folder:
            refused, right, found = trials(seed, count, saved(name, Path(folder)), Path(folder))
        wrong += record.warn(found)
        click.echo(f"{name}: {count:,} flips, {refused:,} files refused, {right:,} right, {len(found)} faults")
        details[name] = {"refused": refused, "right": right, "faults": len(found)}
    figure = f"{count:,} flips each of {len(details)} implementations, {len(wrong)} faults"
    return record.Found(figure, wrong, {"seed": seed, **details})


if __name__ == "__main__":
    main()
