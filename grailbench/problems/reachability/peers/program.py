"""Any program as an implementation of reachability: `program:NAME`, described by a TOML file (`described`).

The program gets the graph and the pairs as text files, and one command builds its index and answers. What it prints of
its times are the phases `label` and `query`. Beside them stand, apart, what the harness measures of the whole command:

write      writing the files
process    the wall clock of the command: reading the files, building, answering, printing
processor  the processor time of the command
read       reading what it printed

There is no phase `ready`: a command begins with a file, not with edges in memory, and leaves no index.
"""

from __future__ import annotations

import os
import shutil
import signal
import weakref
from pathlib import Path
from typing import ClassVar

import numpy as np

from grailbench.errors import InputError, MachineLacks, TooLittleMemory
from grailbench.graph.csr import Dag
from grailbench.problems import contract
from grailbench.problems.reachability.index import Count, Implementation, Index, Params, Timer
from grailbench.problems.reachability.peers import description
from grailbench.problems.reachability.peers.description import BYTES, Description
from grailbench.problems.reachability.peers.keeper import Ended, Keeper
from grailbench.problems.reachability.peers.output import Output, ProgramFailed
from grailbench.problems.reachability.peers.texts import Format, write_graph, write_pairs
from grailbench.util import paths
from grailbench.util.words import gib

PREFIX = "program:"
_KEEPER = Keeper()


class Program(Implementation):
    """Base class of all programs; `does` is the description of one."""

    does: ClassVar[Description]
    from_edges = False
    repeats = False
    process = "own"  # its row has a peak memory then, which is that of the command
    _kept: ClassVar[tuple[weakref.ref, _Files] | None] = None  # the last DAG, and its file

    @classmethod
    def require(cls) -> None:
        """Raises MachineLacks if the program is not installed."""
        cls.place()

    @classmethod
    def place(cls) -> str:
        """The path of the program: from its environment variable or, without that, from PATH. Raises MachineLacks."""
        does, said = cls.does, os.environ.get(cls.does.variable or "")
        word = said or does.command[0].format(here=cls.described_by.parent)
        if (found := shutil.which(word)) is None:
            what = f"{does.variable} names {said}" if said else f"{cls.described_by} names {word}"
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
        """Writes the DAG without the super-root, once for all cells and trials; the command comes with the queries."""
        with timer.phase("write", apart=True):
            place = cls.place()
            if cls._kept is None or cls._kept[0]() is not dag or not cls._kept[1].graph.exists():
                files = _Files(cls.does.graph.how, dag.vertices - 1, *dag.edges_without_super_root())
                cls._kept = weakref.ref(dag), files
            return ProgramIndex(cls, place, params, cls._kept[1])


class _Files:
    """A folder with the file of a graph, which is removed with this object."""

    def __init__(self, how: Format, vertices: int, sources: np.ndarray, targets: np.ndarray):
        self.folder = _KEEPER.folder()
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        write_graph(self.graph, how, vertices, sources, targets)

    @property
    def graph(self) -> Path:
        return self.folder / "graph"


class ProgramIndex(Index):
    """A graph that was written for a program, and what the program said of its index when it was last run."""

    def __init__(self, program: type[Program], place: str, params: Params, files: _Files):
        self.program, self.does, self.place, self.params, self.files = program, program.does, place, params, files
        self.memory: dict[str, int] = {}
        self._bytes: int | None = None

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray | Count:
        """Runs the command. Returns its answers or, from a program that gives only this, the number of reachable pairs.

        Raises ProgramFailed if it ends with an error or does not print what its description says; TooLittleMemory.
        """
        with timer.phase("write", apart=True):
            folder = _KEEPER.folder()
            self.write_queries(folder, sources, targets)
        try:
            with timer.phase("process", apart=True):
                ended = self.run(folder)
            with timer.phase("read", apart=True):
                said, times = Output(self.program.name, folder), self.does.times
                timer.record("label", said.ms(times.build), apart=True)
                timer.record("query", said.ms(times.query), apart=True)
                timer.record("processor", ended.cpu_ms, apart=True)
                if self.does.index is not None:
                    self._bytes = round(said.number(self.does.index) * BYTES[self.does.index.unit])
                self.memory = {"host_peak_bytes": ended.peak}
                return said.answers(self.does.answers, sources.size)
        finally:
            with timer.phase("write", apart=True):
                shutil.rmtree(folder, ignore_errors=True)

    def check_labels(self, dag) -> None:
        """Returns None: the program's labels are not accessible; its answers are checked."""

    @property
    def index_bytes(self) -> int | None:
        """Bytes of the index as the program says; None if it does not."""
        return self._bytes

    def write_queries(self, folder: Path, sources: np.ndarray, targets: np.ndarray) -> None:
        """Writes the pairs for the program, int32[k] each, as `queries` in a folder."""
        how = self.does.queries
        with open(folder / "queries", "w", encoding="utf-8") as stream:
            stream.write(how.header.format(count=sources.size))
            write_pairs(stream, how.line + "\n", sources, targets, how.ids)
            if not how.last_newline:
                stream.truncate(stream.tell() - 1)

    def run(self, folder: Path) -> Ended:
        """Runs the command in a folder that has the pairs. Raises ProgramFailed or TooLittleMemory if it fails."""
        known = {"graph": self.files.graph, "queries": folder / "queries", "here": self.program.described_by.parent}
        known |= {"dim": self.params.dim, "threads": self.params.workers, "seed": self.params.seed}
        words = [word.format(**known) for word in self.does.command[1:]]
        ended = _KEEPER.run([self.place, *words], folder)
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


# ------------------------------------------------------------------ from a name to a class


def described(name: str) -> type[Program] | None:
    """The implementation for the path of a TOML file, or for 'program:NAME' of a shipped one; None for other names.

    Raises InputError if the file is missing or wrong, or if another file describes a program of the same name.
    """
    path = Path(name)
    if name.lower().startswith(PREFIX):
        path = paths.configs_dir() / "programs" / f"{name.lower().removeprefix(PREFIX)}.toml"
        if not path.is_file():
            return None
    elif path.suffix != ".toml":
        return None
    path = path.resolve()
    does = description.read(path)
    filed = contract._registry.setdefault(Implementation.problem, {})
    before = filed.get(PREFIX + does.name)
    if before is not None and before.described_by == path and before.does == does:
        return before
    if before is not None and before.described_by != path:
        raise InputError(f"{before.described_by} describes a program {does.name!r} too", path=path,
                         remedy="give one of them another name")  # fmt: skip
    body = {
        "name": PREFIX + does.name,
        "does": does,
        "described_by": path,
        "needs": (f"program {does.command[0]}",),
        "source": does.source,
        "axes": does.axes,
        "cost": "what the program itself says; see its source",
        "__doc__": does.about,
        "__module__": __name__,
    }
    found = type(f"Program_{does.name}", (Program,), body)
    filed[found.name] = found
    return found
