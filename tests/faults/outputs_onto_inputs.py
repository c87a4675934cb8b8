"""Outputs that are named like an input, and outputs that are pipes, terminals or other devices.

    python tests/faults/outputs_onto_inputs.py
    python tests/faults/outputs_onto_inputs.py --nightly --record outputs-onto-inputs

Each option or argument of a command that names an output (all are found in the commands themselves) is given each file
that the command reads, by its path, a relative path, a symbolic link and a hard link; what names a folder is given one
in which an input has the name of a file that the command writes. The input must be what it was, and a command that was
given it must end with exit code 2 and one line. An output that is a pipe without a reader or a terminal must still be
one, and the command must come to an end. Exit code 1 if not.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import click
import crowds
import record
from crowds import Ended

from grailbench.cli.main import COMMANDS, cli
from grailbench.cli.options import Output
from grailbench.harness import pack

GRAPH, PAIRS, INDEX, GATE, CONFIG, RUN = "g.edges", "pairs.txt", "g.index", "gate.toml", "config.toml", "run"
STORED = "cache/imported/mine.npz"  #: the graph that was imported as 'mine'
CELLS = ("--dataset", "mine", "--impl", "dfs", "--trials", "2", "--count", "20")
#: for each command with an output, words that it does its work with; files and folders among them are its inputs
WORDS = {
    "export": [("mine",)],
    "generate": [("random", "--vertices", "20", "--degree", "2")],
    "profile": [(GRAPH,)],
    "build": [(GRAPH,), (GRAPH, "--impl", "streamed")],
    "ask": [(GRAPH, "0", "3"), (GRAPH, "--pairs", PAIRS), (GRAPH, "0", "3", "--index", INDEX), (INDEX, "0", "3")],
    "run": [(*CELLS, "--queries", PAIRS), ("--config", CONFIG)],
    "limits": [("--quick", "--only", "cpu")],
    "report": [(RUN,)],
    "plot": [(RUN, "--figure", "speedup", "--format", "svg")],
    "site": [(RUN,)],
    "history": [(RUN, "second", "--gate", GATE)],
    "ab": [("HEAD", "HEAD", "--config", CONFIG, "--gate", GATE)],
    "advise": [(GRAPH, "--pairs", PAIRS, "--impl", "dfs", "--budget", "1", "--process", "shared")],
    "pack": [(RUN,)],
}
#: inputs beside those that words name
BESIDE = {"export": [STORED]}
#: commands that need a checkout, or measure for long: they are only given what they refuse before they begin
NOT_RUN = ("ab", "limits")
WAYS = ("path", "relative path", "symbolic link", "hard link")
PATIENCE = 600  #: seconds after which a command hangs
LEAST = 3  #: names of files in a folder that are tried, but for `--nightly`


def outputs(command: str) -> list[click.Parameter]:
    """The options and arguments of a command that name an output."""
    return [each for each in cli.get_command(None, command).params if isinstance(each.type, Output)]


class Stage(crowds.Place):
    """A folder with an input of each kind."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        (folder / GRAPH).write_text("".join(f"{u} {u + 1}\n" for u in range(12)))
        (folder / PAIRS).write_text("0 3\n3 0\n")
        (folder / GATE).write_text("ratio = 1.2\n")
        (folder / CONFIG).write_text('[[experiment]]\ndatasets = ["mine"]\nimplementations = ["dfs"]\ntrials = 2\n')
        made = [("import", GRAPH, "--name", "mine"), ("build", GRAPH, "--out", INDEX)]
        made += [("run", *CELLS, "--out", name) for name in (RUN, "second")]
        if wrong := crowds._failed(self.at_once([made])):
            raise RuntimeError(wrong[0])

    def ran(self, words: tuple[str, ...]) -> Ended:
        """How a command ended, which gets `PATIENCE`."""
        return self.at_once([[words]], lambda: signal.alarm(PATIENCE))[0]

    def inputs(self, command: str, words: tuple[str, ...]) -> list[Path]:
        """The files that a command reads."""
        named = [self.folder / word for word in (*words, *BESIDE.get(command, ()))]
        files = [each for path in named for each in ([path / name for name in pack.FILES] if path.is_dir() else [path])]
        return [path for path in files if path.is_file()]

    def aliased(self, path: Path, way: str) -> str:
        """A name of a file."""
        link = self.folder / f"alias{len(list(self.folder.glob('alias*')))}.html"  # so that --html takes it
        if way == "path":
            return str(path)
        if way == "relative path":
            return f"answers/../{path.relative_to(self.folder)}"
        link.symlink_to(path) if way == "symbolic link" else os.link(path, link)
        return link.name


def filled(command: str, words: tuple[str, ...], output: click.Parameter, value: str) -> tuple[str, ...]:
    """The words of a command with a value for one of its outputs, and new files for others that it needs."""
    found, options = list(words), []
    arguments = [each for each in cli.get_command(None, command).params if isinstance(each, click.Argument)]
    for each in outputs(command):
        given = value if each is output else "fresh" if each.required else None
        if given is not None and each in arguments:
            found.insert(arguments.index(each), given)
        elif given is not None:
            options.append(f"{each.opts[0]}={given}")
    return command, *found, *options


