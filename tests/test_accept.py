"""`compare --accept`: the new baseline is whole or the old one is, and nothing worse than it may be is taken."""

import os

import pytest
from commands import call
from compared import cell, steady, writer
from test_provenance import a_run, checkout, session  # noqa: F401 - fixtures

from grailbench.compare import runs as compare
from grailbench.harness import folder as results
from grailbench.harness import provenance

SLOW = {"ms": steady(20.0, 1), "counters": {"edges_scanned": 2000, "excluded_by_labels": 60}}


class Killed(BaseException):
    """Ends the process at once, as far as the code under test can tell."""


@pytest.fixture
def stored(tmp_path):
    return writer(tmp_path)


def content(folder):
    return {file: results.content(folder, file) for file in results.FILES}


def test_an_accepted_run_is_the_baseline_though_it_is_slower_and_those_before_are_kept(capsys, stored):
    base, new = stored("base", cell()), stored("new", cell(**SLOW))
    (base / "gate.toml").write_text("ratio = 1.2\n")
    (base / "report").mkdir()
    old = content(base)
    code, out, err = call(capsys, "compare", base, new, "--accept")
    assert (code, "SLOWER" in out, "MORE WORK" in out) == (0, True, True)
    assert f"accepted: {base} is a copy of {new} now" in err
    assert "its 2 regressions from the old baseline will not be reported again" in err
    assert content(base) == content(new)
    assert content(provenance.beside(base, ".before")) == old
    assert (base / "gate.toml").exists()
    assert not (base / "report").exists()
    assert {path.name for path in base.parent.iterdir()} == {"base", "new", "base.before"}
    code, out, _ = call(capsys, "compare", base, new)
    assert (code, out.splitlines()[-1]) == (0, "no regression")
    third = stored("third", cell(ms=steady(5.0)))
    assert call(capsys, "compare", base, third, "--accept")[0] == 0
    assert content(base) == content(third)
    assert content(provenance.beside(base, ".before")) == old
    assert content(provenance.beside(base, ".before-2")) == content(new)


@pytest.mark.parametrize("at", range(3))
def test_killed_between_its_writes_leaves_the_old_or_the_new_baseline_whole(capsys, monkeypatch, stored, at):
    base, new, third = stored("base", cell()), stored("new", cell(**SLOW)), stored("third", cell(ms=steady(5.0)))
    assert call(capsys, "compare", base, new, "--accept")[0] == 0
    real, calls = os.replace, []

    def replace(source, target):
        if len(calls) == at:
            raise Killed
        calls.append(target)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(Killed):
        provenance.accept(base, third)
    monkeypatch.setattr(os, "replace", real)
    code, _, err = call(capsys, "compare", base, third)
    assert code == 0
    assert content(base) in (content(new), content(third))
    assert ("accepted before" in err) == (at == 2)
    assert call(capsys, "compare", base, third, "--accept")[0] == 0
    assert content(base) == content(third)


def test_a_disk_that_refuses_leaves_the_old_baseline(capsys, monkeypatch, stored):
    base, new = stored("base", cell()), stored("new", cell(**SLOW))
    old = content(base)

    def refuse(*names, **how):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grailbench.harness.provenance._stored", refuse)
    code, _, err = call(capsys, "compare", base, new, "--accept")
    assert (code, "No space left" in err, "make room" in err) == (4, True, True)
    assert content(base) == old


@pytest.mark.parametrize(
    ("cells", "code", "why"),
    [
        ([cell("dfs")], 1, "1 cell not in it: kegg sequential"),
        ([cell("dfs"), cell(status="timeout")], 1, "1 cell lost: kegg sequential d=2 dfs (planted)"),
        ([cell("dfs"), cell(status="wrong")], 1, "1 cell wrong in it: kegg sequential"),
        ([cell("dfs"), cell(), cell("gpu", status="failed")], 1, "1 cell failed in it: kegg gpu"),
        ([cell("dfs"), cell(planned=30)], 1, "1 cell incomplete in it"),
        ([cell("dfs"), cell(checksum="other")], 1, "answers differ"),
        ([cell(dataset="human")], 3, "nothing is accepted"),
    ],
)
def test_a_run_that_is_worse_than_a_baseline_may_be_is_refused(capsys, stored, cells, code, why):
    base, new = stored("base", cell("dfs"), cell()), stored("new", *cells)
    old = content(base)
    found, _, err = call(capsys, "compare", base, new, "--accept")
    assert (found, why in err) == (code, True), err
    assert content(base) == old
    assert not provenance.beside(base, ".before").exists()


def test_a_damaged_run_and_the_baseline_itself_are_refused(capsys, stored):
    base, new = stored("base", cell()), stored("new", cell())
    assert "is the baseline already" in call(capsys, "compare", base, base, "--accept")[2]
    with open(new / results.ROWS, "a") as stream:
        stream.write('{"run": "r", "data')
    code, _, err = call(capsys, "compare", base, new, "--accept")
    assert (code, "cut short" in err, "--resume=" in err) == (2, True, True)


def test_a_cell_that_was_lost_in_both_is_no_hindrance(stored):
    lost = cell("gpu", status="timeout")
    base, new = stored("base", cell(), lost), stored("new", cell(), lost)
    assert provenance.accept(base, new)
    assert not compare.of_runs(base, new).of("regression")


# ------------------------------------------------------------------ among the recorded runs


def test_a_recorded_baseline_is_recorded_anew_with_the_checks_of_record(capsys, checkout, a_run):  # noqa: F811
    folder = a_run(session("c1"), rows=cell())
    assert call(capsys, "record", folder, "here/mine")[0] == 0
    kept = checkout / "results" / "baselines" / "here" / "mine"
    a_run(session("c2", dirty=True), rows=cell(ms=steady(5.0)))
    code, _, err = call(capsys, "compare", kept, folder, "--accept")
    assert (code, "commit c2 with changes" in err) == (2, True)
    a_run(session("c3", code="0.1.0+ccc"), rows=cell(ms=steady(5.0)))
    code, _, err = call(capsys, "compare", kept, folder, "--accept")
    assert (code, "is recorded as here/mine" in err) == (0, True)
    assert content(kept) == content(folder)
    assert provenance.manifest()["here/mine"]["codes"] == {"0.1.0+ccc": ["c3"]}
    assert [path.name for path in kept.parent.iterdir()] == ["mine"]
