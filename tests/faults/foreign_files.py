"""Files of the user in every folder that a command is given or uses.

    python tests/faults/foreign_files.py
    python tests/faults/foreign_files.py --nightly --record foreign-files

Random files and folders, hidden ones among them, some with names like those that grailbench gives, are put into the
cache and each folder of it, into runs, a site, a build that was begun, and folders that hold nothing else; all are a
year old, and the cache may keep one byte. Then every command that writes or removes files is called, on folders that
are its own and on folders that are the user's. Afterwards all these files are there byte for byte. A command works or
ends with one line and exit code 2. What files of a report or a figure are called is not drawn: whoever names a folder
for them asks for those. Exit code 1 if not.
"""

import os
import random
import tempfile
import time
from pathlib import Path

import click
import crowds
import record
from crowds import Ended, Place

from grailbench.util import caches

NIGHT = 12  #: places of `--nightly`
YEAR_S = 365 * 86_400
FLAGS = (*crowds.FLAGS, "--trials", "2")
STREAMED = ("build", "graph.edges", "--impl", "streamed", "--memory", "500MB", "--out")
#: folders that exist before, with what is put there beside what is grailbench's own
OWN = (
    "cache", *(f"cache/{name}" for name in caches.KINDS), "runs", "made", "made/report", "made/figures",
    "base", "base/report", "site", "begun.build", "begun.build/1-edges", "home/grailbench", "temporary", ".",
)  # fmt: skip
USERS = ("folder", "folder/.git/objects", "folder/1-edges", "base.before", "base.next", "base.making", "x.build")
NAMES = (".env", ".lock", ".gitignore", "thesis.txt", "holiday.jpg", "report.sql", "airflow.py", "a-v1.npz", "data.npz",
         "notes.json", "build.json.txt", "stage.json", "index", "x.index", "a.gra", "a.gra.json", "lock", "using.txt",
         "kernels-mine", "errors.log", "index.html.bak", ".x.tmp", ".a.partial", "a b", "ä\u202e")  # fmt: skip
#: files that a command would write to, in folders that are the user's
TAKEN = ("folder/environment.json", "folder/errors.txt", "folder/limits.json")
BEFORE = (
    ("import", "graph0.txt", "--name", "mine"), ("fetch", "--all"), (*crowds.RANDOM, "--seed", "7"),
    ("run", *FLAGS, "--out", "made"), ("run", *FLAGS, "--out", "base"), ("report", "made", "--html"), ("plot", "made"),
    ("site", "site", "made"), ("verify", *crowds.FLAGS),
)  # fmt: skip
COMMANDS = (
    ("cache", "--prune"), ("fetch", "--all"), ("import", "graph1.txt", "--name", "other"),
    (*crowds.RANDOM, "--seed", "8"), ("verify", *crowds.FLAGS, "--count", "300"), ("run", *FLAGS, "--out", "folder"),
    ("run", *FLAGS, "--resume=made"),
    ("run", *FLAGS, "--out", "new"), ("build", "mine", "--out", "y.index"), (*STREAMED, "y", "--folder", "folder"),
    (*STREAMED, "y", "--folder", "folder", "--resume"), (*STREAMED, "x"), (*STREAMED, "begun", "--resume"),
    (*STREAMED, "y", "--folder", "empty"), ("site", "folder", "made"), ("site", "site", "made"),
    ("report", "made", "--html"),
    ("report", "made", "--out", "folder"), ("plot", "made", "--out", "folder"), ("plot", "made"),
    ("compare", "base", "made", "--accept"), ("compare", "base", "new", "--accept"), ("pack", "made"),
    ("history", "made", "base", "--out", "folder"), ("profile", "mine", "--out", "folder"),
    ("limits", "--quick", "--only", "cpu", "--out", "folder"), ("export", "mine", "mine.edges"), ("cache", "--prune"),
)  # fmt: skip
MOVED = "/base/report/", "/base.before-2/report/"
REFUSED = {  # of COMMANDS: the words that say why
    (*STREAMED, "y", "--folder", "folder"): "no build of grailbench's",
    (*STREAMED, "y", "--folder", "folder", "--resume"): "no build of grailbench's",
    (*STREAMED, "x"): "no build of grailbench's",
    ("site", "folder", "made"): "no site of grailbench's",
    ("site", "site", "made"): "which no site wrote",
    ("run", *FLAGS, "--out", "folder"): "was not written by grailbench",
    ("limits", "--quick", "--only", "cpu", "--out", "folder"): "was not written by grailbench",
    (*STREAMED, "begun", "--resume"): "which no build wrote",
}


