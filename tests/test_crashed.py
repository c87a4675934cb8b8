"""A test whose process ends runs once more, and no more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os, pathlib

def test_before():
    pass

def test_ends_its_process():
    mark = pathlib.Path("mark")
    if {always} or not mark.exists():
        mark.touch()
        os._exit(7)

def test_after():
    pass
"""


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.parametrize("always", [False, True])
def test_a_test_whose_process_ends_runs_once_more(tmp_path, always):
    (tmp_path / "test_it.py").write_text(TESTS.format(always=always))
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {"PYTHONPATH": path}
    words = [sys.executable, "-m", "pytest", "-p", "crashed", "-n", "2", "--dist", "worksteal", "-rA"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == always, done.stdout
    assert done.stdout.count("of the tests ended with code 7") == 1 + always
    assert done.stdout.count("test_it.py::test_ends_its_process runs again") == 1
    assert f"{2 if always else 3} passed" in done.stdout
