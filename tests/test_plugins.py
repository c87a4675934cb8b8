"""Plug-ins: their distribution, version and files stand in every run, and count as code; theirs is never 'ours'."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from compared import HERE, cell, steady
from outcomes import as_json, succeeds, tells
from planned import ran
from stored import trials

from grailbench.compare import costs, history
from grailbench.harness import folder as results
from grailbench.harness import pack, plugins
from grailbench.harness.cells import Run, cells, load
from grailbench.problems import contract
from grailbench.report import cite, rankings
from grailbench.util import paths

CODE = """
from grailbench.problems.reachability.index import Implementation
from toys import Toy


class Mine(Implementation):
    name = "mine"
    source = "a plug-in"

    @classmethod
    def build(cls, dag, params, timer):
        return Toy(dag)
"""


def git(folder, *words):
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Installs a distribution `its-mine` 0.2 with package `mine_package`, and returns its implementation, registered.

    editable  the package stays in a folder of its own, which the distribution does not list
    """
    contract.implementations()

    def install(editable=False, helper="x = 1\n"):
        site, project = tmp_path / "site", tmp_path / "project"
        package = (project if editable else site) / "mine_package"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("")
        (package / "index.py").write_text(CODE)
        (package / "helper.py").write_text(helper)
        facts = site / "its_mine-0.2.dist-info"
        facts.mkdir(parents=True, exist_ok=True)
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: its-mine\nVersion: 0.2\n")
        (facts / "entry_points.txt").write_text(f"[{contract.ENTRY_POINTS}]\nmine = mine_package.index:Mine\n")
        files = ["mine.pth"] if editable else [f"mine_package/{each.name}" for each in package.glob("*.py")]
        (facts / "RECORD").write_text("".join(f"{name},,\n" for name in [*files, "its_mine-0.2.dist-info/METADATA"]))
        for folder in (site, project):
            monkeypatch.syspath_prepend(folder)
        for name in ("mine_package", "mine_package.index"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        found = importlib.import_module("mine_package.index").Mine
        monkeypatch.setitem(contract._registry["reachability"], "mine", found)
        return found

    return install


@pytest.fixture
def measured(diamond, tmp_path, monkeypatch):
    """Runs `mine` on the diamond, from a clean checkout of grailbench; returns the folder."""
    monkeypatch.setattr("grailbench.harness.environment.commit_state", lambda: ("c" * 40, False))

    def measure(name="run"):
        block = {"datasets": [diamond], "implementations": ["mine", "dfs"], "count": 20, "trials": 1, "warmup": 0}
        return ran(tmp_path / name, block).folder

    return measure


# ------------------------------------------------------------------ what is known of it


def test_an_installed_plugin_is_known_by_its_version_and_files(plugin):
    found = plugin()
    fact = plugins.facts([found])["reachability/mine"]
    assert {**fact, "files": ""} == {
        "source": "a plug-in", "distribution": "its-mine", "version": "0.2", "editable": False, "files": "",
    }  # fmt: skip
    assert plugins.named(found) == "its-mine 0.2"
    assert not plugins.unclean(fact)
    assert plugins.facts([contract.implementation("dfs"), contract.implementation("core")]) == {}
    assert plugins.source_hash(plugin(helper="x = 2\n")) != fact["files"], (
        "a module beside that of the class is code too"
    )


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("ignored by another repository", "its-mine 0.2 (editable, of no commit)"),
        ("changed", " with changes)"),
        ("another module", " with changes)"),
        ("clean", ""),
    ],
)
def test_editable_code_is_clean_only_as_committed(plugin, tmp_path, state, said):
    """A run with 'pip install -e' code that nobody else has was said to be from clean commits."""
    plugin(editable=True)
    project = tmp_path / "project"
    root = tmp_path if state.startswith("ignored") else project
    (root / ".gitignore").write_text("project\nsite\n" if root is tmp_path else "__pycache__\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    if state == "another module":
        (project / "new.py").write_text("x = 1\n")
    if state == "clean":
        (project / "notes.txt").write_text("a run's output is no code\n")
    found = plugin(editable=True, helper="x = 2\n" if state == "changed" else "x = 1\n")
    session = {"commit": "c" * 40, "dirty": False, "implementations": plugins.facts([found])}
    assert session["implementations"]["reachability/mine"]["editable"]
    assert pack.clean(session) is (not said)
    assert (said in pack.doubt(session), bool(pack.doubt(session))) == (True, bool(said))


# ------------------------------------------------------------------ where it stands


def test_rows_environment_pack_and_citation_name_the_distribution(plugin, measured, capsys, tmp_path, monkeypatch):
    plugin()
    folder = measured()
    rows = results.read_rows(folder)[0]
    assert {(row["impl"], row.get("distribution")) for row in rows} == {("mine", "its-mine 0.2"), ("dfs", None)}
    assert list(results.read_environment(folder)["implementations"]) == ["reachability/mine"]
    out, _ = succeeds(capsys, "pack", folder, "--out", tmp_path / "a.pack.zip")
    assert "its-mine 0.2" in out
    assert out.partition("\nclean ")[2].lstrip().startswith("yes\n")
    assert load(tmp_path / "a.pack.zip").cells[0].distribution == "its-mine 0.2"
    monkeypatch.delitem(contract._registry["reachability"], "mine")  # as where it is not installed
    found = cite.of_run(str(folder))
    (entry,) = [each for each in found.entries if each.fields["title"] == "mine"]
    assert (entry.kind, entry.fields["version"], entry.fields["note"]) == ("software", "its-mine 0.2", "a plug-in")
    assert "Plug-in its-mine 0.2." in found.environment


def test_a_run_with_editable_code_of_no_commit_is_not_recorded(plugin, measured, capsys, tmp_path, monkeypatch):
    plugin(editable=True)
    folder = measured()
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    tells(capsys, 2, "plug-in its-mine 0.2 (editable, of no commit), so nobody can repeat it",
          "record", folder, "mine", "--unstable")  # fmt: skip
    (packed,) = as_json(capsys, "pack", folder, "--out", tmp_path / "a.pack.zip")
    assert (packed["clean"], packed["plugins"]) == (False, ["its-mine 0.2 (editable, of no commit)"])


def test_cells_of_changed_plugin_code_are_measured_anew(plugin, measured):
    """Trials of a plug-in whose helper module had changed were added to those of the old code."""
    plugin()
    keys = {row["impl"]: row["key"] for row in results.read_rows(measured("a"))[0]}
    plugin(helper="x = 2\n")
    again = {row["impl"]: row["key"] for row in results.read_rows(measured("b"))[0]}
    assert (keys["dfs"] == again["dfs"], keys["mine"] == again["mine"]) == (True, False)


# ------------------------------------------------------------------ ours and others


def test_a_plugin_is_not_ours_in_a_ranking():
    """The best of a third party's plug-in stood in the column 'ours'."""
    theirs = {"impl": "mine", "dim": None, "search": None, "filters": None, "order": None, "index_bytes": 9,
              "distribution": "its-mine 0.2"}  # fmt: skip
    rows = [*trials(query=2.0, index_bytes=9), *trials(query=1.0, **theirs),
            *trials(query=4.0, **theirs | {"impl": "peer:a", "distribution": None})]  # fmt: skip
    table = next(each for each in rankings.rivals(cells(rows)) if each.name.startswith("rivals-random"))
    line = dict(zip(table.headers, table.lines[0], strict=True))
    assert (line["ours, one thread"], line["who"], line["ratio"]) == ("20.1‡", "mine", "2.00‡")
    swept = trials(query=9.0, label=0.1, **theirs | {"impl": "sweep", "index_bytes": 0, "distribution": None})
    assert [each.cell.ours for each in costs.against_sweep(cells(rows + swept))] == [True, False, False]


# ------------------------------------------------------------------ history


def runs(*facts, commit="a" * 40, code="0.1+x", dirty=False, impl="mine", distribution="its-mine 0.2"):
    """Two runs of one commit, the second twice as slow, in which these facts of the plug-in stand."""
    out = []
    for i, fact in enumerate(facts):
        rows = cell(impl, ms=steady(10.0 * (i + 1), (0, i)), at=f"2026-01-0{i + 1}T00:00:00")
        rows = [row | ({"distribution": distribution} if distribution else {}) for row in rows]
        environment = {"fingerprint": HERE, "commit": commit, "dirty": dirty,
                       "code": code if isinstance(code, str) else code[i]}  # fmt: skip
        said = {} if fact is None else {"implementations": {f"reachability/{impl}": fact}}
        out.append(Run(Path(f"r{i}"), environment | said, rows))
    return out


def codes(found):
    """The code on both sides of what is marked; None if the runs are one point."""
    marks = [mark for mark in history.of_runs(found, phases=["query"]).marks if mark.kind == "time"]
    return (marks[0].before.code, marks[0].after.code) if marks else None


def fact(version="0.2", files="1a2b3c4d5e6f7a8b"):
    return {"distribution": "its-mine", "version": version, "files": files, "editable": False}


def test_code_of_a_plugin_counts_as_code():
    """History said that the machine or its load had changed, where the code of the plug-in had."""
    assert codes(runs(fact(), fact())) is None
    assert codes(runs(fact(), fact("0.3", "9" * 16))) == (
        "aaaaaaa, its-mine 0.2 1a2b3c4", "aaaaaaa, its-mine 0.3 9999999",
    )  # fmt: skip
    assert codes(runs(None, fact())) == ("aaaaaaa, mine unknown", "aaaaaaa, its-mine 0.2 1a2b3c4")
    assert codes(runs(None, None)) == ("aaaaaaa, mine unknown", "aaaaaaa, mine unknown")
    program = {"files": "1" * 16}, {"files": "2" * 16}
    assert codes(runs(*program, impl="program:x", distribution=None)) == (
        "aaaaaaa, program:x 1111111", "aaaaaaa, program:x 2222222",
    )  # fmt: skip


def test_uncommitted_changes_of_one_commit_are_other_code():
    """Two runs of one commit with unlike changes were called the same code."""
    own = {"impl": "dfs", "distribution": None, "dirty": True}
    assert codes(runs(None, None, **own)) is None
    assert codes(runs(None, None, code=("0.1+x", "0.1+y"), **own)) == ("aaaaaaa+", "aaaaaaa+")
