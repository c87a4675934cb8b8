"""The software and runs are cited with all that it takes to find them again, whatever names are in them."""

import json
import re

import pytest
from commands import ROOT, call
from stored import ENVIRONMENT, HOSTILE, evaluation, everything, store, trials

from grailbench import __version__
from grailbench.graph.store import sha256_file
from grailbench.harness import folder as results
from grailbench.report import cite
from grailbench.report.render.latex import escape
from grailbench.util import paths

SHA = "5" * 64


def parsed(text):
    """The entries of a .bib file as BibTeX reads it: {key: (type, {field: value})}; what is outside of them is none."""
    found, at = {}, 0
    while (start := text.find("@", at)) >= 0:
        kind, key = re.compile(r"@(\w+)\{([\w.:-]+),\n").match(text, start).groups()
        depth, end = 0, start
        while True:
            letter = text[end]
            depth += (letter == "{" and text[end - 1] != "\\") - (letter == "}" and text[end - 1] != "\\")
            end += 1
            if letter == "}" and depth == 0:
                break
        body = text[start:end]
        assert key not in found
        found[key] = kind, dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE))
        at = end
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = store(tmp_path_factory.mktemp("runs") / "Run @ <1> {x}", everything() + trials(dim=3, graph_sha256=SHA))
    results.write_json(folder / results.PLAN, {"name": "thesis-2019", "cells": []})
    environment = {**ENVIRONMENT, "commit": "c" * 40, "dirty": True, "governor": "performance", "os": "Linux-6",
                   "python": "CPython 3.12", "load_average": [1.9, 0, 0], "pinned": [0, 1], "cores_logical": 2,
                   "gpus": [{"name": "NVIDIA H200", "driver": "580.1", "memory_bytes": 1}],
                   "threads": {"OMP_NUM_THREADS": "2", "NUMBA_OPT": None},
                   "packages": {**ENVIRONMENT["packages"], "pyreachability": "0.2.0"}}  # fmt: skip
    results.write_json(folder / results.ENVIRONMENT, environment)
    return folder


def test_the_software_is_cited_as_its_file_says(capsys):
    code, out, _ = call(capsys, "cite")
    assert code == 0
    ((key, (kind, fields)),) = parsed(out).items()
    assert (key, kind, fields["version"]) == ("grailbench", "software", __version__)
    assert "commit" in fields["note"]
    assert re.fullmatch(r"20\d\d", fields["year"])
    assert "The grailbench authors" in fields["author"]


def test_a_run_is_cited_with_what_finds_it_again(run, capsys):
    code, out, _ = call(capsys, "cite", run)
    assert code == 0
    found = parsed(out)
    kind, fields = found["grailbench-run-run-1-x"]
    assert kind == "misc"
    assert fields["date"] == "2025-01-01"
    assert "config thesis-2019" in fields["note"]
    for name in (results.ROWS, results.PLAN, results.ENVIRONMENT):
        assert sha256_file(run / name) in fields["note"]
    assert escape(ENVIRONMENT["cpu"]) in fields["howpublished"]
    assert found["caiazza2019"][0] == "mastersthesis"
    peer = found["peer-pyreachability-grail"][1]
    assert "pyreachability" in peer["title"]
    assert peer["url"] == "https://pypi.org/project/pyreachability/0.2.0/"
    assert "kegg" in found["graphs-small-sparse"][1]["title"]
    assert "https://" in found["graphs-small-sparse"][1]["howpublished"]
    assert "with changes" in found["grailbench"][1]["note"]
    assert f"% sha256 {SHA} kegg" in out


def test_a_record_has_the_authors_that_measured_it(run, capsys):
    fields = parsed(call(capsys, "cite", run, "--author", "Rossi, Ada", "--author", "Blau, Otto")[1])
    assert fields["grailbench-run-run-1-x"][1]["author"] == "Rossi, Ada and Blau, Otto"
    assert "grailbench authors" in fields["grailbench"][1]["author"]
    assert call(capsys, "cite", "--author", "Rossi, Ada")[0] == 2


def test_papers_have_a_doi_or_an_address_where_one_is_known():
    entries = {entry.key: entry.fields for entry in cite.of_run("h200/thesis-gpu").entries}
    assert entries["quer2020b"]["url"].startswith("https://www.scitepress.org/")
    assert entries["naumov2017"]["doi"] == "10.1145/3149704.3149764"
    assert ("Quer and Calabrese, 2020", "https://doi.org/10.3390/computation8040103") in cite.links()


def test_only_papers_whose_tables_the_run_has_are_cited(tmp_path):
    keys = [entry.key for entry in cite.of_run(store(tmp_path / "a", evaluation())).entries]
    assert "quer2020" in keys
    keys = [entry.key for entry in cite.of_run(store(tmp_path / "b", trials(dataset="mine", kind="imported"))).entries]
    assert not {"quer2020", "caiazza2019"} & set(keys)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "papers"), [
    ("h200/thesis-gpu", {"caiazza2019", "quer2020b", "naumov2017"}),
    ("h200/closure-50000", {"fenz2022"}),
    ("h200/roads", {"pathak"}),
])  # fmt: skip
def test_problems_and_pipelines_name_their_papers(name, papers):
    entries = {entry.key: entry for entry in cite.of_run(name).entries}
    assert papers == {"caiazza2019", "quer2020", "quer2020b", "naumov2017", "fenz2022", "pathak"} & set(entries)
    assert all(entries[key].fields["title"] for key in papers)


def test_the_paragraph_has_machine_versions_settings_and_load(run):
    said = cite.of_run(run).environment
    for part in ("Test CPU", "2 cores", "8 GiB", "NVIDIA H200", "driver 580.1", "Linux-6", "CPython 3.12", "numba 0.1",
                 "governor performance", "OMP_NUM_THREADS=2", "Pinned to cores 0, 1",
                 "other work: load average 1.9 on 2 cores",
                 "cccccccccccc WITH CHANGES"):  # fmt: skip
        assert part in said
    assert "NUMBA_OPT" not in said
    assert cite.paragraph({})


def test_text_and_json_have_the_same(run, capsys):
    code, out, _ = call(capsys, "cite", run, "--format", "json")
    found = json.loads(out)
    assert (code, found["graphs"], set(found["files"])) == (0, {"kegg": SHA}, {*cite.pack.FILES})
    _, out, _ = call(capsys, "cite", run, "--format", "text")
    assert all(entry["title"] in out for entry in found["entries"])
    assert found["environment"] in out
    assert SHA in out


def test_names_cannot_end_an_entry_or_begin_one(tmp_path):
    rows = trials(dataset=f"@misc{{x,}} % \n{HOSTILE}", kind="imported", graph_sha256=SHA)
    text = cite.of_run(store(tmp_path / "}@misc{y,", rows, {**ENVIRONMENT, "cpu": "} @article{z, title={"})).bibtex()
    assert text.isascii()
    assert [key for key in parsed(text)] == ["grailbench", "grailbench-run-misc-y"]


def test_an_installed_wheel_has_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "checkout", lambda: None)
    assert paths.shipped("CITATION.cff") == paths._PACKAGE / "_shipped" / "CITATION.cff"
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert shipped["CITATION.cff"] == "grailbench/_shipped/CITATION.cff"
    assert any(each.startswith("pyyaml") for each in project["project"]["dependencies"])
