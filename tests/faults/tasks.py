"""The commands that leave something behind, in small, what a user does after one was cut short, and what must hold.

Each task begins in a folder `work` of its own; `Stage` makes that anew for every attempt, always at the same path, and
runs commands in forks of this process, which has imported and compiled everything: an attempt takes a fraction of a
second.
"""

import atexit
import contextlib
import hashlib
import io
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import failpoints
import record  # noqa: F401 - which finds what all tests share
from archives import PACKED, registry
from failpoints import Order

from grailbench.harness import provenance
from grailbench.util import paths

#: fields of a row that a second measurement of the same cell has equal
REPEATED = (
    "dataset", "kind", "impl", "dim", "search", "filters", "order", "seed", "query_set", "phase", "under", "trial",
    "status", "verified", "positives", "queries", "vertices", "edges", "counters", "answers_sha256", "graph_sha256",
)  # fmt: skip
SECONDS = 120.0  #: a command that takes longer hangs


@dataclass(frozen=True)
class Ended:
    """How a command ended: its words, its exit code, negative for a signal; what it printed."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """The lines that say that it failed."""
        return [line for line in self.err.splitlines() if line.startswith("error: ")]

    @property
    def fault(self) -> str | None:
        """Why this is no proper end of a command that fails; None if it is one line and a code that says so."""
        if "Traceback" in self.err or self.code not in (1, 2, 3, 4):
            return f"exit code {self.code}: {(self.err or self.out)[-600:]}"
        return None if len(self.errors) == 1 else f"{len(self.errors)} lines of error: {self.err[-600:]}"

    def __str__(self) -> str:
        return f"{' '.join(self.words)}: exit code {self.code}: {self.out!r} {self.err[-400:]!r}"


@dataclass(frozen=True)
class Task:
    """A command, and what belongs to it. All paths are relative to `work`.

    words   of the command; 'python' and a text is a program for the library
    before  makes what is there before it, in the current folder; may call commands
    again   more words, each tried in turn where the command, called again, is refused
    reads   commands that read what it left; what they print, if anything, must be that of an undisturbed one if `exact`
    exact   whether what `reads` print is always the same
    rows    a run in which finished trials are not lost
    processes  whether it starts some, and so takes seconds
    dear    only every so many operations are tried, as each takes seconds
    """

    name: str
    words: tuple[str, ...]
    before: Callable[[Callable], None] = lambda call: None
    again: tuple[tuple[str, ...], ...] = ()
    reads: tuple[tuple[str, ...], ...] = ()
    exact: bool = True
    rows: str | None = None
    processes: bool = False
    dear: int = 1


class Wrong(Exception):
    """A promise was broken."""


# ------------------------------------------------------------------ where commands run


class Stage:
    """A folder for attempts: `work`, and `pristine`, from which it is made anew."""

    def __init__(self, folder: str | os.PathLike | None = None):
        self.home = Path(tempfile.mkdtemp(prefix="grailbench-kills-", dir=folder)).resolve()
        self.work, self.pristine, self.log = (self.home / name for name in ("work", "pristine", "log"))
        self.pristine.mkdir()
        os.environ["GRAILBENCH_CACHE"] = str(self.work / "cache")
        os.environ["TMPDIR"] = str(self.home / "tmp")
        os.environ.pop("GRAILBENCH_MIRROR", None)
        tempfile.tempdir = None
        (self.home / "tmp").mkdir()
        self._registry()
        shipped = paths.shipped
        paths.shipped = lambda name: self.home / "registry" if name == "datasets" else shipped(name)
        provenance.baselines = lambda: self.work / "recorded"

    def _registry(self) -> None:
        """Two more graphs to fetch, one with registered checksums."""
        where, mirror = self.home / "registry", self.home / "mirror"
        shutil.copytree(paths.shipped("datasets"), where)
        mirror.mkdir()
        for name in ("toy-a", "toy-b"):
            (mirror / f"{name}.gra.gz").write_bytes(PACKED)
        (where / "toy.toml").write_text(registry("toy-a", "toy-b", f'sources = ["{mirror}/{{file}}"]'))

    def prepare(self, task: Task) -> None:
        """Make `pristine` for a task, and compile what it needs."""
        self._empty(self.pristine)
        self._empty(self.work)
        os.chdir(self.work)
        task.before(self._sound)
        shutil.rmtree(self.pristine)
        shutil.copytree(self.work, self.pristine, symlinks=True)
        self._here(*task.words)
        for more in task.again:
            self._here(*task.words, *more)
        for words in task.reads:
            self._here(*words)

    def _sound(self, *words: str) -> None:
        """The same, of a command that must end well."""
        if (ended := self._here(*words)).code:
            raise Wrong(f"before: {' '.join(words)} ends with {ended.code}: {ended.err[-400:]}")

    @staticmethod
    def _here(*words: str) -> Ended:
        """Call a command in this process, so that its forks have what it imports and compiles."""
        from click.testing import CliRunner

        from grailbench.cli.main import cli

        if words[0] == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(words[1], {})
            return Ended(words, 0, "", "")
        ran = CliRunner().invoke(cli, words)
        return Ended(words, ran.exit_code, ran.stdout, ran.stderr)

    def restore(self, of: Path | None = None) -> None:
        """Make `work` as a folder is, by default as it was before the task."""
        os.chdir(self.home)
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(of or self.pristine, self.work, symlinks=True)
        self._empty(self.home / "tmp")
        os.chdir(self.work)

    @staticmethod
    def _empty(folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    def call(self, *words: str, order: Order | None = None) -> Ended:
        """Run a command in a fork, with failpoints if there is an order."""
        if order is not None:
            shutil.rmtree(self.log, ignore_errors=True)
        return called(words, self.home, order)

    def order(self, mode: str, at: int = 0, **more) -> Order:
        """An order for `work`."""
        return Order((str(self.work),), str(self.log), mode, at, **more)

    def close(self) -> None:
        os.chdir("/")
        shutil.rmtree(self.home, ignore_errors=True)


def called(words: tuple[str, ...], folder: Path, order: Order | None = None) -> Ended:
    """Run a command in a fork of this process, with failpoints if there is an order; its outputs are files in a folder
    meanwhile."""
    outputs = [folder / f"{os.getpid()}.{name}" for name in ("stdout", "stderr")]
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _be(words, order, outputs)
    waiting = os.pidfd_open(child)
    late = not select.select([waiting], [], [], SECONDS)[0]
    if late:
        os.killpg(child, signal.SIGKILL)
    os.close(waiting)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    out, err = (path.read_text(errors="replace") for path in outputs)
    for path in outputs:
        path.unlink()
    return Ended(words, -99 if late else code, out, err + "\nit hung" * late)


def _be(words: tuple[str, ...], order: Order | None, outputs: list[Path]) -> None:
    """Be the process of a command. Does not return."""
    code = 98
    try:
        os.setsid()
        for number, path in enumerate(outputs, 1):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(handle, number)
            os.close(handle)
        sys.stdin = open(os.devnull)  # noqa: SIM115
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if order is not None:
            failpoints.install(order)
        try:
            command(words)
        except SystemExit as end:
            code = end.code or 0
        atexit._run_exitfuncs()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        code = 97
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 96
        os._exit(code)


def command(words: Sequence[str]) -> None:
    """Be the command of these words; raises SystemExit at its end."""
    from grailbench.cli.main import main

    main(list(words)) if words[0] != "python" else _python(words[1])


def _python(text: str) -> None:
    """Run a program for the library, with its errors as the command line shows them."""
    from grailbench.errors import GrailbenchError

    try:
        exec(text, {})
    except GrailbenchError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(error.exit_code) from None
    raise SystemExit(0)


# ------------------------------------------------------------------ what is compared


def tree(folder: Path, varying: Mapping[str, Callable] | None = None) -> dict[str, object]:
    """What a folder holds, by path: what does not vary of each file, by the end of its name, and 'a folder' of each
    folder."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            found[name] = "a folder"
            continue
        content = path.read_bytes()
        plain = next((plain for ending, plain in (varying or VARYING).items() if name.endswith(ending)), None)
        try:
            found[name] = hashlib.sha256(content).hexdigest() if plain is None else plain(content)
        except (ValueError, KeyError, TypeError) as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def difference(found: dict[str, object], wanted: dict[str, object]) -> str | None:
    """The first differences of two trees, in words."""
    said = [f"{name} is missing" for name in sorted(wanted.keys() - found.keys())]
    said += [f"{name} is left over" for name in sorted(found.keys() - wanted.keys())]
    said += [f"{name} differs" for name in sorted(found.keys() & wanted.keys()) if found[name] != wanted[name]]
    return "; ".join(said[:4]) or None


