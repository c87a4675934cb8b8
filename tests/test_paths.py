"""A user without a home folder, as the numeric user of a container: every command failed but `--version`."""

import os
import pwd
import re
import stat
import tempfile
from pathlib import Path

import pytest
from commands import in_python

from grailbench.data import sources
from grailbench.errors import InputError
from grailbench.util import kernelcache, paths

COMMANDS = """
import os, pwd, sys

def nobody(*given):
    raise KeyError("no such user")

pwd.getpwuid = pwd.getpwnam = nobody
for name in ("HOME", "XDG_CACHE_HOME", "GRAILBENCH_CACHE", "LOGNAME", "USER", "LNAME", "USERNAME"):
    os.environ.pop(name, None)
from grailbench.util import paths
from grailbench.cli.main import main

root = paths.checkout()
paths.shipped = lambda name: root / name
paths.checkout = lambda: None  # as if installed
for words in ("list datasets", "cache", "info path-4", "ask path-4 0 3 --impl dfs", "completion bash",
              "run --dataset path-4 --impl dfs --count 9 --trials 1 --out run", "pack run --redact"):
    try:
        main(words.split())
    except SystemExit as end:
        print("EXIT", words, end.code)
"""


def test_commands_work_without_a_home_folder_and_say_where_the_caches_are(tmp_path):
    code, said = in_python(f"import os\nos.chdir({str(tmp_path)!r})\n{COMMANDS}", TMPDIR=str(tmp_path))
    assert code == 0, said
    assert {line.rsplit(" ", 1)[1] for line in re.findall("EXIT .*", said)} == {"0"}, said
    assert said.count("EXIT") == 7
    assert said.count("HOME names a home folder") == 1, said
    assert (tmp_path / f"grailbench-{os.geteuid()}" / "generated" / "path-4.npz").is_file()


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    """No home folder; returns the folder for temporary files."""

    def nobody(*given):
        raise KeyError("no such user")

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("getpwuid", "getpwnam"):
        monkeypatch.setattr(pwd, name, nobody)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    paths._temporary_cache.cache_clear()
    yield tmp_path
    paths._temporary_cache.cache_clear()


def test_caches_without_a_home_folder_are_in_a_temporary_one_that_only_this_user_can_write(homeless, caplog):
    made = homeless / f"grailbench-{os.geteuid()}"
    assert [paths.user_cache(), paths.user_cache(), list(kernelcache._places())[-1].parent] == [made] * 3
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    (line,) = caplog.messages
    assert str(made) in line
    assert "HOME names" in line


@pytest.mark.parametrize("home", ["", "relative", "~"])
def test_a_home_that_is_no_absolute_path_is_none(homeless, monkeypatch, home):
    monkeypatch.setenv("HOME", home)
    assert paths.user_cache().parent == homeless


def test_a_home_that_cannot_be_written_is_none_unless_it_has_a_cache(homeless, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert paths.user_cache().name == f"grailbench-{os.geteuid()}"
    usual = tmp_path / "home" / ".cache" / "grailbench"
    usual.mkdir(parents=True)
    assert paths.user_cache() == usual


@pytest.mark.parametrize(
    "make",
    [
        lambda made: made.symlink_to(made.parent),
        lambda made: made.write_text(""),
        lambda made: (made.mkdir(), made.chmod(0o777)),
    ],
)
def test_a_temporary_folder_that_another_user_may_have_made_is_refused(homeless, make):
    """Compiled code is read from there."""
    make(homeless / f"grailbench-{os.geteuid()}")
    with pytest.raises(InputError, match="HOME names"):
        paths.user_cache()


def test_a_path_below_an_unknown_home_folder_is_one_error(homeless, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", "~/cache")
    for make in (paths.cache_dir, lambda: sources.folder_of("~/mirror")):
        with pytest.raises(InputError, match="home folder is not known"):
            make()
    assert not Path("~").exists()
