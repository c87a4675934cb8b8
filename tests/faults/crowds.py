"""Two and eight processes at once on one cache, on one run, and on one name.

    python tests/faults/crowds.py
    python tests/faults/crowds.py --nightly --record crowds

Processes begin at the same moment, on a cache that is cold: they import, generate, condense, fetch and verify the same
graphs and others, also beside one that clears the cache over and over; they make a run in the same folder, continue the
same run. What is there afterwards must be what one process alone
leaves: the same files, every row once. And each asks about a file of its own, all of one stem, and imports it under the
name of all: every answer must be that of its own file, and one import at most may succeed. Who is refused must say so
in one line, with the remedy. Exit code 1 if not.
"""

import atexit
import json
import os
import pickle
import random
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn
from unittest import mock

import click
import record
from archives import PACKED, registry
from tasks import Ended, called, difference, tree, without

from grailbench.harness import runner  # noqa: F401 - for the processes
from grailbench.problems.contract import implementations
from grailbench.util import caches, paths
from grailbench.util.words import count

NIGHT_S = 8 * 60
SIZES = (2, 8)
#: what notes of processes that fetch at once need not have alike
UNLIKE = {".json": without("fetched", "sum", "checked")}
END = 40  #: the last vertex of the paths of one name
TAKEN = ("was imported before, from", "graph is named", "another graph has this name now")
REFUSALS = ("another process is at work on this run", "contains a run already")
RANDOM = ("generate", "random", "--vertices", "300", "--degree", "2")
FLAGS = ("--dataset", "path-40", "--impl", "sequential", "--dim", "2", "--queries", "random", "--count", "200")


class Place:
    """A folder with a cache, a mirror, a registry of two graphs and texts of graphs, all of it new."""

    def __init__(self, folder: Path):
        implementations()  # imports what the processes need
        self.folder, self.out, self.answers = folder, folder / "run", folder / "answers"
        self.answers.mkdir()
        (folder / "datasets").mkdir()
        (folder / "datasets" / "toy.toml").write_text(registry())
        (folder / "mirror").mkdir()
        for name in "ab":
            (folder / "mirror" / f"{name}.gra.gz").write_bytes(PACKED)
        for number in range(max(SIZES)):
            drawn = random.Random(number)
            edges = (f"{drawn.randrange(2000)} {drawn.randrange(2000)}\n" for _ in range(6000))
            (folder / f"graph{number}.txt").write_text("".join(edges))

    def at_once(self, commands: list[list[tuple[str, ...]]], first: Callable[[], object] = lambda: None) -> list[Ended]:
        """What happens if so many processes begin at once, each with some commands, one after the other; each calls
        `first` before."""
        start, begin = os.pipe()
        pids = []
        for number, words in enumerate(commands):
            if (pid := os.fork()) == 0:
                os.close(begin)
                self._be(words, first, start, self.answers / str(number))
            pids.append(pid)
        os.close(start)
        os.close(begin)
        for pid in pids:
            os.waitpid(pid, 0)
        return [each for at in range(len(commands)) for each in pickle.loads((self.answers / str(at)).read_bytes())]

    def _be(self, commands: list[tuple[str, ...]], first: Callable, start: int, answers: Path) -> NoReturn:
        """Be a process of a crowd."""
        try:
            atexit._clear()  # of the process that forked this one
            os.chdir(self.folder)
            os.environ |= {"GRAILBENCH_CACHE": str(self.folder / "cache"), "GRAILBENCH_MIRROR": "mirror"}
            paths.shipped = lambda name: self.folder / name
            paths.runs_dir = lambda: self.folder / "runs"
            caches._in_use.clear()
            os.read(start, 1)  # until all are there
            first()
            answers.write_bytes(pickle.dumps([called(words, self.answers) for words in commands]))
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(0)


def rows_of(run: Path) -> Counter:
    """How often each row of a run is there, by graph, configuration, trial and phase."""
    rows = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    return Counter((row["key"], row["trial"], row["phase"], row["status"]) for row in rows)


def _failed(ended: list[Ended]) -> list[str]:
    return [str(each) for each in ended if each.code]


# ------------------------------------------------------------------ what is tried


def _work(number: int) -> list[tuple[str, ...]]:
    return [
        ("import", "graph0.txt", "--name", "same"),
        ("import", f"graph{number}.txt", "--name", f"own{number}"),
        (*RANDOM, "--seed", "1"),
        (*RANDOM, "--seed", str(2 + number)),
        ("fetch", "--all"),
        ("verify", *FLAGS),
        ("info", "same", "--json"),
    ]


def cold(place: Place, crowd: int) -> list[str]:
    """The same graphs and others on one cold cache, each process in another order."""
    works = [_work(number) for number in range(crowd)]
    alone = place.at_once([[each for words in works for each in words]])
    wanted = tree(place.folder / "cache", UNLIKE)
    if wrong := _failed(alone):
        return wrong
    shutil.rmtree(place.folder / "cache")
    for number, words in enumerate(works):
        first, *others, last = words
        random.Random(number).shuffle(others)
        words[:] = [*others, first, last] if number % 2 else [first, *others, last]
    found = place.at_once(works)
    answers = {each.out for each in (*alone, *found) if each.words[:2] == ("info", "same")}
    differs = difference(tree(place.folder / "cache", UNLIKE), wanted)
    wrong = _failed(found) + ([differs] if differs else [])
    return wrong + ([] if len(answers) == 1 else [f"{len(answers)} answers of info"])


