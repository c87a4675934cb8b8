"""What a shell completes: every value is one that the command takes, and none needs the heavy libraries."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from commands import NO_GPU, ROOT, call, heavy_imports
from stored import everything, store

from grailbench.cli import options
from grailbench.cli.completion import SHELLS
from grailbench.cli.main import COMMANDS, cli
from grailbench.data.imported import import_graph
from grailbench.data.registry import registry, sets
from grailbench.graph.generate import catalogue
from grailbench.problems import contract
from grailbench.report.captions import CAPTIONS
from grailbench.util import paths

VARIABLE = "_GRAILBENCH_COMPLETE"


@pytest.fixture(autouse=True)
def _fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    options._known.cache_clear()
    yield
    options._known.cache_clear()


def offered(line):
    """What is offered at the end of a line, which may end with a blank."""
    *words, last = line.split(" ")
    return [item.value for item in ShellComplete(cli, {}, "grailbench", VARIABLE).get_completions(words, last)]


def test_values_are_those_that_a_command_takes(tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    import_graph(tmp_path / "edges.txt", "mine", "edges")
    peer, large, of = "peer:pyreachability-gripp", "citeseer-large", contract.implementations
    exact = {
        "": list(COMMANDS), "comp": ["compare", "completion"], "run --from": ["--from-edges"],
        "completion ": list(SHELLS), "run --dataset citeseer-l": [large, "citeseer-like", f"{large}-like"],
        "run --impl ": list(of()), "run --impl peer:pyreachability-gri": [peer],
        "plan --problem ": list(contract.PROBLEMS), "plan --set ": [*sets(), *catalogue.sets(), "all"],
        "fetch --set small-d": ["small-dense"], "run --queries b": ["balanced"],
        "plot --figure computation-": [name for name in CAPTIONS if name.startswith("computation-")],
        "report --table 6.": [f"6.{number}" for number in range(1, 7)],
        **{f"run --problem {problem} --impl ": list(of(problem)) for problem in contract.PROBLEMS},
    }  # fmt: skip
    assert {line: offered(line) for line in exact} == exact
    among = {
        "run --dataset ": {*registry(), "kegg-like", "dag_01-like", "mine"}, "generate ": {"random", "kegg-like"},
        "info ": {"near-far", "tiled", "gpu-path"}, "verify --config ": {"quickstart", "thesis-2019", "ci"},
        "run --filters ": {"level,tree,hubs"},
    }  # fmt: skip
    assert {line: names & set(offered(line)) for line, names in among.items()} == among
    given = {
        "run --dataset kegg --dataset ": "kegg",
        "fetch kegg ": "kegg",
        "fetch ": "kegg-like",
        "fetch --set ": "hard",
    }
    assert [line for line, name in given.items() if name in offered(line)] == []


def test_runs_latest_first_and_else_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "runs_dir", lambda: tmp_path / "runs")
    for name in ("20250101-000000-a", "20250102-000000-b"):
        store(tmp_path / "runs" / name, everything())
    for line in ("report ", "plot ", "compare ", "compare other ", "record ", "run --resume "):
        assert offered(line) == ["20250102-000000-b", "20250101-000000-a"]
    (item,) = ShellComplete(cli, {}, "grailbench", VARIABLE).get_completions(["report"], "results/b")
    assert item.type == "file"


def test_names_are_looked_up_again_when_what_is_kept_is_damaged_or_old(tmp_path):
    def again():
        options._known.cache_clear()
        return offered("run --problem bfs --impl ")

    right = again()
    kept = tmp_path / "cache" / options.CACHED
    whole = json.loads(kept.read_text())
    for text in ("{", "[]", json.dumps({**whole, "stamp": [0]}), json.dumps({"stamp": whole["stamp"]})):
        kept.write_text(text)
        assert again() == right
        assert json.loads(kept.read_text()) == whole
    whole["names"]["implementations"]["bfs"] = ["marked"]
    kept.write_text(json.dumps(whole))
    assert again() == ["marked"]


def test_a_cache_that_cannot_be_had_completes_nothing_and_says_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "file"))
    assert offered("cluster --dataset ") == []
    assert capsys.readouterr() == ("", "")


def test_completing_imports_no_heavy_library_once_names_are_kept():
    offered("run --dataset ")
    words = {VARIABLE: "bash_complete", "COMP_WORDS": "grailbench run --impl sequ", "COMP_CWORD": "3"}
    said, heavy = heavy_imports(**words)
    assert said.split() == ["plain,sequential"]
    assert heavy <= {"grailbench.problems.contract"}


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_script(capsys, shell):
    code, out, _ = call(capsys, "completion", shell)
    assert code == 0
    assert f"{VARIABLE}={shell}_complete" in out


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.processes
def test_bash_completes_a_name_with_a_colon(tmp_path):
    launcher = tmp_path / "grailbench"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grailbench "$@"\n')
    launcher.chmod(0o755)
    script = (
        "source <(grailbench completion bash)\n"
        'case "$COMP_WORDBREAKS" in *:*) exit 1;; esac\n'
        "COMP_WORDS=(grailbench run --impl peer:pyreachability-grai); COMP_CWORD=3\n"
        '_grailbench_completion grailbench; echo "${COMPREPLY[@]}"\n'
    )
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    env = {**os.environ, **NO_GPU, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["peer:pyreachability-grail"]
