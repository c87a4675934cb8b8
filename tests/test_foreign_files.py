"""Files of the user in folders that commands are given or use stay as they are (`tests/faults/foreign_files.py`)."""

from pathlib import Path

import foreign_files
import pytest
from commands import in_python
from crowds import Ended

SHORT = """
import sys
sys.path.insert(0, {faults!r})
import foreign_files as tried
streamed = tuple(words for words in tried.REFUSED if words[0] == "build")
some = (("cache", "--prune"), ("fetch", "--all"), *streamed[:2], streamed[-1])
print(*tried.trial(1, 3, some, (("fetch", "--all"),)), *tried.unmarked(some[:2]), sep="\\n", end="")
"""


def test_files_of_the_user_stay_where_commands_write_and_remove():
    """Files in the cache were removed, and folders with hidden files were emptied."""
    assert in_python(SHORT.format(faults=str(Path(foreign_files.__file__).parent))) == (0, "")


def test_a_file_that_is_gone_or_another_is_seen(tmp_path):
    mine = {tmp_path / name: b"mine" for name in ("gone", "another", "base/report/moved", "there")}
    for name, content in (("another", b"mime"), ("base.before-2/report/moved", b"mine"), ("there", b"mine")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert foreign_files.harmed(mine) == [tmp_path / "gone", tmp_path / "another"]


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        (("cache",), 1, "Traceback (most recent call last):"),
        (("cache",), 2, "error: x\n"),
        (("site", "folder", "made"), 0, ""),
        (("site", "folder", "made"), 2, "error: folder: Permission denied\n"),
    ],
)
def test_an_end_that_is_none_of_those_expected_is_seen(words, code, err):
    assert foreign_files.judged(Ended(words, code, "", err))
    assert not foreign_files.judged(Ended(("cache",), 0, "", ""))
    refused = "error: folder: is not empty, and no site of grailbench's (name another)\n"
    assert not foreign_files.judged(Ended(("site", "folder", "made"), 2, "", refused))