def pruned(place: Place, crowd: int) -> list[str]:
    """The same, beside a process that removes all that it may, over and over."""
    works = [_work(number) for number in range(crowd)]
    with mock.patch.dict(os.environ, {caches.SIZE: "1"}):
        found = place.at_once([*works, [("cache", "--prune", "--json")] * 12])
    wrong = _failed(found)
    names = {path.name for path in (place.folder / "cache" / "imported").iterdir()}
    wanted = {"same.npz", *(f"own{number}.npz" for number in range(crowd))}
    return wrong + ([] if names == wanted else [f"imported graphs are {sorted(names)}"])


def one_folder(place: Place, crowd: int) -> list[str]:
    """A new run in the same folder: one process makes it."""
    command = ("run", *FLAGS, "--trials", "3", "--out")
    place.at_once([[(*command, str(place.folder / "alone"))]])
    found = place.at_once([[(*command, str(place.out))]] * crowd)
    wrong = [] if [each.code for each in found].count(0) == 1 else [f"exit codes {[each.code for each in found]}"]
    return wrong + _refused(found) + _once(place.out, place.folder / "alone")


def one_run(place: Place, crowd: int) -> list[str]:
    """The same run continued: one process at a time does."""
    command = ("run", *FLAGS, "--trials")
    place.at_once([[(*command, "6", "--out", str(place.folder / "alone"))]])
    place.at_once([[(*command, "2", "--out", str(place.out))]])
    found = place.at_once([[(*command, "6", f"--resume={place.out}")]] * crowd)
    wrong = [] if 0 in [each.code for each in found] else ["nobody continued the run"]
    return wrong + _refused(found) + _once(place.out, place.folder / "alone")


def _refused(found: list[Ended]) -> list[str]:
    """What is wrong with those that were not let in."""
    wrong = []
    for each in found:
        last = each.err.strip().splitlines()[-1:] or [""]
        refused = each.code == 2 and any(text in last[0] for text in REFUSALS)
        if "Traceback" in each.err or (each.code and not refused):
            wrong.append(str(each))
    return wrong


def _once(run: Path, like: Path) -> list[str]:
    """What is wrong with a run that should have each row of another run, once."""
    found, wanted = rows_of(run), rows_of(like)
    wrong = [f"{run.name}: row {row} is there {many} times" for row, many in found.items() if many != 1]
    return wrong + ([] if found.keys() == wanted.keys() else [f"{run.name}: rows are lost or strange"])


# ------------------------------------------------------------------ one name


def _paths(place: Place, crowd: int) -> list[str]:
    """Writes for each process a path from 0 to `END`, or back; returns the files, all of one stem."""
    files = []
    for number in range(crowd):
        up = number % 2 == 0
        path = place.folder / f"{'up' if up else 'down'}{number}" / "g.csv"
        path.parent.mkdir()
        edges = ((v, v + 1) if up else (v + 1, v) for v in range(END))
        path.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in edges))
        files.append(path.relative_to(place.folder).as_posix())
    return files


def wrong_answers(found: list[Ended]) -> list[str]:
    """What is wrong with how commands that take one name ended."""
    wrong, imported = [], set()
    for each in found:
        if each.code not in (0, 2) or "Traceback" in each.err or len(each.errors) != (each.code == 2):
            wrong.append(str(each))
        elif each.code == 2:
            wrong += [] if any(text in each.errors[0] for text in TAKEN) else [str(each)]
        elif each.words[0] == "ask":
            wrong += [] if each.out == f"0 {END} {int(each.words[1].startswith('up'))}\n" else [f"WRONG ANSWER: {each}"]
        else:
            imported.add(each.words[1][:2])
    return wrong + ([f"{len(imported)} graphs have one name"] if len(imported) > 1 else [])


def one_name(place: Place, crowd: int) -> list[str]:
    """Files of one stem are asked at once, again and again, and imported under one name."""
    works = [[("ask", file, "0", str(END))] * 3 + [("import", file, "--name", "mine")] for file in _paths(place, crowd)]
    found = place.at_once(works)
    done = any(each.words[0] == "import" and each.code == 0 for each in found)
    return wrong_answers(found) + ([] if done else ["nobody imported"])


TRIED: dict[str, Callable[[Place, int], list[str]]] = {
    each.__name__: each for each in (cold, pruned, one_folder, one_run, one_name)
}  # fmt: skip


def trial(name: str, crowd: int) -> list[str]:
    """What is wrong after one of `TRIED` with so many processes."""
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        return [f"{name}, {crowd} processes: {wrong}" for wrong in TRIED[name](Place(Path(where)), crowd)]


@record.program(
    "Many processes, clocks and folders",
    "Processes that share a cache or a run leave what one alone leaves: no file is mixed, no row is lost or there "
    "twice, and who is refused says so in one line.",
    night=f"Repeat for {NIGHT_S // 60} minutes.",
)
@click.option("--only", type=click.Choice(list(TRIED)), multiple=True, help="Only this; may repeat.")
@click.option("--crowd", type=int, multiple=True, help="So many processes; may repeat. [default: 2 and 8]")
def main(only: tuple[str, ...], crowd: tuple[int, ...], nightly: bool) -> record.Found:
    wrong, done = [], Counter()
    for _ in record.rounds(NIGHT_S if nightly else 0):
        for name in only or TRIED:
            for many in crowd or SIZES:
                wrong += record.warn(trial(name, many))
                done[f"{name}, {many} processes"] += 1
    many = " and ".join(map(str, crowd or SIZES))
    figure = f"{count(done.total(), 'crowd')} of {many} processes, {len(wrong)} differences from one process alone"
    return record.Found(figure, wrong, {"crowds": dict(done), "wrong": wrong})


if __name__ == "__main__":
    main()
