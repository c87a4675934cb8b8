"""The commands of the tutorials run in their order and print what the pages show, but for times and the machine.

The graphs are smaller where the page's own take minutes or a download, and a GPU is numba's simulator.
"""

import json
import re
import shlex
import sys

import pytest
from commands import ROOT, call, call_apart
from test_docs import installed  # noqa: F401 - a fixture

from grailbench.problems import contract

QUICK = ("--trials", "2", "--warmup", "0", "--process", "shared")
PEER = "--impl peer:pyreachability-bfl "  # of an extra


def page(name):
    return (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")


def commands(text, **names):
    """The words of each command of a page's blocks, without the program's name, where names were replaced."""
    found = []
    for block in re.findall(r"^```(?:sh)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?:\$ )?(grailbench .*)$", block, re.MULTILINE):
            for old, new in names.items():
                line = line.replace(old, new)
            found.append(shlex.split(line.replace(PEER, ""), comments=True)[1:])
    return found


def as_printed(line):
    """A pattern of a line of output: its words, any times, and any numbers of threads and trials."""
    words = (
        re.escape(word) if not re.fullmatch(r"\d+\.\d\d|\d{1,2}", word) else r"[\d.,]+[†‡]?" for word in line.split()
    )
    return r"\s*" + r"\s+".join(words) + r"\s*"


def in_order(text, shown):
    """The lines of `shown` that no line of the text after those before is; '...' stands for any lines."""
    lines, missing = iter(text.splitlines()), []
    for line in filter(None, shown):
        if line != "..." and not any(re.fullmatch(as_printed(line), each) for each in lines):
            missing.append(line)
            lines = iter(())
    return missing


@pytest.mark.slow
def test_the_first_benchmark_prints_what_its_page_shows(mirror, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("grailbench.util.paths.runs_dir", lambda: tmp_path / "runs")
    text = page("first-benchmark").replace("/tmp/", "")
    shown = re.search(r"^\$ grailbench run.*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1].splitlines()
    done = commands(text)
    assert [words[0] for words in done] == ["run", "report", "report", "run", "report"]
    for at, words in enumerate(done):
        code, out, err = call(capsys, *words, *(QUICK if words[0] == "run" else ()))
        assert code == 0, err
        if at == 0:
            assert in_order(err + out, shown[:3] + shown[-5:]) == []
            assert in_order(err + out, [shown[-2].replace("ok", "wrong")]) != []
    assert list((tmp_path / "filters-report").glob("*.csv"))
    assert list(tmp_path.rglob("report.html")) or list(tmp_path.glob("*.html"))


@pytest.mark.slow
@pytest.mark.processes
def test_the_first_command_of_the_readme_prints_what_it_shows(mirror, tmp_path, monkeypatch, capsys):
    """As it stands, with all its trials; times and the number of threads are those of the machine."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("grailbench.util.paths.runs_dir", lambda: tmp_path / "runs")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command, *shown = re.search(r"^```\n\$ (grailbench run .*?)^```$", text, re.MULTILINE | re.DOTALL)[1].splitlines()
    code, out, err = call(capsys, *shlex.split(command)[1:])
    assert code == 0, err
    assert in_order(err + out, shown) == []
    assert len([line for line in shown if line.endswith(" ok")]) == command.count("--impl") == 2
    for old, other in (("ok", "wrong"), ("20,240", "20,241"), ("kegg", "human"), ("ready ms", "ready"), ("core", "c")):
        assert in_order(err + out, [line.replace(old, other) for line in shown]) != []


@pytest.mark.slow
@pytest.mark.processes
def test_the_first_gpu_run_goes_as_its_page_says_where_there_is_no_gpu(tmp_path):
    """The simulator answers as the oracle does, and the run skips what needs a device and goes on."""
    verify, info, run, _ = (*commands(page("first-gpu-run")), None)
    code, out, err = call_apart(*verify, "--json")
    assert code == 0, err
    assert [json.loads(line)["status"] for line in out.splitlines()] == ["ok", "ok"]
    assert call_apart(*info)[0] == 0
    assert (info, run[0]) == (["info"], "run")
    small = [word.replace("citeseer-large", "random-n300-k3-s1").replace("kegg", "random-n200-k2-s1") for word in run]
    code, out, err = call_apart(*small, *QUICK, "--count", 50, "--out", tmp_path / "run", "--json")
    assert code == 0, err
    found = {(row["impl"], row["status"]) for row in map(json.loads, out.splitlines())}
    assert found == {("core", "ok"), ("gpu-fused", "skipped")}


@pytest.mark.slow
def test_an_index_of_ones_own_goes_through_the_steps_of_its_page(installed, tmp_path, monkeypatch, capsys):  # noqa: F811
    monkeypatch.setitem(contract._registry, "reachability", contract.implementations())
    monkeypatch.syspath_prepend(installed)
    monkeypatch.setattr(contract, "_loaded", contract._loaded - {contract.ENTRY_POINTS})
    monkeypatch.delitem(sys.modules, "bitclosure", raising=False)
    monkeypatch.chdir(tmp_path)
    graphs = {"--set small-sparse": "--dataset random-n300-k3-s1", "--dataset kegg": "--dataset random-n300-k3-s1",
              "--set hard-small": "--dataset random-n200-k2-s1", " RUN ": " run-1 "}  # fmt: skip
    runs = 0
    for words in commands(page("your-index"), **graphs):
        more = [*QUICK, "--count", "50", "--out", f"run-{(runs := runs + 1)}"] if words[0] == "run" else []
        words[1:1] = ["run-1"] if words[0] == "report" else []
        code, out, err = call(capsys, *words, *more)
        assert code == 0, err
        if words[0] in ("list", "verify", "run"):
            assert "bitclosure" in out
    assert runs == 2
    assert (tmp_path / "mine.pack.zip").stat().st_size > 1000
