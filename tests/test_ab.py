"""Two commits run from their own trees in turns, a planted slowdown is found, and nothing is left behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import PATIENCE, call, call_apart

from grailbench.compare import runs as compare
from grailbench.compare.runs import Gate
from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness.ab import LOG, Revision, ab, commit_of, repository, require_its_code
from grailbench.util import paths

ROOT = Path(__file__).parents[1]
PACKAGE = ("grailbench", "configs", "datasets", "pyproject.toml", ".gitignore")
#: in place of the clock of trials, which only what is planted moves; a millisecond passes from look to look
CLOCK = """

class _Clock:
    ns = 0

    def __call__(self):
        self.ns += 1_000_000
        return self.ns


perf_counter_ns = _Clock()
"""
SLOWER = "        from grailbench.harness import timing; timing.perf_counter_ns.ns += 10_000_000  # planted\n"
FLAGS = {"datasets": ["diamond"], "implementations": ["dfs"], "count": 20, "trials": 9, "warmup": 0}


def git(repo, *words):
    done = subprocess.run(["git", "-C", str(repo), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(repo, message):
    git(repo, "add", "-A")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    git(repo, *who, "commit", "-q", "-m", message)


def plant(repo, text):
    """Put a line at the start of the body of `dfs`'s query_batch."""
    path = repo / "grailbench" / "problems" / "reachability" / "cpu" / "unguided.py"
    lines = path.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if "def query_batch" in line) + 2  # after its docstring
    path.write_text("".join([*lines[:at], text, *lines[at:]]))


@pytest.fixture(scope="module")
def repo(diamond, tmp_path_factory):
    """A git repository of this package with the tags `fast` and `slow` (10 ms a batch more), clean on `slow`. Its clock
    is `CLOCK`: how busy the machine is changes no time."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    folder = tmp_path_factory.mktemp("repo")
    for name in PACKAGE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    with open(folder / "grailbench" / "harness" / "timing.py", "a") as timing:
        timing.write(CLOCK)
    git(folder, "init", "-q")
    commit(folder, "fast")
    git(folder, "tag", "fast")
    plant(folder, SLOWER)
    commit(folder, "slow")
    git(folder, "tag", "slow")
    return folder


@pytest.fixture
def plain_python(monkeypatch):
    """Children run kernels as plain Python: nothing to compile on a graph of 7 vertices."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")


def worktrees_of(repo):
    return git(repo, "worktree", "list", "--porcelain").count("worktree ")


def test_a_slower_commit_is_found_and_the_sides_take_turns(repo, diamond, plain_python, tmp_path):
    notes, changed = [], repo / "pyproject.toml"
    changed.write_text(changed.read_text() + "# changed\n")
    a, b = ab(("fast", "slow"), FLAGS, 3, notes.append, out=tmp_path, fetch=False, repo=repo)
    git(repo, "checkout", "-q", changed)
    assert any("not committed" in note for note in notes)
    found = compare.of_runs(a, b, Gate(metrics=["query"]))
    assert [(each.label, each.verdict) for each in found.times] == [("dfs", "regression")]
    assert found.times[0].ms == pytest.approx(10.0)
    assert found.exit_code == 1
    for folder, tag in ((a, "fast"), (b, "slow")):
        env = results.read_json(folder / results.ENVIRONMENT)
        assert (env["commit"], env["dirty"]) == (git(repo, "rev-parse", tag), False)
        rows = [row for row in results.read_rows(folder)[0] if row["phase"] == "query"]
        assert [row["trial"] for row in rows] == list(range(9))
    sides = [note.split(": ")[1][0] for note in notes if note.startswith("round")]
    assert "".join(sides) == "ABBAAB"
    ends = {side: [row["at"] for row in results.read_rows(folder)[0]] for side, folder in (("A", a), ("B", b))}
    assert ends["A"][0] < ends["B"][0] < ends["A"][-1] < ends["B"][-1]
    assert worktrees_of(repo) == 1


@pytest.mark.parametrize(
    ("revision", "flags", "says"),
    [
        ("no-such-branch", FLAGS, "no revision"),
        ("--upload-pack=x", FLAGS, "no revision"),
        ("slow", FLAGS | {"datasets": ["no-such-graph"]}, "no dataset|unknown|named"),
        ("slow", {"config": "no-such-config"}, "no config"),
        ("slow", FLAGS, "contains a run already"),
    ],
)
def test_what_cannot_be_compared_is_bad_input_before_any_tree_is_made(repo, diamond, tmp_path, revision, flags, says):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / results.PLAN).write_text("{}")
    with pytest.raises(InputError, match=says):
        ab(("fast", revision), flags, 3, print, out=tmp_path, repo=repo)
    assert worktrees_of(repo) == 1


def test_a_revision_without_the_package_and_an_installed_package_are_bad_input(repo, monkeypatch, tmp_path):
    empty = git(repo, "-c", "user.name=t", "-c", "user.email=t@e", "commit-tree", "-m", "x", git(repo, "mktree"))
    with pytest.raises(InputError, match="nothing in it can be run"):
        commit_of(repo, empty)
    with pytest.raises(InputError, match="not a git checkout"):
        repository(tmp_path)
    monkeypatch.setattr(paths, "checkout", lambda: None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="run it in a git checkout"):
        repository()