def begun(folder: Path) -> None:
    """Begins a build in a folder, whose first stage alone is whole."""
    import numpy as np

    from grailbench.outofcore import edges, streams
    from grailbench.outofcore.folder import STAGES, Folder

    stream = streams.opened("graph.edges")
    identity = {"of": stream.origin, "vertices": stream.vertices, "first": stream.first, "dim": 2, "seed": 1}
    place = Folder(folder, identity, False)
    place.stage(STAGES[0], 0, lambda to: edges.sort(stream.blocks(), stream.vertices, 500_000_000, to, 3))
    place.close()
    assert np.fromfile(folder / STAGES[0] / "offsets", np.int64)[-1] == 3


def strewn(folder: Path, drawn: random.Random, each: int) -> dict[Path, bytes]:
    """Puts files of a user into the folders, and returns them with what is in them."""
    names = [f"{where}/{name}" for where in (*OWN, *USERS) for name in drawn.sample(NAMES, each)]
    mine = {}
    for name in (*names, *TAKEN):
        path = folder / name
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(drawn.randbytes(drawn.randrange(200)))
        mine[path] = path.read_bytes()
        os.utime(path, (time.time() - YEAR_S,) * 2)
    return mine


def harmed(mine: dict[Path, bytes]) -> list[Path]:
    """Which of them are gone or another; the baseline `base` is kept elsewhere with what is in its report."""

    def there(path: Path, content: bytes) -> bool:
        return path.is_file() and path.read_bytes() == content

    return [path for path, content in mine.items()
            if not there(path, content) and not there(Path(str(path).replace(*MOVED)), content)]  # fmt: skip


def judged(ended: Ended) -> list[str]:
    """What is wrong with how a command ended."""
    if (said := REFUSED.get(ended.words)) is None:
        right = ended.code == 0
    else:
        right = (ended.code, len(ended.errors)) == (2, 1) and said in ended.errors[0]
    return [] if right else [str(ended)]


def trial(seed: int, each: int = 4, commands: tuple = COMMANDS, before: tuple = BEFORE) -> list[str]:
    """What is wrong after the commands in one place, one after the other."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        place = Place(Path(where))
        (place.folder / "graph.edges").write_text("0 1\n1 2\n0 3\n")
        for name in ("home", "temporary", "empty"):
            (place.folder / name).mkdir()

        def first() -> None:
            os.environ |= {"XDG_CACHE_HOME": str(place.folder / "home"), "TMPDIR": str(place.folder / "temporary")}
            tempfile.tempdir = None

        def bounded() -> None:
            first()
            os.environ["GRAILBENCH_CACHE_SIZE"] = "1"

        wrong = crowds._failed(place.at_once([list(before)], first))
        place.at_once([[]], lambda: begun(place.folder / "begun.build"))
        mine = strewn(place.folder, drawn, each)
        for words in commands:
            (ended,) = place.at_once([[words]], bounded)
            wrong += judged(ended)
            for path in harmed(mine):
                wrong.append(f"{' '.join(words)}: {path.relative_to(place.folder)} is gone or another")
                del mine[path]
        return [f"place {seed}: {text}" for text in wrong]


def unmarked(commands: tuple = COMMANDS) -> list[str]:
    """What is wrong with commands whose cache is to be a folder of the user's, with folders like those of a cache."""
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        place = Place(Path(where))
        (place.folder / "graph.edges").write_text("0 1\n1 2\n0 3\n")
        mine = {}
        for name in ("graphs/thesis.txt", "queries/report.sql", "dags/airflow.py", ".git/config"):
            path = place.folder / "cache" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"mine")
            mine[path] = b"mine"
        found = place.at_once([list(commands)], lambda: os.environ.update({"GRAILBENCH_CACHE_SIZE": "1"}))
        wrong = [str(each) for each in found if each.code not in (0, 2) or "Traceback" in each.err]
        there = {path for path in (place.folder / "cache").rglob("*") if path.is_file()}
        odd = {*harmed(mine), *(there ^ {*mine})}
        wrong += [f"{path.relative_to(place.folder)} is gone, another or new" for path in sorted(odd)]
        return [f"a cache that is none: {text}" for text in wrong]


@record.program(
    "Caches and temporary files",
    "Nothing is deleted or replaced in a folder but what grailbench wrote there; a folder with other files is used "
    "only if it bears a mark of grailbench.",
    night=f"{NIGHT} places.",
)
@click.option("--count", default=1, show_default=True, help="Places.")
@click.option("--seed", default=1, show_default=True)
def main(count: int, seed: int, nightly: bool) -> record.Found:
    count = NIGHT if nightly else count
    wrong = [*record.warn(unmarked())]
    wrong += [line for number in range(seed, seed + count) for line in record.warn(trial(number))]
    figure = f"{len(COMMANDS)} commands in {count + 1} places with files of the user, {len(wrong)} of these harmed"
    return record.Found(figure, wrong, {"seed": seed, "places": count, "wrong": wrong})


if __name__ == "__main__":
    main()
