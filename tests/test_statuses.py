"""A cell has one status, whoever reads its rows and whatever its problem."""

import pytest
from outcomes import as_json
from stored import row, store

from grailbench.cli import list as listed_by
from grailbench.cli.progress import summary
from grailbench.harness import folder as results
from grailbench.harness.cells import cells, load
from grailbench.harness.rows import STATUSES, status_of
from grailbench.harness.runner import Finished
from grailbench.report.papers import closures as closure
from grailbench.report.papers import traversals as traversal

LAST = {"reachability": "query", "closure": "solve", "bfs": "solve", "sssp": "solve", "apsp": "solve"}


def cell(problem, trials, *lost, planned=3):
    """Rows of one cell: whole trials, then a row for each of these statuses."""
    of = {"problem": problem, "planned": planned, "search": None, "filters": None}
    whole = [row(phase=LAST[problem], trial=trial, ms=1.0 + trial, **of) for trial in range(trials)]
    return whole + [row(status=status, reason=f"it was {status}", at=str(at), **of) for at, status in enumerate(lost)]


def readers(folder, problem):
    """Status and reason of the one cell of a run, by who says so."""
    rows = results.current(results.read_rows(folder)[0])
    (compared,) = load(folder).cells
    suite = closure if problem == "closure" else traversal
    own = compared if problem == "reachability" else next(suite.cells([compared]).itertuples())
    (table,) = summary(cells(rows))
    shown = table.lines[0][-1].removesuffix(" [1]")
    reason = next((note.removeprefix("[1] ") for note in table.notes if note.startswith("[1]")), "")
    done = Finished(folder, None, rows)
    (listed,) = [name for name, count in listed_by.run(folder)["statuses"].items() if count]
    return {
        "compare": (compared.status, compared.reason),
        "report": (own.status, own.reason),
        "terminal": (shown, reason),
        "exit code": next(iter(done.statuses)),
        "list runs": listed,
    }


@pytest.mark.parametrize(
    ("trials", "lost", "status", "reason"),
    [
        (3, (), "ok", ""), (2, (), "incomplete", "2 of 3 trials"),
        *((2, (each,), each, f"it was {each}") for each in ("wrong", "failed", "out of memory", "timeout", "skipped")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("problem", LAST)
def test_a_cell_has_one_status_and_reason_for_every_reader(tmp_path, problem, trials, lost, status, reason):
    found = readers(store(tmp_path / "run", cell(problem, trials, *lost)), problem)
    assert found.pop("exit code") == found.pop("list runs") == status
    assert set(found.values()) == {(status, reason)}


def test_the_gravest_status_stands_whatever_the_order():
    assert STATUSES[::-1] == ("wrong", "failed", "out of memory", "timeout", "skipped", "incomplete", "sampled", "ok")
    lost = ["timeout", "wrong", "skipped", "failed"]
    for turn in range(len(lost)):
        turned = lost[turn:] + lost[:turn]
        assert status_of(cell("closure", 1, *turned)) == ("wrong", "it was wrong")
    assert status_of(cell("closure", 1, "timeout", "skipped")) == ("timeout", "it was timeout")


def test_a_truncated_file_is_incomplete_on_the_command_line(tmp_path, capsys):
    folder = store(tmp_path / "run", cell("closure", 3))
    path = folder / results.ROWS
    path.write_bytes(path.read_bytes()[:-10])
    (line,) = as_json(capsys, "report", folder)
    assert (line["status"], line["reason"], line["trials"]) == ("incomplete", "2 of 3 trials", 2)
