"""Tables that set peers beside ours."""

import pytest
from stored import made
from tabled import ENVIRONMENT, parts, peer, peer_rows, rows

from grailbench.harness.cells import cells
from grailbench.report import document
from grailbench.report.page import page as page_of
from grailbench.report.papers import peers


def test_peer_ratio_is_ours_by_theirs_and_its_mean_geometric():
    frame = peer_rows("kegg", 1.0, 2.0) + peer_rows("human", 1.0, 8.0)
    (comparison,) = peers.compare(cells(frame))
    assert [p.ratio("query") for p in comparison.pairs] == [0.5, 0.125]
    assert comparison.geometric_mean("query") == (pytest.approx(0.25), 2)
    assert comparison.worst("query") == (0.5, "kegg")
    assert comparison.geometric_mean("ready") == (None, 0)


def test_a_graph_that_only_the_peer_managed_counts_against_us():
    lost = peer_rows("human", 1.0, 8.0)
    lost[0] |= {"status": "failed", "ms": None}
    (comparison,) = peers.compare(cells(peer_rows("kegg", 1.0, 1.0) + lost))
    assert comparison.geometric_mean("query") == (pytest.approx(10.0**0.5), 1)


def test_peers_are_compared_by_medians():
    frame = rows(ms=(1.0, 1.0, 100.0)) + rows(impl="peer:x", search=None, ms=(2.0, 2.0, 2.0))
    (comparison,) = peers.compare(cells(frame))
    assert comparison.pairs[0].ratio("query") == 0.5


def test_a_program_is_compared_as_peers_are():
    frame = rows(ms=(1.0, 1.0, 1.0)) + rows(impl="program:x", search=None, ms=(2.0, 2.0, 2.0))
    (comparison,) = peers.compare(cells(frame))
    assert comparison.theirs.startswith("program:x")
    assert comparison.pairs[0].ratio("query") == 0.5


def test_look_alikes_are_compared_with_peers_apart():
    frame = peer_rows("kegg", 1.0, 2.0) + peer_rows("kegg-like", 1.0, 8.0)
    assert [(c.like, len(c.pairs)) for c in peers.compare(cells(frame))] == [(False, 1), (True, 1)]


def test_run_without_peers_has_no_peers_table():
    assert peers.compare(cells(rows())) == []


def test_wrong_peer_has_no_ratio_and_is_named():
    bad = rows("kegg", "peer:pyreachability-GRAIL", search=None, filters=None, ms=(None,), status="wrong")
    (comparison,) = peers.compare(cells(rows() + bad))
    assert comparison.pairs[0].ratio("query") is None
    assert "peer:pyreachability-GRAIL wrong" in parts(peers.table(comparison))[1][0][0]


def test_a_peer_is_set_against_ours_with_as_many_label_pairs_and_no_others():
    ours = rows(dim=2, ms=(2.0,)) + rows(dim=5, ms=(5.0,))
    found = peers.compare(cells(ours + peer(dim=5, ms=(10.0,)) + peer(dim=2, ms=(10.0,))))
    assert {(c.ours.split()[1], c.theirs.split()[1]): c.pairs[0].ratio("query") for c in found} == {
        ("d=5", "d=5"): 0.5, ("d=2", "d=2"): 0.2,
    }  # fmt: skip


@pytest.mark.parametrize(("threads", "said"), [(None, "one thread each"), (4, "ours on one thread, theirs on 4")])
def test_the_heading_says_queries_and_threads(threads, said):
    (found,) = peers.compare(cells(rows() + peer("bfl", dim=None, threads=threads)))
    assert f"(random-100000-s1, {said};" in peers.heading(found)


def test_a_peer_without_a_cell_of_ours_like_it_is_named_and_paired_with_nothing():
    report = document.make(made(rows(dim=2) + peer(dim=5), ENVIRONMENT))
    assert report.part("peers") == []
    (said,) = report.unpaired
    assert "peer:pyreachability-grail d=5 on kegg is compared with nothing" in said
    assert "d=5 on random-" in said
    assert said in document.as_markdown(report)
    assert said in list(document.show(report))
    assert said in page_of(report)


def test_a_peer_without_label_pairs_is_set_against_ours_with_two_or_else_the_fewest():
    for dims, shown in (((5, 2, 1), 2), ((5, 3), 3)):
        frame = [row for dim in dims for row in rows(dim=dim)] + peer("bfl", dim=None)
        assert [c.ours for c in peers.compare(cells(frame))] == [f"sequential d={shown} dfs"]


def test_peers_are_compared_on_the_same_queries_only():
    small, large, even = "random-1000-s1", "random-100000-s1", "balanced-1000-s1"
    ours = rows(query_set=small, ms=(1.0,)) + rows(query_set=large, ms=(100.0,)) + rows(query_set=even, ms=(3.0,))
    theirs = peer(query_set=large, ms=(50.0,)) + peer(query_set=even, ms=(1.0,))
    measured = cells(ours + theirs)
    found = peers.compare(measured)
    assert {c.query_set: c.pairs[0].ratio("query") for c in found} == {large: 2.0, even: 3.0}
    assert peers.unpaired(measured, found) == []
    lonely = cells(rows(query_set=small) + theirs)
    assert peers.compare(lonely) == []
    assert len(peers.unpaired(lonely, [])) == 2
