"""The container recipe runs the README's two commands, as a user without rights, and takes nothing of this machine with
it. It is parsed here, not built."""

import json
import re

from commands import ROOT

RECIPE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def instructions():
    """(instruction, arguments) of the recipe, without comments."""
    text = re.sub(r"\\\n", " ", RECIPE)
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_its_two_lines_are_the_commands_of_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Install")[2]
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    commands = [line.partition("#")[0].strip() for line in block.splitlines()]
    ran = [" ".join(json.loads(what)) if name == "CMD" else what for name, what in instructions()
           if name in ("RUN", "CMD")]  # fmt: skip
    assert len(commands) == 2
    assert sorted(ran[-2:]) == sorted(commands)
    assert [name for name, _ in instructions()][-1] == "CMD"


def test_it_runs_as_a_user_without_rights_on_an_image_with_a_python_that_is_new_enough():
    found = instructions()
    assert re.fullmatch(r"python:3\.1[1-9]-slim", found[0][1])
    users = [at for at, (name, _) in enumerate(found) if name == "USER"]
    assert found[users[-1]][1] not in ("root", "0")
    assert all(at > users[-1] for at, (_, what) in enumerate(found) if "make test" in what or 'bench"]' in what)
    assert not any(name in ("ADD", "EXPOSE", "ENV") for name, _ in found)


def test_what_is_made_here_is_not_copied_but_what_measures_is():
    left = (ROOT / ".dockerignore").read_text().split()
    assert {".venv", "cache", "results/runs", "**/__pycache__"} <= set(left)
    assert not {".git", "grailbench", "tests", "configs", "datasets", "results", "docs"} & set(left)
