"""What papers say of their results in words: judged by their own tables, and by the cells of a run."""

import pytest
from stored import made, trials, unguided

from grailbench.harness.cells import read
from grailbench.harness.folder import recorded_runs
from grailbench.problems.contract import PROBLEMS
from grailbench.report import document, published
from grailbench.report.papers.claims import UNKNOWN, Claim, claims, table
from grailbench.report.values import Expression

#: read off the thesis by eye: its text and its tables disagree
ERRATA = {
    "small sparse graphs have a degree of less than 1.5",
    "searches cut by labels take less time than pure DFS",
    "sequential BFS is slightly slower than DFS",
    "the first two phases take almost half of it",
    "the ratio of subtree sizes of the tree to the DAG's is greater than 80 to 85 %",
    "dense graphs are within 270 to 400 ms",
    "on dense graphs the first two phases take 40 to 50 %",
    "the edge recomputation of cit-Patents takes over one third",
    "overhead there is only 5 %",
    "100,000 queries take less than 100 ms, except on amaze and kegg",
    "the GPU searches almost 20 % of the queries of amaze and kegg",
    "75 to 90 % of the queries are discarded by the filter",
    "dense graphs are within 300 to 700 ms, except citeseer",
    "pure DFS takes two to ten times as long on pubmed and citeseer",
    "on cit-Patents it is slightly faster than sequential BFS",
}


@pytest.mark.parametrize("paper", ["thesis", "computation", "slides", "report"])
def test_each_claim_is_about_printed_cells_or_cells_and_has_a_bound(paper):
    for claim in claims(paper):
        known = {column for name in claim.tables for column in published.table(name).values}
        rows = {graph for name in claim.tables for graph in published.table(name).rows}
        if not claim.tables:
            assert Expression.parse(claim.value, {}).parts
            assert claim.problem in PROBLEMS
        else:
            assert {each for part in claim.value.split(" / ") for each in part.split(" + ")} <= known
            assert {*claim.graphs, *claim.base} <= rows
        assert claim.low > 0 or claim.high < float("inf")


def test_the_text_and_the_tables_of_the_thesis_disagree_where_they_do():
    found = {each.says: each.verdict(each.printed()) for each in claims("thesis") if each.tables}
    assert {says for says, verdict in found.items() if verdict.startswith("not confirmed")} == ERRATA
    assert found["almost 50 % of the queries of uniprotenc_150 go to the GPU"] == UNKNOWN  # that row is an erratum


@pytest.mark.parametrize(("claim", "found", "verdict"), [
    ({"high": 2.0}, {"kegg": 1.0, "amaze": 2.0}, "confirmed"),
    ({"high": 2.0}, {"kegg": 1.0, "amaze": 2.1}, "not confirmed"),
    ({"low": 1.5, "share": 0.5}, {"kegg": 1.0, "amaze": 2.1}, "confirmed"),
    ({"low": 1.5}, {"kegg": 1.6, "amaze": None}, "confirmed (1 of 2 graphs)"),
    ({"low": 1.5}, {"kegg": None}, UNKNOWN),
])  # fmt: skip
def test_a_verdict_follows_from_the_values(claim, found, verdict):
    assert Claim("1", "x", "Total", **claim).verdict(found) == verdict


def test_a_run_judges_what_it_measured():
    run = made([*trials(query=4.0), *unguided(query=8.0), *trials(impl="parallel", threads=2, query=2.0)])
    (found,) = [each for each in document.make(run).shown if each.name == "claims-thesis"]
    records = {each["claim"]: each for each in found.records}
    pure = records["searches cut by labels take less time than pure DFS"]
    assert (pure["measured_least"], pure["measured_verdict"]) == (2.0, "confirmed (1 of 19 graphs)")
    few = records["parallel DFS is 2 to 6 times as fast as sequential in most tests"]
    assert few["measured_verdict"] == UNKNOWN  # two threads cannot tell
    assert records["dense graphs are within 270 to 400 ms"]["measured_verdict"] == UNKNOWN
    judged = [each for each in found.records if each["measured_verdict"] != UNKNOWN]
    assert len(found.lines) == len(judged) < 25, "a small run shows what it can judge"
    others = len(claims("thesis")) - len(judged)
    assert f"This run cannot tell of {others} more claims." in found.notes


def test_what_a_run_lacks_to_judge_a_claim_is_named():
    run = made([*trials(query=4.0), *unguided(query=8.0), *trials(impl="parallel", threads=2, query=2.0)])
    lacks = {each["claim"]: each["measured_lacks"] for each in table("thesis", run.cells).records}
    assert lacks["searches cut by labels take less time than pure DFS"] is None
    assert lacks["parallel DFS is 2 to 6 times as fast as sequential in most tests"] == "no cell of 4 threads"
    assert lacks["sequential BFS is slightly slower than DFS"] == "no Sequential BFS"
    assert lacks["it is the most expensive phase of cit-Patents"] == "nothing on cit-patents"
    assert lacks["searches in groups of 32 take twice as long as in groups of 64"] == "no cell of 'gpu-32'"


def test_a_run_without_the_thesiss_programs_has_no_claims_of_it():
    assert "claims-thesis" not in {each.name for each in document.make(made(trials(impl="core"))).shown}
    assert (len(table("thesis", []).records), table("thesis", []).lines) == (len(claims("thesis")), [])


@pytest.mark.slow
def test_the_slides_are_judged_by_the_recorded_searches():
    shown = {each.name: each for each in document.make(read(recorded_runs()["h200/traversal"])).shown}
    found = {each["claim"]: each["measured_verdict"] for each in shown["claims-slides"].records}
    assert found["blocked Floyd-Warshall has a massive improvement"] == "confirmed"
    assert found["the GPU is 95 times as fast as the CPU on graph 5"] == UNKNOWN  # it is in no recorded run
    assert "claims-report" not in shown
