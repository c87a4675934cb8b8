"""`grailbench advise`: costs, break-even numbers and ties from made-up rows; whole tournaments on a tiny graph."""

import json
import math

import pytest
from commands import call
from stored import lost, trials
from watchers import Silent

from grailbench.api import advise as tournament
from grailbench.api.advise import advise, options, program, unindexed
from grailbench.cli import advise as view
from grailbench.errors import InputError, MachineLacks
from grailbench.harness.cells import cells
from grailbench.problems.contract import implementation
from grailbench.util import memory

QUERIES = 1000  #: pairs of a made-up batch


def rows(impl, build, query, size=1000, noise=0.0, sets=("balanced-1000-s1",), count=6, **fields):
    """Rows of a configuration: `build` ms from edges, `query` µs a pair, with so much noise from trial to trial."""
    out = []
    for queries in sets:
        made = trials(label=build / 2, query=query, apart={"ready": build}, count=count, impl=impl, queries=QUERIES,
                      query_set=queries, index_bytes=size, **{"planned": count} | fields)  # fmt: skip
        for row in made:
            row["ms"] *= (1 + noise * (-1) ** row["trial"]) / (1 + row["trial"] / 100)
        out += made
    return out


def made(*several):
    """The options of some rows."""
    return options(cells([row for each in several for row in each]))


def shown(last, queries, absent=()):
    """The table of candidates of a tournament."""
    outcome, found = tournament.Outcome(None, "pairs", last, last, dict(absent)), advise(last, queries)
    return view._table("kegg", outcome, found, [*view.candidates(outcome, found)])


SEARCH = rows("dfs", 0.5, 100.0, 0, dim=None, search=None, filters=None, order=None)
SMALL, LARGE = rows("sequential", 10.0, 1.0, 4000), rows("parallel", 40.0, 0.5, 9000, threads=2)


def test_from_how_many_queries_an_index_pays_against_none():
    sweep = rows("sweep", 2.0, 10.0, 0, dim=None, search=None, filters=None, order=None, threads=1)
    found = made(SEARCH, sweep, SMALL)
    by = {option.impl: option for option in found}
    against = unindexed(found, by["sequential"])
    assert (against.option.impl, against.since) == ("sweep", 889)  # 8 ms over 9 us
    assert by["sequential"].cost.of(889) <= by["sweep"].cost.of(889)
    assert by["sequential"].cost.of(888) > by["sweep"].cost.of(888)
    assert unindexed(found, by["sweep"]) is None
    assert unindexed([by["sequential"]], by["sequential"]) is None
    slow = made(sweep, rows("parallel", 9.0, 11.0, threads=2))
    assert unindexed(slow, slow[1]).since == math.inf
    said = view.sentences(advise(found, 10**6), [], 10**6, None)
    assert "Against sweep 1 thread, which keeps no index, its build pays from 889 queries on." in said
    assert not any("keeps no index" in line for line in view.sentences(advise(made(SEARCH, sweep), 10), [], 10, None))
    blocks = [{"implementations": ["sweep"], **variant} for variant in tournament.VARIANTS]
    assert 1 in {cell.threads for cell in tournament.planned("kegg-like", blocks).cells}


@pytest.mark.parametrize(("queries", "best"), [(1, "dfs"), (1000, "sequential"), (10**6, "parallel")])
def test_what_is_taken_depends_on_the_number_of_queries(queries, best):
    assert advise(made(SEARCH, SMALL, LARGE), queries).best.impl == best


def test_a_query_of_one_pair_at_a_time_is_that_of_the_pairs_that_were_asked_and_a_time_from_edges_is_needed():
    assert options(cells(trials(queries=QUERIES)))[0].cost is None
    (option,) = made([*rows("sequential", 10.0, 1.0), *rows("sequential", 10.0, 3.0, sets=("random-1000-s1",))])
    assert option.cost == pytest.approx((10.0, 2e-3))  # both sets count the same
    (option,) = made(rows("peer:networkx", 1.0, 50.0, sets=("random-100000-s1-first-1000",)))
    assert (option.part, option.cost.each) == (1000, pytest.approx(0.05))
    assert "asked 1,000 pairs" in shown([option], 1000).lines[0][-1]