def trials(stage: Stage, command: str, ways: tuple[str, ...] = WAYS, most: int | None = LEAST) -> Iterator[list[str]]:
    """What is wrong in each trial of a command; `most` names of files in a folder are tried."""
    for output in outputs(command):
        for words in WORDS.get(command, [None]):
            if words is None:
                yield [f"{command} has an output, and no words are known that it works with"]
                continue
            for path in stage.inputs(command, words):
                for way in ways:
                    given = filled(command, words, output, stage.aliased(path, way))
                    yield [f"{way}: {each}" for each in _refused(stage, given, path)]
            if output.type.file_okay:
                yield _special(stage, filled(command, words, output, "pipe"), os.mkfifo)
                yield _special(stage, filled(command, words, output, "terminal"), _terminal)
            if output.type.dir_okay and command not in NOT_RUN:
                yield from _in_folders(stage, command, words, output, most)


def _refused(stage: Stage, words: tuple[str, ...], path: Path) -> list[str]:
    """What is wrong with a command that was given an input as its output."""
    before = path.read_bytes()
    ended = stage.ran(words)
    found = [] if ended.code == 2 and ended.err.count("error: ") == 1 else ["it is not refused in one line"]
    return [f"{each}: {_said(ended)}" for each in found + _changed(path, before)] + _unclear(ended)


def _changed(path: Path, before: bytes) -> list[str]:
    if path.read_bytes() == before:
        return []
    path.write_bytes(before)
    return [f"the input {path.name} is lost"]


def _unclear(ended: Ended) -> list[str]:
    """What is wrong with any end."""
    return [] if ended.code in (0, 2, 3) and "Traceback" not in ended.err else [f"no clear end: {_said(ended)}"]


def _said(ended: Ended) -> str:
    return f"{' '.join(ended.words)}: exit code {ended.code}: {ended.err[-300:]!r}"


def _special(stage: Stage, words: tuple[str, ...], make: Callable[[Path], object]) -> list[str]:
    """What is wrong with a command whose output, the last word or a part of it, is no regular file."""
    path = stage.folder / ("pipe" if make is os.mkfifo else "terminal")
    made = make(path)
    try:
        before = path.lstat()
        ended = stage.ran(words)
        after = path.lstat()
        same = os.path.samestat(before, after) and before.st_mode == after.st_mode
        return _unclear(ended) + ([] if same else [f"the {path.name} is gone: {_said(ended)}"])
    finally:
        path.unlink()
        if made is not None:
            made()


def _terminal(path: Path) -> Callable[[], None]:
    """Makes a link to a new terminal, whose screen takes whatever is written. Returns what closes it."""
    screen, terminal = os.openpty()
    path.symlink_to(os.ttyname(terminal))

    def read() -> None:
        with suppress(OSError):  # once the terminal is closed
            while os.read(screen, 65536):
                pass

    reader = threading.Thread(target=read)
    reader.start()

    def close() -> None:
        os.close(terminal)
        reader.join()
        os.close(screen)

    return close


def _in_folders(
    stage: Stage, command: str, words: tuple[str, ...], output: click.Parameter, most: int | None
) -> Iterator[list[str]]:
    """What is wrong with outputs in a folder of an input: in a folder that is one, and in one where an input has the
    name of a file that the command writes."""
    for word in words:
        path = stage.folder / word
        if path.is_dir():
            before = {each: each.read_bytes() for each in stage.inputs(command, (word,))}
            ended = stage.ran(filled(command, words, output, word))
            yield _unclear(ended) + [text for each in before for text in _changed(each, before[each])]
    folder = stage.folder / "written"
    stage.ran(filled(command, words, output, folder.name))
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    shutil.rmtree(folder, ignore_errors=True)
    folder.unlink(missing_ok=True)
    for name in names[:most]:
        for word in (each for each in words if (stage.folder / each).is_file()):
            path = folder / name
            path.parent.mkdir(parents=True)
            shutil.copy(stage.folder / word, path)
            given = tuple(str(path) if each == word else each for each in words)
            before = path.read_bytes()
            ended = stage.ran(filled(command, given, output, folder.name))
            yield _unclear(ended) + [f"{each}: {_said(ended)}" for each in _changed(path, before)]
            shutil.rmtree(folder)


@record.program(
    "Inputs",
    "No output replaces a file that the command reads, nor a pipe or a device.",
    night="Every name of a file in a folder.",
)
@click.option("--only", type=click.Choice(COMMANDS), multiple=True, help="Only this command; may repeat.")
def main(only: tuple[str, ...], nightly: bool) -> record.Found:
    wrong, done = [], Counter()
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        stage = Stage(Path(where))
        for command in only or [name for name in COMMANDS if outputs(name)]:
            for found in trials(stage, command, most=None if nightly else LEAST):
                wrong += record.told(found)
                done[command] += 1
    figure = f"{done.total():,} outputs of {len(done)} commands, {len(wrong)} inputs, pipes or terminals lost"
    return record.Found(figure, wrong, {"outputs": dict(done), "wrong": wrong})


if __name__ == "__main__":
    main()