def repeatable(content: bytes) -> list[tuple]:
    """What a repeated run has equal, of its rows, in any order: one that goes on does first what is missing. Rows stay,
    so those of cells that were skipped, as a full disk has them, and measured since do not count."""
    if content and not content.endswith(b"\n"):
        raise ValueError("the last line is torn")
    rows = [json.loads(line) for line in content.splitlines()]
    measured = {(row.get("dataset"), row.get("impl")) for row in rows if row.get("status") != "skipped"}
    rows = [row for row in rows if row.get("status") != "skipped" or (row["dataset"], row["impl"]) not in measured]
    return sorted(tuple(json.dumps(row.get(name), sort_keys=True) for name in REPEATED) for row in rows)


def without(*names: str) -> Callable[[bytes], object]:
    """What a note says beside these."""

    def plain(content: bytes):
        return {name: value for name, value in json.loads(content).items() if name not in names}

    return plain


VARYING: dict[str, Callable[[bytes], object]] = {
    "trials.jsonl": repeatable,
    "environment.json": lambda content: bool({"earlier", "code"} & json.loads(content).keys()),
    ".gra.json": without("fetched", "sum"),
}


# ------------------------------------------------------------------ the tasks

EDGES = "".join(f"{v} {w}\n" for v in range(60) for w in (v + 1, (v * 7) % 61) if w > v)
_SMALL = ("--impl", "dfs", "--impl", "sequential", "--trials", "2", "--count", "20")
_RUN = ("run", "--dataset", "random-n60-k2-s1", "--dataset", "path-40", *_SMALL, "--out", "run")
_BUILD = ("build", "edges.txt", "--impl", "streamed", "--memory", "400MB", "--out", "streamed.index")
_SHARDED = """
import grailbench as gb
index = gb.load("mine.index")
index.stream_to("answers.bits", "pairs.npy", shard=16)
"""
_BITS = "from pathlib import Path\nprint(Path('answers.bits').exists() and Path('answers.bits').read_bytes())"