@pytest.mark.parametrize(
    ("one", "other", "best", "level"),
    [
        ((1.0, 9000, 0.0), (1.05, 4000, 0.2), "sequential", True),  # less than the noise: the smallest
        ((1.0, 9000, 0.2), (1.2, 4000, 0.2), "parallel", False),  # noise that both had in the same trials
        ((1.0, 9000, 0.0), (1.2, 4000, 0.0), "parallel", False),
    ],
)
def test_of_what_differs_less_than_the_noise_the_smallest_is_taken(one, other, best, level):
    made_of = zip(("parallel", "sequential"), (one, other), strict=True)
    found = advise(made(*(rows(impl, 10.0, *numbers) for impl, numbers in made_of)), 10**6)
    assert (found.best.impl, found.fastest.impl) == (best, "parallel")
    assert [option.impl for option in found.level] == ["parallel", "sequential"][: 1 + level]
    text = " ".join(view.sentences(found, [], 10**6, None))
    if level:
        assert "parallel d=2 dfs is about equal to it in time, and has a larger index" in text
    else:
        assert "Next comes sequential d=2 dfs, which takes 1.2 times as long." in text.replace("1.20", "1.2")


@pytest.mark.parametrize(("query", "best"), [(1.2, "dfs"), (1.5, "sequential")])
def test_with_a_trial_or_two_only_a_large_difference_counts(query, best):
    found = made(rows("sequential", 1.0, 1.0, 1, count=1), rows("dfs", 1.0, query, 0, count=1))
    assert advise(found, 10**6).best.impl == best


def test_nothing_noisy_is_taken_that_takes_longer_than_what_is_slower_than_the_best():
    """A noisy candidate with a small index was advised, and what came next took 0.75 times as long."""
    best, next_best = rows("parallel", 10.0, 1.0, 9000), rows("sequential", 10.0, 1.1, 8000)
    noisy = rows("core", 10.0, 1.5, 1000, noise=0.5)
    found = advise(made(best, next_best, noisy), 10**6)
    assert [option.impl for option in found.ratios] == ["parallel", "sequential", "core"]
    assert found.ratios[list(found.ratios)[2]].order == 0
    assert (found.best.impl, [option.impl for option in found.level]) == ("parallel", ["parallel"])


def test_of_equal_sizes_the_one_with_fewer_needs_is_taken():
    peer = rows("peer:pyreachability-bfl", 10.0, 1.0)
    assert advise(made(peer, rows("sequential", 10.0, 1.0)), 1000).best.impl == "sequential"


@pytest.mark.parametrize("status", ["wrong", "failed", "timeout", "out of memory", "skipped"])
def test_what_lost_on_one_query_set_never_wins_and_is_named(status):
    bad = [*rows("parallel", 0.1, 0.1), *lost(status, "the reason", impl="parallel", query_set="random-1000-s1")]
    found = advise(made(bad, SMALL), 1000)
    assert (found.best.impl, [option.impl for option in found.lost]) == ("sequential", ["parallel"])
    text = " ".join(view.sentences(found, [], 1000, None))
    assert ("parallel" in text) == (status == "wrong")
    left = shown(made(bad, SMALL), 1000, {"gpu": "no GPU"})
    assert [line[0] for line in left.lines] == ["sequential d=2 dfs"]
    assert any("parallel" in note and "the reason" in note for note in left.notes)
    assert any("gpu" in note and "no GPU" in note for note in left.notes)


def test_memory_bounds_the_peak_of_the_process_or_else_the_index():
    peaked = rows("sequential", 10.0, 1.0, 4000, host_peak_bytes=10**8)
    found = advise(made(peaked, LARGE), 1000, memory=10**7)
    assert (found.best.impl, [option.impl for option in found.too_large]) == ("parallel", ["sequential"])
    assert "sequential" not in {step.option.impl for step in found.steps}
    assert "bound on memory" in " ".join(view.sentences(found, [], 1000, None))
    with pytest.raises(InputError, match=r"parallel.*larger --memory"):
        advise(made(peaked, LARGE), 1000, memory=100)


def test_sizes_of_memory_are_read_or_refused():
    assert list(map(memory.parsed, ("4096", "500MB", "1.5 GiB", "2k"))) == [4096, 5 * 10**8, 3 << 29, 2000]
    for text in ("", "x", "0", "-1", "5 PB", "1e9", "9" * 30):
        with pytest.raises(InputError, match="no size of memory"):
            memory.parsed(text)


# ------------------------------------------------------------------ finalists


def test_finalists_are_the_cheapest_few_of_each_implementation_and_the_cheapest_for_other_numbers():
    many = [rows("sequential", 10.0 + d, 1.0 + d / 10, 1000, dim=d) for d in range(1, 9)]
    found = tournament.finalists(made(*many, SEARCH, LARGE, rows("bfs", 0.6, 110.0, 0)), 10_000)
    names = [(option.impl, option.cells[0].dim) for option in found]
    assert names[:2] == [("sequential", 1), ("sequential", 2)]
    assert {impl for impl, _ in names} == {"sequential", "dfs", "bfs", "parallel"}
    assert len(names) == 5


