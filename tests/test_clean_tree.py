"""No command of the README or the guide leaves a change in a checkout, and nothing is written into a recorded run
unasked."""

import hashlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import call
from stored import everything, store

from grailbench.harness import limits
from grailbench.util import paths

ROOT = Path(__file__).parents[1]
SMALL = "--dataset kegg-like --no-fetch --count 200 --trials 1"
RECORDED = "results/baselines/ci"

#: what is put in the place of what in these commands, in this order: small graphs, no network, the run made here
REPLACED = (
    (r"\[\[?.*", ""),
    (r"^fetch\b.*", "fetch kegg-like --offline"),
    (r"^run( --(dataset|config|impl|dim|devices|count|filters) \S+)+", f"run {SMALL} --impl dfs"),
    (r"^run --problem \w+.*", "run --problem bfs --dataset kegg-like --impl sequential --count 2 --trials 1"),
    (r"^verify --.*", "verify --dataset kegg-like --no-fetch --count 200 --impl dfs"),
    (r"^advise .*", "advise kegg-like --impl dfs --budget 1 --process shared"),
    (r"^plot cpu-\S+ .*", "plot made --figure edges --out {outside}"),
    (r"^site /tmp/site$", "site {outside}/site made"),
    (r"--vertices \d+ --degree \S+", "--vertices 300 --degree 3"),
    (r"--window \d+", "--window 50"),
    (r"^limits$", "limits --quick --only cpu"),
    (r"\bRUN --table 6.1", "RUN --table 2.4"),
    (r"\bRUN --figure \S+", "RUN --figure phases"),
    (r" --limit$", ""),  # needs the ceilings of a whole 'limits'
    (r"\b(BASE|NEW|RUN)\b", "made"),
    (r"\b(edges\.(?:txt|parquet|index))\b", r"{outside}/\1"),
    (r"/tmp/", "{outside}/"),
)
#: the pages of docs whose commands are tried
HOW_TO = [f"{page}.md" for page in ("install", "how-to/graphs", "how-to/ask", "how-to/measure", "how-to/read-results",
                                    "how-to/choose", "how-to/compare", "how-to/gpu", "how-to/problems")]  # fmt: skip
SKIPPED = ("ab ",)  # minutes; tests/test_ab.py has its worktrees, which lie in a temporary folder


def shown(page):
    """The commands of a page, without the word grailbench."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return re.findall(r"^(?:\$ )?grailbench (.+?)(?:  +#.*)?$", "\n".join(blocks), re.MULTILINE)


def git(folder, *words):
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with the files of this one in a commit of its own."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    folder = tmp_path_factory.mktemp("checkout") / "clone"
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")
    return folder


@pytest.fixture
def clone(checkout, monkeypatch):
    """That checkout, in which the commands of this test run; afterwards it is as before."""
    monkeypatch.setattr(paths, "_PACKAGE", checkout / "grailbench")
    monkeypatch.setattr(limits, "QUICK", limits.TINY)
    monkeypatch.delenv("GRAILBENCH_CACHE")
    monkeypatch.chdir(checkout)
    yield checkout
    git(checkout, "reset", "-q", "--hard")
    git(checkout, "clean", "-dffqx")


def hashes(folder):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_no_command_of_the_readme_or_the_guide_leaves_a_change(clone, tmp_path, capfd):
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n0 3\n")
    assert call(capfd, "run", *SMALL.split(), "--impl", "dfs", "--out", "results/runs/made")[0] == 0
    done, kinds = [], set()
    for line in [*shown(clone / "README.md"), *(line for page in HOW_TO for line in shown(clone / "docs" / page))]:
        kind = tuple(re.findall(r"^\w+|(?<= )--\w+", line)[:2])  # the command and its first option
        if line.startswith(SKIPPED) or kind in kinds:
            continue
        for pattern, text in REPLACED:
            line = re.sub(pattern, text, line)
        words = shlex.split(line.replace("{outside}", str(tmp_path)))
        code, _, err = call(capfd, *words)
        assert "Traceback" not in err
        assert git(clone, "status", "--porcelain") == "", line
        done.append((words[0], code))
        if code == 0:
            kinds.add(kind)
    good = {name for name, code in done if code == 0}
    assert {"run", "report", "plot", "compare", "export", "generate", "import", "list", "info", "limits"} <= good
    assert len(done) > 15


def test_nothing_is_written_into_a_recorded_run_unasked(clone, tmp_path, capsys):
    name, run = RECORDED, clone / RECORDED
    before = hashes(run)
    code, out, err = call(capsys, "report", name)
    assert code == 0
    assert len(out) > 300
    assert err == ""
    assert call(capsys, "compare", name, name)[0] == 0
    code, _, err = call(capsys, "plot", name)
    assert code == 2
    assert "a recorded run" in err
    assert "--out" in err
    code, _, err = call(capsys, "report", name, "--html")
    assert code == 2
    assert "--out" in err
    assert call(capsys, "report", name, f"--html={tmp_path / 'page.html'}")[0] == 0
    assert (tmp_path / "page.html").is_file()
    assert call(capsys, "report", name, "--out", tmp_path / "report")[0] == 0
    assert (tmp_path / "report" / "report.md").is_file()
    assert hashes(run) == before
    assert git(clone, "status", "--porcelain") == ""


def test_out_may_name_the_recorded_run_and_a_run_that_git_tracks_is_one_too(clone, tmp_path, capsys):
    run = store(clone / "kept" / "mine", everything())
    assert call(capsys, "report", run, "--html")[0] == 0
    assert (run / "report" / "report.html").is_file()
    shutil.rmtree(run / "report")
    git(clone, "add", "-A")
    assert call(capsys, "report", run, "--html")[0] == 2
    assert not (run / "report").exists()
    assert call(capsys, "report", run, "--out", run / "report", "--html", "--counters")[0] == 0
    written = {path.name for path in (run / "report").iterdir()}
    assert {"report.md", "cells.csv", "report.html", "counters.csv"} <= written


def test_a_run_outside_of_the_checkout_has_its_page_beside_it(clone, tmp_path, capsys):
    run = store(tmp_path / "elsewhere", everything())
    assert call(capsys, "report", run, "--html")[0] == 0
    assert (run / "report" / "report.html").is_file()