def _edges(call) -> None:
    Path("edges.txt").write_text(EDGES)


def _imported(call) -> None:
    _edges(call)
    Path("older.txt").write_text("0 1\n1 2\n")
    call("import", "older.txt", "--name", "mine")


def _built(call) -> None:
    _edges(call)
    call("import", "edges.txt", "--name", "mine")
    call("build", "mine", "--impl", "sequential", "--out", "mine.index")


def _older_index(call) -> None:
    _built(call)
    call("build", "path-40", "--impl", "sequential", "--out", "other.index")


def _measured(name: str, graph: str = "path-40") -> Callable:
    return lambda call: call("run", "--dataset", graph, *_SMALL, "--out", name)


def _clean(call) -> None:
    """A run that says that it was measured from a commit without changes, and the folder of recorded ones."""
    from grailbench.harness import folder

    _measured("run")(call)
    path = Path("run", folder.ENVIRONMENT)
    folder.write_json(path, folder.read_json(path) | {"commit": "0" * 40, "dirty": False})
    Path("recorded").mkdir()


def _recorded_before(call) -> None:
    _clean(call)
    call("record", "run", "machine/run")
    shutil.move("run", "new")


def _site_before(call) -> None:
    _measured("older", "path-30")(call)
    call("site", "public", "older")
    _measured("run")(call)