def test_a_bound_on_memory_lets_the_smallest_into_the_last_round():
    fast = [rows(f"i{i}", 1.0, 1.0 + i / 100, 4000 + i) for i in range(tournament.FINALISTS)]
    small, large = rows("dfs", 1.0, 100.0, 1), rows("bfs", 0.1, 0.1, 10**9)
    assert "dfs" not in {option.impl for option in tournament.finalists(made(*fast, small, large), 1000)}
    bounded = {option.impl for option in tournament.finalists(made(*fast, small, large), 1000, memory=10**6)}
    assert "dfs" in bounded
    assert "bfs" not in bounded


def test_those_out_of_time_get_more_of_it_while_few_have_finished(diamond, monkeypatch, tmp_path):
    plans = []

    def fake(plan, watching, folder, seconds):
        plans.append(plan)
        if len(plans) == 1:
            return made(lost("timeout", "5 s"), lost("timeout", "5 s", dim=3), SEARCH)
        return made(SMALL) if len(plans) == 2 else made(SMALL, SEARCH)

    monkeypatch.setattr(tournament, "_run", fake)
    monkeypatch.setattr(tournament, "_load_kernels", lambda plan: None)
    monkeypatch.setattr(tournament.os, "getloadavg", lambda: (0.0,))
    chosen, out = ("sequential", "dfs"), str(tmp_path / "run")
    outcome = tournament.hold(diamond, 1000, Watching, chosen=chosen, out=out, fetch=False)
    first, second, third, last = plans
    assert {cell.impl for cell in first.cells} == {"sequential", "dfs"}
    assert {(cell.impl, cell.dim) for cell in second.cells} == {("sequential", 2), ("sequential", 3)}
    assert [plan.cells[0].time_limit for plan in (first, second)] == [5.0, 20.0]
    assert {(cell.impl, cell.process) for cell in last.cells} == {("sequential", "own"), ("dfs", "own")}
    assert {cell.queries.name.partition("-")[0] for cell in last.cells} == {"random", "balanced"}
    assert [option.worst.status for option in outcome.dropped] == ["timeout"]
    assert third.cells[0].dim == 3


class Watching(Silent):
    """A watcher of a round."""

    def __enter__(self):
        return self

    def __exit__(self, *exc): ...


# ------------------------------------------------------------------ whole tournaments


@pytest.fixture
def advised(toys, diamond, monkeypatch, tmp_path, capsys):
    """Calls `grailbench advise diamond` with small rounds; gives exit code, stdout and stderr."""
    monkeypatch.setattr(tournament, "LAST_PAIRS", (1000,))
    monkeypatch.setattr(tournament, "TRIALS", (5, 5))

    def run(*words, graph=diamond):
        return call(capsys, "advise", graph, "--budget", 1, "--process", "shared", "--out", tmp_path / "run", *words)

    return run


@pytest.mark.slow
def test_a_tournament_ends_in_a_recommendation_with_its_evidence(advised, tmp_path, diamond):
    code, out, _ = advised("--impl", "dfs", "--impl", "toy:slow", "--impl", "toy:wrong", "--json")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    advice = records[-1]
    assert (advice["kind"], advice["graph"], advice["queries"]) == ("advice", diamond, 1_000_000)
    assert advice["implementation"] == "dfs"
    assert advice["pairs"] == "1,000 random and 1,000 balanced pairs"
    status = {each["configuration"]: each["status"] for each in records if each["kind"] == "candidate"}
    assert status["dfs"] == "ok"
    assert status["toy:wrong"] == "wrong"
    assert any("WRONG" in sentence and "toy:wrong" in sentence for sentence in advice["sentences"])
    since = [each["since"] for each in records if each["kind"] == "break-even"]
    assert since == sorted(since)
    assert since[0] == 0
    files = {path.name for path in (tmp_path / "run" / "figures").iterdir()}
    assert {"tradeoff-build.svg", "tradeoff-memory.csv"} <= files
    best = next(each for each in records if each.get("configuration") == "dfs")
    assert best["front"]
    assert best["cost_ms"] == pytest.approx(best["build_ms"] + best["query_ns"])  # a million ns are a ms


