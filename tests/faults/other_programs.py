"""Files of DOT, Matrix Market, METIS and OBO, read here and by other programs: `gvpr` of graphviz, scipy, networkit and
obonet.

    python tests/faults/other_programs.py
    python tests/faults/other_programs.py --folder FOLDER

Without a folder, the files of `tests/faults/corpus`. In a folder, and those below it, files are known by their ending,
or by the name of their folder. Their sets of edges are compared, between names. A format whose program is not installed
is said not to be compared. Exit code 1 if a file has other edges there, or is read there and refused here for a reason
that is not in `REASONS`.
"""

import faulthandler
import os
import re
import shutil
import subprocess
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from pathlib import Path

import click
import numpy as np
import record

Edges = set[tuple[str, str]]
CORPUS = Path(__file__).parent / "corpus"
ENDINGS = {".dot": "dot", ".gv": "dot", ".mtx": "mtx", ".graph": "metis", ".metis": "metis", ".obo": "obo"}
#: why a file that another program reads is no graph of ours: a pattern of the message
REASONS = {
    "dot": r"holds no vertex|no UTF-8|is named \"\"",
    "mtx": r"square|holds no vertex|GB of memory|32-bit ids|numbers? expected, found|values after them",
    "metis": r"vertex lines|the \d+ edges of line",  # networkit reads what disagrees with its own header
    "obo": r"holds no term",
}
EQUAL, DIFFERENT = "equal", "WRONG"
REFUSED, NEITHER, OURS = "refused for a reason", "read by neither", "read here alone"
_COMMENT = re.compile(r"\s!.*|!\s.*")
SECONDS = 120  #: of another program for a file
_GVPR = """
BEG_G { printf("G %d\\n", isDirect($G)); }
E { printf("E%d %s %d %s\\n", length($.tail.name), $.tail.name, length($.head.name), $.head.name); }
"""


class Refused(Exception):
    """Another program does not read a file."""


def _bare(name: str) -> str:
    """A name of DOT without the brackets of HTML, which graphviz leaves out."""
    return name[1:-1] if name[:1] == "<" and name[-1:] == ">" else name


def dot(path: Path) -> Edges:
    """The edges that graphviz reads, of all graphs of the file."""
    if b"\0" in path.read_bytes():
        raise Refused("names end at a NUL there")
    done = subprocess.run(["gvpr", _GVPR, path], capture_output=True, timeout=SECONDS)  # noqa: S603, S607
    if done.returncode or b"syntax error" in done.stderr:
        raise Refused(done.stderr.decode(errors="replace")[:100])
    edges, out, at, directed = set(), done.stdout, 0, True
    if not out:
        raise Refused("no graph")

    def name() -> str:
        nonlocal at
        size = re.compile(rb"(\d+) ").match(out, at)
        at = size.end() + int(size[1]) + 1
        return out[size.end() : at - 1].decode("utf-8", "surrogateescape")

    while at < len(out):
        at += 1
        if out[at - 1 : at] == b"G":
            directed, at = out[at + 1 : at + 2] == b"1", at + 3
            continue
        ends = _bare(name()), _bare(name())
        edges |= {ends} if directed else {ends, ends[::-1]}
    return edges


def mtx(path: Path) -> Edges:
    """The edges that scipy reads: entries that are not 0, from 1 on."""
    import scipy.io

    entries = scipy.io.mmread(path, spmatrix=False)
    us, vs = entries.nonzero()
    return set(zip(map(str, (us + 1).tolist()), map(str, (vs + 1).tolist()), strict=True))


def metis(path: Path) -> Edges:
    """The edges that networkit reads, both ways, from 1 on."""
    import networkit

    graph = networkit.readGraph(str(path), networkit.Format.METIS)
    pairs = [(str(u + 1), str(v + 1)) for u, v in graph.iterEdges()]
    return {*pairs, *(pair[::-1] for pair in pairs)}


def obo(path: Path) -> Edges:
    """The edges that obonet reads of is_a, between terms that are not obsolete."""
    import obonet

    graph = obonet.read_obo(path)
    pairs = [(u, v) for u, v, relation in graph.edges(keys=True) if relation == "is_a"]
    return {tuple(_COMMENT.sub("", end).strip() for end in pair) for pair in pairs}  # some comments stay in names there


