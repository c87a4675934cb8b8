"""Processes that take one name for different graphs at once.

    python tests/faults/claims.py
    python tests/faults/claims.py --nightly --record claims

On a fresh cache, processes begin at the same moment: each has a file of its own, all of one stem. They ask about it,
import it under one name, with and without --replace, generate graphs of other parameters under that name, condense it
while the condensed graphs are removed, and verify queries from files of one stem. Every answer must be that of the
process's own file, or the process is refused in one line; of the imports and generated graphs of one name without
--replace, one at most may be done. Exit code 1 if not.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import click
import crowds
import record
from crowds import Ended, Place

from grailbench.util.words import count

NIGHT_S = 8 * 60
END = 40  #: the last vertex of each path
REFUSALS = ("was imported before, from", "graph is named", "was generated before", "is another graph has this name now")


def placed(place: Place, crowd: int) -> list[str]:
    """Writes for each process a path in one direction or the other, and a file of queries with their answers."""
    folders = [f"{'down' if number % 2 else 'up'}{number}" for number in range(crowd)]
    for name in folders:
        (place.folder / name).mkdir()
        up = name.startswith("up")
        edges = ((v, v + 1) if up else (v + 1, v) for v in range(END))
        (place.folder / name / "g.csv").write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in edges))
        (place.folder / name / "pairs.txt").write_text(f"0 {END} {int(up)}\n{END} 0 {int(not up)}\n")
    return folders


def ask(folder: str) -> tuple[str, ...]:
    return ("ask", f"{folder}/g.csv", "0", str(END))


def judged(found: list[Ended]) -> list[str]:
    """What is wrong with how commands ended."""
    wrong, done = [], {}
    for each in found:
        what = f"{' '.join(each.words)}: exit code {each.code}: {each.out!r} {each.err[-300:]!r}"
        errors = [line for line in each.err.splitlines() if line.startswith("error: ")]
        if each.code not in (0, 2) or "Traceback" in each.err or len(errors) != (each.code == 2):
            wrong.append(what)
        elif each.code == 2:
            wrong += [] if any(text in errors[0] for text in REFUSALS) else [what]
        elif each.words[0] == "ask":
            up = each.words[1].startswith("up")
            wrong += [] if each.out == f"0 {END} {int(up)}\n" else [f"WRONG ANSWER: {what}"]
        elif "--name" in each.words and "--replace" not in each.words:
            of = each.words[1][:2] if each.words[0] == "import" else each.words
            done.setdefault(each.words[each.words.index("--name") + 1], set()).add(of)
    return wrong + [f"{len(graphs)} graphs are named {name}" for name, graphs in done.items() if len(graphs) > 1]


# ------------------------------------------------------------------ what is tried


def asked(place: Place, folders: list[str]) -> list[str]:
    """Files of one stem are asked at once, again and again."""
    return judged(place.at_once([[ask(each)] * 3 for each in folders]))


def imported(place: Place, folders: list[str]) -> list[str]:
    """Files are imported under one name at once."""
    found = place.at_once([[("import", f"{each}/g.csv", "--name", "mine")] for each in folders])
    wrong = judged(found) + ([] if any(each.code == 0 for each in found) else ["nobody imported"])
    (answer,) = place.at_once([[("ask", "mine", "0", str(END))]])
    first = next((each.words[1] for each in found if each.code == 0), "")
    right = f"0 {END} {int(first.startswith('up'))}\n"
    return wrong + ([] if answer.out == right else [f"{first} was imported, and the answer is {answer.out!r}"])


def replaced(place: Place, folders: list[str]) -> list[str]:
    """Each asks about its file, beside those that replace its graph over and over."""
    works = [[ask(each)] * 3 for each in folders]
    works += [[("import", f"{each}/g.csv", "--name", "g", "--replace")] * 3 for each in folders[:2]]
    return judged(place.at_once(works))


def generated(place: Place, folders: list[str]) -> list[str]:
    """Graphs of other parameters are generated under one name, which others import at once."""
    works = [[(*crowds.RANDOM, "--seed", str(number), "--name", "mine")] for number in range(len(folders))]
    works += [[("import", f"{each}/g.csv", "--name", "mine")] for each in folders[:2]]
    found = place.at_once(works)
    return judged(found) + ([] if any(each.code == 0 for each in found) else ["nobody took the name"])


def condensed(place: Place, folders: list[str]) -> list[str]:
    """Graphs are condensed at once, while condensed graphs are removed; queries are from files of one stem."""
    names = [[("import", f"{each}/g.csv", "--name", each)] for each in folders]
    wrong = judged(place.at_once(names))
    works = [
        [
            ("cache", "--prune", "--json"),
            ("ask", each, "0", str(END)),
            ("verify", "--dataset", each, "--impl", "dfs", "--queries", f"{each}/pairs.txt"),
        ]
        for each in folders
    ]
    with crowds._bound("1"):
        return wrong + judged(place.at_once(works))


TRIED = {each.__name__: each for each in (asked, imported, replaced, generated, condensed)}


def trial(name: str, crowd: int) -> list[str]:
    """What is wrong after one of `TRIED` with so many processes."""
    with tempfile.TemporaryDirectory(prefix="grailbench-faults-") as where:
        place = Place(Path(where))
        return [f"{name}, {crowd} processes: {wrong}" for wrong in TRIED[name](place, placed(place, crowd))]


@record.program(
    "Many processes, clocks and folders",
    "A name is that of one graph: of processes that take it at once one gets it, and every answer is that of the file "
    "that was asked.",
    night=f"Repeat for {NIGHT_S // 60} minutes.",
)
@click.option("--crowd", default=4, show_default=True, help="So many processes.")
@click.option("--only", type=click.Choice(list(TRIED)), multiple=True, help="Only this; may repeat.")
def main(crowd: int, only: tuple[str, ...], nightly: bool) -> record.Found:
    wrong, done = [], Counter()
    for _ in record.rounds(NIGHT_S if nightly else 0):
        for name in only or TRIED:
            wrong += record.told(trial(name, crowd))
            done[name] += 1
    figure = f"{count(done.total(), 'crowd')} of {crowd} processes that take one name, {len(wrong)} wrong"
    return record.Found(figure, wrong, {"crowds": dict(done), "wrong": wrong})


if __name__ == "__main__":
    main()