def _pairs(call) -> None:
    import numpy as np

    _built(call)
    np.save("pairs.npy", np.stack([np.arange(50), np.arange(50)[::-1]], axis=1))


def _two_runs(call) -> None:
    _measured("base")(call)
    _measured("new")(call)
    Path("base", "gate.toml").write_text("ratio = 1000.0\n")


_OF_INDEX = ("ask", "mine.index", "--descendants", "3")
TASKS = (
    Task("run", _RUN, again=(("--resume",),), reads=(("report", "run"), ("report", "run", "--json")), exact=False,
         rows="run"),
    Task("run in processes", (*_RUN, "--process", "own"), again=(("--resume",),), reads=(("report", "run", "--json"),),
         exact=False, rows="run", processes=True, dear=12),
    Task("run --resume", (*_RUN, "--trials", "3", "--resume"), lambda call: call(*_RUN), reads=(("report", "run"),),
         exact=False, rows="run"),
    Task("import", ("import", "edges.txt", "--name", "mine"), _edges, reads=(("info", "mine", "--json"),)),
    Task("import --replace", ("import", "edges.txt", "--name", "mine", "--replace"), _imported,
         reads=(("info", "mine", "--json"),)),
    Task("fetch", ("fetch", "toy-a", "toy-b", "--jobs", "1"),
         reads=(("info", "toy-a", "--json"), ("info", "toy-b", "--json")), exact=False),
    Task("build", ("build", "mine", "--impl", "sequential", "--out", "mine.index"), _older_index,
         reads=(_OF_INDEX,)),
    Task("build, first", ("build", "edges.txt", "--impl", "sequential", "--out", "mine.index"), _edges,
         reads=(_OF_INDEX,)),
    Task("Index.save", ("python", "import grailbench as gb\ngb.load('other.index').save('mine.index')"), _older_index,
         reads=(_OF_INDEX,)),
    Task("build streamed", _BUILD, _edges, again=(("--resume",),),
         reads=(("ask", "streamed.index", "--descendants", "3"),)),
    Task("shards", ("python", _SHARDED), _pairs, reads=(("python", _BITS),)),
    Task("ask --out", ("ask", "mine", "--descendants", "3", "--out", "answers.gz", "--save", "saved.index"), _built,
         reads=(("ask", "saved.index", "--descendants", "3"),)),
    Task("pack", ("pack", "run", "--out", "run.pack.zip"), _measured("run"),
         reads=(("pack", "--check", "run.pack.zip"),)),
    Task("compare --accept", ("compare", "base", "new", "--accept"), _two_runs,
         reads=(("report", "base", "--json"),)),
    Task("record", ("record", "run", "machine/run"), _clean, again=(("--replace",),),
         reads=(("report", "recorded/machine/run", "--json"),)),
    Task("record --replace", ("record", "new", "machine/run", "--replace"), _recorded_before,
         reads=(("report", "recorded/machine/run", "--json"),)),
    Task("report", ("report", "run", "--html"), _measured("run")),
    Task("plot", ("plot", "run", "--format", "svg", "--figure", "speedup"), _measured("run")),
    Task("site", ("site", "public", "run"), _measured("run"), dear=4),
    Task("site, again", ("site", "public", "run"), _site_before, dear=4),
    Task("export", ("export", "path-40", "graph.tuwien"), reads=(("import", "graph.tuwien", "--name", "again"),),
         exact=False),
    Task("generate", ("generate", "random", "--vertices", "100", "--degree", "3", "--name", "dense"),
         reads=(("info", "dense", "--json"),)),
)  # fmt: skip