def test_commits_of_a_repository_without_code_of_the_run_are_refused_in_one_line(repo, tmp_path, monkeypatch, capsys):
    (tmp_path / "below").mkdir()
    (tmp_path / "notes.txt").write_text("")
    git(tmp_path, "init", "-q")
    commit(tmp_path, "first")
    monkeypatch.chdir(tmp_path / "below")
    code, out, err = call(capsys, "ab", "HEAD", "HEAD", "--dataset", "diamond", "--impl", "dfs")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{tmp_path}: revision 'HEAD' has no grailbench/cli/main.py, so nothing in it can be run" in err
    monkeypatch.chdir(repo / "grailbench")
    assert repository() == repo


PLUGIN = """
from grailbench.problems.reachability.index import Implementation
from toys import Toy


class Counted(Toy):
    def query_batch(self, sources, targets, timer):
        answers = super().query_batch(sources, targets, timer)
        self.counters["asked"] *= {factor}
        return answers


class Mine(Implementation):
    name = "mine"
    source = "tests"
    counts = ("asked",)

    @classmethod
    def build(cls, dag, params, timer):
        return Counted(dag)
"""


@pytest.mark.parametrize("folder", [".", "src"])
def test_two_commits_of_a_plugin_are_compared_in_its_own_repository(folder, diamond, tmp_path, monkeypatch):
    """'ab HEAD~1 HEAD' there compared grailbench's own commits, and then refused to."""
    project, site = tmp_path / "project", tmp_path / "site" / "its_mine-0.2.dist-info"
    (project / folder).mkdir(parents=True)
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: its-mine\nVersion: 0.2\n")
    (site / "entry_points.txt").write_text("[grailbench.implementations]\nmine = its_mine:Mine\n")
    git(project, "init", "-q")
    for factor in (1, 2):
        (project / folder / "its_mine.py").write_text(PLUGIN.format(factor=factor))
        commit(project, f"times {factor}")
    env = {"PYTHONPATH": os.pathsep.join(map(str, (project / folder, site.parent, ROOT / "tests", ROOT)))}
    flags = ("--dataset", "diamond", "--impl", "mine", "--count", "20", "--trials", "2")
    monkeypatch.chdir(project)
    code, out, _ = call_apart("ab", "HEAD~1", "HEAD", *flags, "--out", tmp_path / "out", "--json", **env)
    (work,) = [record for record in map(json.loads, out.splitlines()) if record.get("counter") == "asked"]
    assert (code, work["base"], work["new"], work["verdict"]) == (1, 20, 40, "regression")
    found = [results.read_environment(tmp_path / "out" / side)["implementations"]["reachability/mine"] for side in "ab"]
    assert [each["commit"] for each in found] == [git(project, "rev-parse", each) for each in ("HEAD~1", "HEAD")]
    assert worktrees_of(project) == 1


@pytest.mark.parametrize("fact", [{"distribution": "its-mine", "version": "0.2", "editable": False}, {"files": "1"}])
def test_a_run_of_other_code_than_that_of_the_commit_is_no_side(tmp_path, fact):
    side = Revision("A", "main", "c" * 40, tmp_path, tmp_path, tmp_path)
    with pytest.raises(InputError, match="A .main, cccccccccccc.: (its-mine 0.2|no plug-in) was imported instead"):
        require_its_code(side, {"commit": "c" * 40, "implementations": {"reachability/mine": fact}})


def test_a_side_that_cannot_run_says_why_and_leaves_no_tree(repo, diamond, plain_python, tmp_path):
    (repo / "grailbench" / "cli" / "run.py").write_text("import no_such_module\n")
    commit(repo, "broken")
    with pytest.raises(InputError, match="B .*exit code 1: .*No module named 'no_such_module'"):
        ab(("fast", "HEAD"), FLAGS, 2, lambda text: None, out=tmp_path, fetch=False, repo=repo)
    assert worktrees_of(repo) == 1


CHILD = """
import sys
from pathlib import Path
from grailbench.harness.ab import ab
from grailbench.errors import GrailbenchError
flags = {"datasets": ["diamond"], "implementations": ["dfs"], "count": 20, "trials": 100000}
try:
    ab(("fast", "slow"), flags, 2, print, out=sys.argv[2], fetch=False, repo=Path(sys.argv[1]))
except GrailbenchError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def test_interrupt_ends_the_child_and_removes_the_trees(repo, diamond, plain_python, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", CHILD, str(repo), str(tmp_path / "out")]
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    log = tmp_path / "out" / "a" / results.ROWS
    deadline = time.monotonic() + PATIENCE
    while not (log.exists() and log.stat().st_size):
        assert child.poll() is None, child.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert worktrees_of(repo) == 3
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=PATIENCE)[0]
    assert child.returncode == 130
    assert "finished trials are kept" in said
    assert worktrees_of(repo) == 1
    assert list(tmp_path.glob("grailbench-ab-*")) == []
    size = log.stat().st_size
    time.sleep(0.3)
    assert log.stat().st_size == size, "a child still runs"
    assert (log.parent / LOG).exists()
