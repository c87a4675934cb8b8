"""Every recorded run is in the manifest, is the file that was entered, and comes from a commit that can be named."""

import io
import json
import re
import subprocess
import tarfile
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

from grailbench.harness import folder as results
from grailbench.harness import provenance
from grailbench.harness.environment import code_hash
from grailbench.harness.plan import Config, Experiment, load_config, make_plan
from grailbench.report import recorded

ROOT = Path(__file__).parents[1]
HOME = ROOT / "results" / "baselines"
MANIFEST = provenance.manifest()


def environments(name):
    """The environment of each session of a run."""
    environment = json.loads((HOME / name / results.ENVIRONMENT).read_text())
    return [*environment.get("earlier", []), environment]


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, timeout=300)


@cache
def code_of(commit):
    """The code hash of a commit's sources."""
    packed = git("archive", commit, "grailbench")
    assert packed.returncode == 0, packed.stderr.decode()
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        files = [(PurePosixPath(m.name), archive.extractfile(m).read()) for m in archive if m.isfile()]
    return code_hash((path.relative_to("grailbench"), content) for path, content in files)


@cache
def has_history():
    """Whether this is a checkout with all commits; a source archive has none, a shallow clone one."""
    return (ROOT / ".git").exists() and git("rev-parse", "--is-shallow-repository").stdout.strip() == b"false"


def test_the_manifest_lists_every_folder_that_says_what_it_was_measured_on_rows_are_compressed_and_nothing_is_made():
    found = {path.parent.relative_to(HOME).as_posix() for path in HOME.rglob(results.ENVIRONMENT)}
    assert found == set(MANIFEST)
    assert not [*HOME.rglob(results.ROWS), *HOME.rglob("report")]
    runs = HOME.parent / "runs"  # of whoever measures here; no part of the repository
    files = (path for path in HOME.parent.rglob("*") if path.is_file() and not path.is_relative_to(runs))
    assert sum(path.stat().st_size for path in files) < 15e6


@pytest.mark.parametrize("name", [name for name in MANIFEST if (HOME / name / results.PLAN).is_file()])
def test_the_command_that_repeats_a_run_names_its_config_and_says_short_once(name):
    plan = json.loads((HOME / name / results.PLAN).read_text())["name"]
    words = recorded.repeated(HOME / name, environments(name)[-1])[0].split()
    assert words.count("--short") <= 1
    if "--config" in words:
        named = words[words.index("--config") + 1]
        assert plan in (named, f"{named}-short")


def test_the_command_that_repeats_a_run_is_that_of_its_first_session():
    name = "h200/counts"
    environment = results.read_json(HOME / name / results.ENVIRONMENT)
    assert "--resume=" in environment["command"][2]
    assert recorded.repeated(HOME / name, environment)[0] == "grailbench run --config counts"


def test_the_command_that_repeats_a_run_of_several_commands_is_its_whole_config():
    name = "h200/computation-2020-authors"
    environment = results.read_json(HOME / name / results.ENVIRONMENT)
    assert all("--dataset" in each["command"] for each in (environment, *environment["earlier"]))
    assert recorded.repeated(HOME / name, environment)[0] == "grailbench run --config computation-2020-authors"


@pytest.mark.parametrize("option", [[], ["--short"], ["--short", "--jobs", "8", "--sample=16"]])
def test_the_command_that_repeats_a_run_has_a_note_where_the_config_of_that_name_plans_other_cells(option, tmp_path):
    config = load_config("computation-2020", short=bool(option))
    environment = {"command": ["grailbench", "run", "--config", "computation-2020", *option]}
    for experiments, noted in ((config.experiment, False), (config.experiment[1:], True)):
        plan = make_plan(Config(name=config.name, description="", experiment=experiments))
        (tmp_path / results.PLAN).write_text(json.dumps({"name": plan.name, "digest": plan.digest}))
        command, notes = recorded.repeated(tmp_path, environment)
        assert command == " ".join(environment["command"])
        assert bool(notes) == noted


def test_the_command_that_repeats_a_run_has_a_note_where_cells_were_left_out_and_none_for_its_seeds(tmp_path):
    made = Experiment(datasets=["kegg"], implementations=["core", "sequential"], trials=1, seed=[1, 2, 3])
    plan = make_plan(Config(name="mine", description="", experiment=[made]))
    stored = [cell.stored() for cell in plan.cells]
    (tmp_path / results.PLAN).write_text(json.dumps({"name": plan.name, "digest": plan.digest, "cells": stored}))
    environment = {"command": ["grailbench", "run", "--config", "mine"]}
    assert len(stored) == 6
    assert [len(recorded.repeated(tmp_path, environment, cells)[1]) for cells in (1, 2)] == [2, 1]


def _values(command):
    return sorted(re.findall(r"--[\w-]+(?:[ =](?!-)\S+)?", command.replace("=", " ")))


@pytest.mark.parametrize("name", [name for name in MANIFEST if (HOME / name / results.PLAN).is_file()])
def test_a_shell_takes_the_values_in_braces_apart_into_the_command_that_repeats_a_run(name):
    command = recorded.repeated(HOME / name, environments(name)[-1])[0]
    shown = ["bash", "-c", f"printf '%s\\n' {recorded.in_braces(command)}"]
    found = subprocess.run(shown, capture_output=True, text=True, check=True).stdout.replace("\n", " ")
    assert _values(found) == _values(command)


@pytest.mark.parametrize("name", MANIFEST)
def test_recorded_files_are_those_that_were_entered(name):
    files = MANIFEST[name]["files"]
    assert results.checksums(HOME / name, provenance._LISTED) == files


@pytest.mark.parametrize("name", MANIFEST)
def test_recorded_runs_come_from_commits_that_can_be_named(name):
    entry = MANIFEST[name]
    assert {session["code"] for session in environments(name)} == set(entry["codes"])
    assert all(entry["codes"].values())
    if entry["found"] == "commit":
        for session in environments(name):
            assert session["dirty"] is False
            assert session["commit"] in entry["codes"][session["code"]]
    else:
        assert entry["found"] == "code"
        assert name.startswith("h200/"), "only runs from before copies carried their commit are matched by code"


@pytest.mark.slow
@pytest.mark.skipif(not has_history(), reason="a source archive has no history to look commits up in")
@pytest.mark.parametrize("name", MANIFEST)
def test_commits_of_the_manifest_have_the_code_of_the_rows(name):
    for code, commits in MANIFEST[name]["codes"].items():
        for commit in commits:
            assert code_of(commit) == code.partition("+")[2]
