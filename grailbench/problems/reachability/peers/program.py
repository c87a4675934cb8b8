"""Any program as an implementation of reachability: `program:NAME`, described by a TOML file (`described`).

The program gets the graph and the pairs as text files, and one command builds its index and answers. The times that it
prints are the phases `label` and `query`; those of the harness are excluded: `write` and `read` of the files, the wall
clock of the command (`process`) and its processor time (`processor`). There is no phase `ready`, and no index is left.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import weakref
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from grailbench.errors import GrailbenchError, InputError, MachineLacks, TooLittleMemory
from grailbench.graph.csr import Dag
from grailbench.problems import contract
from grailbench.problems.reachability.index import Count, Implementation, Index, Params, Timer
from grailbench.problems.reachability.peers import description
from grailbench.problems.reachability.peers.description import BYTES, MS, Answers, Description, Number, Time
from grailbench.problems.reachability.peers.runner import CommandRunner, Ended
from grailbench.util import paths
from grailbench.util.words import gib

_SHOWN = 3  # last lines in messages
_WIDTH = 100  # characters of each


class ProgramFailed(GrailbenchError):
    """A program ended with an error, or did not print what its description says."""

    exit_code = 1


class Output:
    """What a program left in its working folder: the files `stdout` and `stderr`, and those that it wrote itself."""

    def __init__(self, name: str, folder: Path):
        """name: of the program, for messages."""
        self.name, self.folder = name, folder
        self._text = cache(self._read)

    def number(self, what: Number) -> float:
        """The number in the last place that fits. Raises ProgramFailed if there is none."""
        return self._number(what)[0]

    def ms(self, what: Time) -> float:
        """A time in ms. One that is printed as zero is half of its last digit, the most that was rounded to that: 0.5
        of '0.000' s. Raises ProgramFailed if there is none."""
        value, text = self._number(what)
        if value == 0:
            digits, _, exponent = text.lower().partition("e")
            try:
                value = 0.5 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
            except (OverflowError, ValueError):
                raise ProgramFailed(f"{self.name}: {what.match!r} fits {text[:60]!r}, which is no time") from None
        return value * MS[what.unit]

    def _number(self, what: Number) -> tuple[float, str]:
        """A number, and how it is printed."""
        found = re.findall(what.match, self._text(what.where), re.MULTILINE)
        if not found:
            raise self._fault(f"nothing in {what.where} fits {what.match!r}", what.where)
        try:
            value = float(found[-1])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ProgramFailed(f"{self.name}: {what.match!r} fits {found[-1][:60]!r}, which is no number")
        return value, found[-1]

    def answers(self, how: Answers, pairs: int) -> np.ndarray | Count:
        """The answers to so many pairs, bool[pairs], or the number of reachable ones. Raises ProgramFailed."""
        if how.count is not None:
            return Count(int(self.number(how.count)))
        words = dict.fromkeys(how.yes, True) | dict.fromkeys(how.no, False)
        text = self._text(how.where)
        if how.match is None:
            found = [word for line in text.splitlines() if (word := line.strip()) in words]
        else:
            found = [word.strip() for word in re.findall(how.match, text, re.MULTILINE)]
        expected = " or ".join(map(repr, words))
        if strange := next((word for word in found if word not in words), None):
            raise self._fault(f"an answer is {strange!r}, not {expected}", how.where)
        if len(found) != pairs:
            raise self._fault(f"{len(found):,} answers in {how.where}, not {pairs:,} lines of {expected}", how.where)
        return np.array([words[word] for word in found], np.bool_)

    def last_words(self) -> str:
        """The last lines of stderr or, if it is empty, of stdout."""
        return self._last_lines("stderr" if self._text("stderr").strip() else "stdout")

    def _fault(self, what: str, where: str) -> ProgramFailed:
        return ProgramFailed(f"{self.name}: {what}; {self._last_lines(where)}")

    def _last_lines(self, where: str) -> str:
        lines = [line.strip()[:_WIDTH] for line in self._text(where).splitlines() if line.strip()]
        return f"its last lines: {' | '.join(lines[-_SHOWN:])}" if lines else f"{where} is empty"

    def _read(self, where: str) -> str:
        """The text of a file. Raises ProgramFailed if it is missing."""
        try:
            return (self.folder / where).read_text(encoding="utf-8", errors="replace")
        except OSError:
            raise ProgramFailed(f"{self.name} wrote no file {where!r} in its working folder") from None


PREFIX = "program:"
_RUNNER = CommandRunner()


class Program(Implementation):
    """Base class of all programs; `does` is the description of one."""

    does: ClassVar[Description]
    from_edges = False
    repeats = False
    process = "own"  # its row has a peak memory then, which is that of the command
    _kept: ClassVar[tuple[weakref.ref, Path] | None] = None  # the last DAG, and its file, which is removed with it

    @classmethod
    def require(cls) -> None:
        """Raises MachineLacks if the program is not installed."""
        cls.place()

    @classmethod
    def place(cls) -> str:
        """The path of the program: from its environment variable or, without that, from PATH. Raises MachineLacks."""
        does, output = cls.does, os.environ.get(cls.does.variable or "")
        word = output or does.command[0].format(here=cls.described_by.parent)
        if (found := shutil.which(word)) is None:
            what = f"{does.variable} names {output}" if output else f"{cls.described_by} names {word}"
            which = "an executable file there" if os.sep in word else "a program of that name on PATH"
            remedy = f"or have {does.variable} name the file" if does.variable else "or correct the name"
            raise MachineLacks(f"{cls.name}: {what}, which is not installed (there should be {which}; {remedy})")
        return os.path.abspath(found)

    @classmethod
    def files(cls) -> list[Path]:
        """The description and, if it is installed, the program."""
        try:
            return [cls.described_by, Path(cls.place())]
        except MachineLacks:
            return [cls.described_by]

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> ProgramIndex:
        """Writes the DAG without the super-root, once in a process; the command comes with the queries."""
        with timer.phase("write", excluded=True):
            place = cls.place()
            if cls._kept is None or cls._kept[0]() is not dag or not cls._kept[1].exists():
                folder = _RUNNER.folder()
                weakref.finalize(dag, shutil.rmtree, folder, ignore_errors=True)
                ends = dag.edges_without_super_root()
                description.write_graph(folder / "graph", cls.does.graph.how, dag.vertices - 1, *ends)
                cls._kept = weakref.ref(dag), folder / "graph"
            return ProgramIndex(cls, place, params, cls._kept[1])


class ProgramIndex(Index):
    """A graph that was written for a program, and what the program said of its index when it was last run."""

    index_bytes: int | None = None  #: None until the program says it

    def __init__(self, program: type[Program], place: str, params: Params, graph: Path):
        self.program, self.does, self.place, self.params, self.graph = program, program.does, place, params, graph
        self.memory: dict[str, int] = {}

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray | Count:
        """Runs the command. Returns its answers or, from a program that gives only this, the number of reachable pairs.

        Raises ProgramFailed if it ends with an error or does not print what its description says; TooLittleMemory.
        """
        with timer.phase("write", excluded=True):
            folder = _RUNNER.folder()
            self.write_queries(folder, sources, targets)
        try:
            with timer.phase("process", excluded=True):
                ended = self.run(folder)
            with timer.phase("read", excluded=True):
                output, times = Output(self.program.name, folder), self.does.times
                timer.record("label", output.ms(times.build), excluded=True)
                timer.record("query", output.ms(times.query), excluded=True)
                timer.record("processor", ended.cpu_ms, excluded=True)
                if self.does.index is not None:
                    self.index_bytes = round(output.number(self.does.index) * BYTES[self.does.index.unit])
                self.memory = {"host_peak_bytes": ended.peak}
                return output.answers(self.does.answers, sources.size)
        finally:
            with timer.phase("write", excluded=True):
                shutil.rmtree(folder, ignore_errors=True)

    def write_queries(self, folder: Path, sources: np.ndarray, targets: np.ndarray) -> None:
        """Writes the pairs for the program, int32[k] each, as `queries` in a folder."""
        how = self.does.queries
        with open(folder / "queries", "w", encoding="utf-8") as stream:
            stream.write(how.header.format(count=sources.size))
            description.write_pairs(stream, how.line + "\n", sources, targets, how.ids)
            if not how.last_newline:
                stream.truncate(stream.tell() - 1)

    def run(self, folder: Path) -> Ended:
        """Runs the command in a folder that has the pairs. Raises ProgramFailed or TooLittleMemory if it fails."""
        known = {"graph": self.graph, "queries": folder / "queries", "here": self.program.described_by.parent}
        known |= {"dim": self.params.dim, "threads": self.params.workers, "seed": self.params.seed}
        words = [word.format(**known) for word in self.does.command[1:]]
        ended = _RUNNER.run([self.place, *words], folder)
        name = self.program.name
        if ended.fault is not None:
            raise ProgramFailed(f"{name}: {self.place} cannot be started: {ended.fault}")
        if ended.code == -signal.SIGKILL:
            had = f"it had {gib(ended.peak)} resident"
            raise TooLittleMemory(f"{name}: the system killed it, as it does when memory runs out; {had}")
        if ended.code:
            how = f"died of {signal.Signals(-ended.code).name}" if ended.code < 0 else f"ended with code {ended.code}"
            raise ProgramFailed(f"{name} {how}; {Output(name, folder).last_words()}")
        return ended


def described(name: str) -> type[Program] | None:
    """The implementation for the path of a TOML file, or for 'program:NAME' of a shipped one; None for other names.

    Raises InputError if the file is missing or wrong, or if another file describes a program of the same name.
    """
    path = Path(name)
    if name.lower().startswith(PREFIX):
        path = paths.shipped("configs") / "programs" / f"{name.lower().removeprefix(PREFIX)}.toml"
        if not path.is_file():
            return None
    elif path.suffix != ".toml":
        return None
    path = path.resolve()
    does = description.read(path)
    key = Implementation.problem, PREFIX + does.name
    before = contract.programs.get(key)
    if before is not None and before.described_by == path and before.does == does:
        return before
    if before is not None and before.described_by != path:
        raise InputError(f"{before.described_by} describes a program {does.name!r} too", path=path,
                         remedy="give one of them another name")  # fmt: skip
    body = {
        "name": PREFIX + does.name, "does": does, "described_by": path, "needs": (f"program {does.command[0]}",),
        "source": does.source, "axes": does.axes, "cost": "what the program itself says; see its source",
        "__doc__": does.about, "__module__": __name__,
    }  # fmt: skip
    found = type(f"Program_{does.name}", (Program,), body)
    contract.programs[key] = found
    return found