PROGRAMS: dict[str, tuple[str, Callable[[Path], Edges]]] = {
    "dot": ("gvpr", dot), "mtx": ("scipy", mtx), "metis": ("networkit", metis), "obo": ("obonet", obo),
}  # fmt: skip


def missing(format: str) -> str | None:
    """The program of a format if it is not installed."""
    program, _ = PROGRAMS[format]
    if program == "gvpr":
        return None if shutil.which(program) else "gvpr of graphviz"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            __import__(program)
    except ImportError:
        return program
    return None


def ours(path: Path, format: str) -> Edges:
    """The edges that are read here."""
    from grailbench.graph.readers import read

    found = read(path, format)
    labels = [str(label) for label in found.ids.labels_of(np.arange(found.graph.vertices)).tolist()]
    labels = [_bare(label) for label in labels] if format == "dot" else labels
    us, vs = ([labels[vertex] for vertex in ends.tolist()] for ends in (found.graph.sources, found.graph.targets))
    return set(zip(us, vs, strict=True))


def apart(read: Callable[[Path], Edges], path: Path) -> Edges:
    """What another program reads, in a process of its own, as some crash. Raises Refused."""
    here, there = Pipe(duplex=False)
    if (child := os.fork()) == 0:
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            warnings.simplefilter("ignore")
            there.send(read(path))
        except BaseException as error:  # whatever it raises for a file that it does not read
            there.send(f"{type(error).__name__}: {error}"[:200])
        os._exit(0)
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = "it crashed"
    os.waitpid(child, 0)
    if isinstance(found, str):
        raise Refused(found)
    return found


def judged(path: Path, format: str) -> tuple[str, str]:
    """What becomes of a file, one of the constants above, and why."""
    from grailbench.errors import GrailbenchError

    try:
        here, why = ours(path, format), ""
    except GrailbenchError as error:
        here, why = None, str(error)
    try:
        there = apart(PROGRAMS[format][1], path)
    except Refused as error:
        return (NEITHER if here is None else OURS), f"{why or error}"
    if here is None:
        return (REFUSED if re.search(REASONS[format], why) else DIFFERENT), f"read there, refused here: {why}"
    if here == there:
        return EQUAL, ""
    return DIFFERENT, f"{len(here - there)} edges here alone, {len(there - here)} there alone: {min(here ^ there)}"


def files_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files below a folder whose format is known, and these."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        if format := ENDINGS.get(path.suffix) or next((part for part in PROGRAMS if part == path.parent.name), None):
            yield path, format


@record.program(
    "Inputs",
    "Files of DOT, Matrix Market, METIS and OBO give the same edges as graphviz, scipy, networkit and obonet do.",
)
@click.option("--folder", type=click.Path(path_type=Path, exists=True), default=CORPUS, help="Of files to compare.")
@click.option("--all", "everything", is_flag=True, help="Show each file that is not equal, with the reason.")
def main(folder: Path, everything: bool) -> record.Found:
    lacking = {format: program for format in PROGRAMS if (program := missing(format))}
    for format, program in lacking.items():
        print(f"NOT COMPARED: {format}, as {program} is not installed")
    counts: dict[str, Counter] = {format: Counter() for format in PROGRAMS if format not in lacking}
    wrong = []
    for path, format in files_of(folder):
        if format in lacking:
            continue
        what, why = judged(path, format)
        counts[format][what] += 1
        if what == DIFFERENT:
            wrong += record.warn([f"{path.relative_to(folder)}: {why}"])
        elif everything and what != EQUAL:
            print(f"{what}: {path.relative_to(folder)}: {why[:200]}")
    for format, found in counts.items():
        print(f"{format:6}", ", ".join(f"{number} {what}" for what, number in sorted(found.items())))
    total = sum(found.total() for found in counts.values())
    equal = sum(found[EQUAL] for found in counts.values())
    details = {format: dict(found) for format, found in counts.items()} | {"not compared": lacking, "wrong": wrong}
    return record.Found(f"{total:,} files, {equal:,} with equal edges, {len(wrong)} read otherwise", wrong, details)


if __name__ == "__main__":
    main()
