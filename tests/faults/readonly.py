"""Commands in folders that cannot be written.

    python tests/faults/readonly.py
    python tests/faults/readonly.py --record read-only

The cache, the folder of runs, the home with the settings of the user, the current folder and the folder for temporary
files are taken the right to be written, one after the other and all at once, with a cache that is cold or warm. Each
command must work, or end with exit code 2 and one line that names a path below that folder; cells whose graph cannot be
kept are skipped with the reason and the remedy. Exit code 1 if not. The rights of root, for whom permissions count
nothing, are laid down before.
"""

import ctypes
import os
import shutil
import struct
import tempfile
from collections import Counter
from pathlib import Path

import crowds
import record
from crowds import Ended, Place

FOLDERS = ("cache", "runs", "home", "current", "temporary")
_OVERRIDE = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, as bits
_VERSION = 0x20080522
FLAGS = (*crowds.FLAGS, "--trials", "2")
COMMANDS = (
    ("list",), ("info", "mine"), ("info", "path-40"), ("cache",), ("cache", "--prune"), ("fetch", "--all"),
    ("import", "graph1.txt", "--name", "other"), (*crowds.RANDOM, "--seed", "7"), ("plan", *FLAGS),
    ("verify", *crowds.FLAGS), ("run", *FLAGS), ("run", *FLAGS, "--out", "run"),
    ("build", "mine", "--out", "mine.index"), ("export", "mine", "mine.edges"), ("report", "made", "--html"),
    ("pack", "made"),
    ("site", "site", "made"), ("profile", "mine"), ("completion", "bash"),
)  # fmt: skip


def without_rights() -> None:
    """Lays down the right of root to write where permissions do not allow it, for this process."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head, data = ctypes.create_string_buffer(struct.pack("Ii", _VERSION, 0)), ctypes.create_string_buffer(24)
    if libc.capget(head, data):
        raise OSError(ctypes.get_errno(), "capget")
    words = list(struct.unpack("6I", data.raw))
    words[0] &= ~_OVERRIDE
    words[1] &= ~_OVERRIDE
    if libc.capset(head, ctypes.create_string_buffer(struct.pack("6I", *words))):
        raise OSError(ctypes.get_errno(), "capset")


def trial(folders: tuple[str, ...], warm: bool, commands: tuple = COMMANDS) -> list[str]:
    """What is wrong with commands where these folders cannot be written."""
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        place = Place(Path(where))
        paths = {name: place.folder / name for name in FOLDERS if name != "current"} | {"current": place.folder}
        for path in paths.values():
            path.mkdir(exist_ok=True)

        def first() -> None:
            os.environ |= {"HOME": str(paths["home"]), "XDG_CACHE_HOME": "", "TMPDIR": str(paths["temporary"])}
            tempfile.tempdir = None
            without_rights()

        asked = {word for words in commands for word in words}
        made = [("import", "graph0.txt", "--name", "mine")] * ("mine" in asked)
        made += [("run", *FLAGS, "--out", "made"), ("fetch", "--all")] * ("made" in asked or warm)
        wrong = crowds._failed(place.at_once([made], first))
        for each in () if warm else ("dags", "queries", "generated"):
            if (place.folder / "cache" / each).exists():
                shutil.rmtree(place.folder / "cache" / each)
        closed = [paths[name] for name in folders]
        for path in closed:
            for each in (path, *(inner for inner in path.rglob("*") if inner.is_dir() and path != place.folder)):
                each.chmod(0o555)
        try:
            found = place.at_once([list(commands)], first)
        finally:
            for path in closed:
                for each in (path, *(inner for inner in path.rglob("*") if inner.is_dir())):
                    each.chmod(0o755)
        return [*wrong, *(line for each in found for line in judged(each, closed))]


def judged(ended: Ended, closed: list[Path]) -> list[str]:
    """What is wrong with how a command ended where these folders were closed."""
    lines = ended.err.strip().splitlines() or [""]
    if ended.code == 3:  # cells that were skipped: a line for each graph says why
        told = [line for line in lines if "SKIPPED: " in line]
        return [] if told and all("GRAILBENCH_CACHE names another" in line for line in told) else [str(ended)]
    if "Traceback" in ended.err or ended.code not in (0, 2) or len(ended.errors) != (ended.code == 2):
        return [str(ended)]
    if ended.code == 0:
        return []
    relative = {"run", "made", "site", "mine.index", "mine.edges"}
    named = any(name in lines[-1] for name in (*map(str, closed), *(f"error: {each}" for each in relative)))
    return [] if named else [f"names no folder: {ended}"]


@record.program(
    "Many processes, clocks and folders",
    "Where a folder cannot be written, a command works without it or ends with one line that names it.",
    night="The length of a night's share, which is the usual one.",
)
def main(nightly: bool) -> record.Found:
    wrong, done = [], Counter()
    for folders in (*((name,) for name in FOLDERS), FOLDERS):
        for warm in (True, False):
            label = f"{', '.join(folders)}, {'warm' if warm else 'cold'}"
            wrong += record.warn([f"{label}: {each}" for each in trial(folders, warm)])
            done[label] += len(COMMANDS)
    figure = f"{len(COMMANDS)} commands in {len(done)} states of folders, {len(wrong)} without a clear end"
    return record.Found(figure, wrong, {"commands": dict(done), "wrong": wrong})


if __name__ == "__main__":
    main()
