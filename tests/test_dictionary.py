"""Every column of every CSV file that is written is in the data dictionary, with the type that its values have; and
nothing else is."""

import csv
import io
import re
from functools import cache

import pytest
from commands import ROOT
from stored import evaluation, everything, made, trials, unguided
from test_tradeoffs import sweep, timed

from grailbench.compare.history import of_runs
from grailbench.graph import profile
from grailbench.harness.cells import load
from grailbench.problems import contract
from grailbench.problems.counts.export import COLUMNS
from grailbench.report import dictionary, document, figures, floors, history, profiled, stalls
from grailbench.report.render.csv import csv as rendered

#: recorded runs of the other problems, and of workers: small ones
RECORDED = (
    "cpu-2core/counts",
    "h200/traversal",
    "h200/datalog",
    "cpu-2core/dask-streams",
    "h200/closure-50000",
    "speed",
)


def rivals():
    """Rows of a run with five peers, so that the best of ours stands against the best of the others."""
    peers = [f"peer:pyreachability-{name}" for name in ("grail", "pll", "bfl", "tf", "ferrari")]
    return [row for n, name in enumerate(peers) for row in trials(impl=name, threads=1, query=n + 1.0)]


@cache
def written():
    """The text of every CSV file, by its name without the ending: of tables, then of figures."""
    found = []
    runs = [made(everything()), made(evaluation()), made([*sweep(), *timed("core", 1.0, 1.0, 3.0)]),
            made([*rivals(), *trials(), *unguided()]),
            made(trials(impl="gpu", search=None, parts={("query", "gpu_search"): 1.0})),
            *(load(ROOT / "results" / "baselines" / name) for name in RECORDED)]  # fmt: skip
    for run in runs:
        report = document.make(run)
        tables = [*report.shown, report.details, floors.table(floors.COUNTERS, floors.counters(run.cells))]
        for table in tables:
            if table.data is not None:
                found.append((table.file or table.name, rendered([table]), table.data))
        for name, figure in figures.of_report(report).items():
            found.append((name, figure.csv, figure.frame))
    twice = of_runs([made(trials(), name=name) for name in ("one", "two")])
    for figure in [*profiled.of_outline(profile.recorded()["kegg"]), history.medians(twice)]:
        found.append((figure.name, figure.csv, figure.frame))
    return found


def lines(text):
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.slow
def test_no_column_is_missing_and_every_value_has_the_type_that_the_dictionary_says():
    seen, wrong = set(), set()
    for file, text, frame in written():
        head, *rows = lines(text)
        for at, name in enumerate(head):
            assert dictionary.column(file, name) is not None, f"{file}.csv: {name}"
            kind = dictionary.column(file, name).type
            kind = "number" if kind == "integer" and frame.dtypes.iloc[at].kind == "f" else kind
            seen.add(kind)
            for value in {row[at] for row in rows} - {""}:
                if kind == "integer":
                    right = value.lstrip("-").isdigit()
                elif kind == "number":
                    right = re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", value)
                else:
                    right = kind == "string" or value in ("True", "False")
                wrong |= set() if right else {(file, name, value)}
    assert wrong == set()
    assert seen == {"string", "integer", "number", "boolean"}


def counters():
    """The counters that implementations say they have, with the traffic that goes with them."""
    for name in contract.PROBLEMS:
        problem = contract.problem(name)
        yield from problem.counts
        for impl in contract.implementations(name).values():
            if impl.__module__.startswith("grailbench."):
                yield from impl.counts


def test_every_counter_of_ours_is_named():
    bare = [name for name in counters() if dictionary.column("counters", name).name == "*"]
    assert sorted(set(bare)) == []


@pytest.fixture
def read_again():
    """Forgets the entries; a call does so once more."""

    def forget():
        dictionary.columns.cache_clear()
        dictionary.column.cache_clear()

    forget()
    yield forget
    forget()


def test_a_counter_that_its_implementation_explains_needs_no_entry(monkeypatch, read_again):
    impl = contract.implementations("reachability")["dfs"]
    monkeypatch.setattr(impl, "counts", (*impl.counts, "leaps"))
    assert "leaps" in counters()
    assert dictionary.column("counters", "leaps").name == "*"
    monkeypatch.setattr(impl, "meaning", {"leaps": "Levels that were leapt over."})
    read_again()
    assert "| `leaps` | counters | integer | 1 | Levels that were leapt over. |" in dictionary.page()


@pytest.mark.slow
def test_no_entry_is_unused():
    used = {dictionary.column(file, name) for file, text, _ in written() for name in lines(text)[0]}
    used |= {dictionary.column("counters", name) for name in counters()}
    used |= {dictionary.column("export", name) for name in ("source", "target", "weight", *COLUMNS)}
    used |= {dictionary.column("computation-8", name) for name in stalls.COLUMNS}
    used |= {dictionary.column("x-limit", name) for name in ("median_ms", "least_ms", "x_limit", "bound")}
    used |= {dictionary.column("counters", "of a third party")}
    unused = [(each.file, each.name) for each in dictionary.columns() if each not in used]
    assert unused == []


def test_entries_are_whole_sentences_and_each_name_stands_once_for_a_file():
    names = [(each.file, each.name) for each in dictionary.columns()]
    assert len(names) == len(set(names))
    for each in dictionary.columns():
        assert each.type in ("string", "integer", "number", "boolean")
        assert (each.unit == "") == (each.type in ("string", "boolean")), each
        assert each.description.endswith(".")
    # a column of a file of its own meaning comes before the others
    assert dictionary.column("computation-5", "value").unit == "MiB"
    assert dictionary.column("counters", "levels").unit == "1"
    assert dictionary.column("peers", "nonsense") is None


def test_the_page_has_a_line_for_each_entry():
    rows = [line for line in dictionary.page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(dictionary.columns())