@pytest.mark.slow
def test_people_get_tables_sentences_and_three_lines_of_python_and_report_reads_the_rows(
    advised, diamond, capsys, tmp_path
):
    code, out, _ = advised("--impl", "dfs", "--impl", "toy:right", "--queries", 500, "--updates", 100)
    assert code == 0
    assert "take this" in out
    assert "500 queries with a change after every 100 are 5 builds" in out
    assert f"index = gb.build(gb.Graph.open('{diamond}'), 'dfs')" in out or "'toy:right'" in out
    code, out, _ = call(capsys, "report", tmp_path / "run")
    assert code == 0
    assert "toy:right" in out


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 10])
def test_pairs_of_a_file_are_asked_or_a_sample_of_them(advised, monkeypatch, tmp_path, most):
    monkeypatch.setattr(tournament, "LAST_PAIRS", (most,))
    (tmp_path / "mine.txt").write_text("0 3 1\n3 0 0\n4 5 1\n5 4\n6 6\n")
    code, out, _ = advised("--impl", "dfs", "--pairs", tmp_path / "mine.txt", "--json")
    assert code == 0
    asked = json.loads(out.splitlines()[-1])["pairs"]
    assert asked.startswith("3 of the 5 pairs of" if most == 3 else "5 pairs of")
    sample = tmp_path / "run" / f"pairs-{min(most, 5)}.txt"
    whole = [line.split() for line in (tmp_path / "mine.txt").read_text().splitlines()]
    asked = [line.split() for line in sample.read_text().splitlines()]
    assert len(asked) == min(most, 5)
    assert all(pair in whole for pair in asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--impl", "toy:wrong"), 3, "no candidate could be measured"),
        (("--impl", "toy:lacks"), 3, "needs a moon"),
        (("--memory", "1B", "--impl", "toy:right"), 2, "a larger --memory"),
        (("--memory", "much"), 2, "no size of memory"),
        (("--updates", "often"), 2, "--updates"),
        (("--impl", "dsf"), 2, "did you mean"),
        (("--gpu", "--impl", "dfs"), 2, "GPU"),
        (("--pairs", "nowhere.txt"), 2, "nowhere.txt"),
        (("--impl", "dfs", "--pairs", "mine.txt"), 2, "line 2"),
        (("diamonde",), 2, "diamonde"),
        (("empty-graph.gra",), 2, "no vertices"),
    ],
)
def test_what_cannot_be_advised_is_one_clear_error(advised, words, code, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("0 3\n0 7\n")  # of another graph
    (tmp_path / "empty-graph.gra").write_text("graph_for_greach\n0\n")
    named = {} if words[0].startswith("--") else {"graph": words[0]}
    found, out, err = advised(*words[len(named) :], **named)
    assert (found, out) == (code, "")
    assert says in err.splitlines()[-1]


def test_without_a_gpu_those_who_need_one_are_absent_and_asking_for_one_says_what_lacks(monkeypatch):
    def lacks():
        raise MachineLacks("no CUDA device")

    monkeypatch.setattr("grailbench.cuda.gateway.require", lacks)
    assert not any(name.startswith("gpu") for name in tournament.candidates()[0])
    for asked in ({"gpu": True}, {"chosen": ["gpu-fused"]}):
        with pytest.raises(MachineLacks, match="no CUDA device"):
            tournament.candidates(**asked)
    names, absent = tournament.candidates(["gpu-fused", "dfs"])
    assert (names, list(absent)) == (["dfs"], ["gpu-fused"])


def test_who_does_not_begin_with_edges_takes_no_part(toys, monkeypatch):
    monkeypatch.setattr(implementation("toy:other"), "from_edges", False)
    names, absent = tournament.candidates(["toy:other", "dfs"])
    assert (names, list(absent)) == (["dfs"], ["toy:other"])
    with pytest.raises(InputError, match="does not begin with edges in memory"):
        tournament.candidates(["toy:other"])


# ------------------------------------------------------------------ program


def test_the_program_says_what_differs_from_the_defaults_of_the_library():
    chosen, open_, single = made(
        rows("sequential", 1.0, 1.0, filters="level,tree", order="lexicographic"),
        rows("sequential", 1.0, 1.0),
        rows("parallel", 1.0, 1.0, order="lexicographic", threads=1, filters="level"),
    )
    assert program("kegg", chosen) == [
        "import grailbench as gb",
        "index = gb.build(gb.Graph.open('kegg'), 'sequential', d=2, filters='level,tree')",
        "index.reaches(u, v)",
    ]
    assert program("kegg", open_)[1].endswith("d=2, filters='none', order='random')")
    assert program("kegg", single)[1].endswith("d=2, filters='level', threads=1)")


@pytest.mark.parametrize("impl", ["sequential", "core"])
def test_the_program_runs_and_builds_what_was_measured(diamond, monkeypatch, impl):
    (option,) = made(rows(impl, 1.0, 1.0, dim=3, filters="level,tree", order="random", threads=None))
    built = []
    found = implementation(impl)
    monkeypatch.setattr(found, "build", classmethod(lambda cls, dag, params, timer, build=found.build: (
        built.append(params), build(dag, params, timer))[1]))  # fmt: skip
    for u, v, expected in ((0, 5, True), (3, 0, False)):
        *before, last = program(diamond, option)
        names = {"u": u, "v": v}
        exec("\n".join(before), names)
        assert eval(last, names) is expected
    if impl == "sequential":
        assert {(params.dim, params.filters, params.order) for params in built} == {(3, ("level", "tree"), "random")}
