"""Where folders cannot be written, commands do without or end with one clear line (`tests/faults/readonly.py`)."""

from pathlib import Path

import pytest
import readonly
from commands import in_python
from crowds import Ended

from grailbench.errors import InputError
from grailbench.util import kernelcache, temporary

SHORT = """
import sys
sys.path.insert(0, {faults!r})
import readonly
verify = next(words for words in readonly.COMMANDS if words[0] == "verify")
some = (("import", "graph1.txt", "--name", "other"), ("cache",), verify)
print(*readonly.trial(readonly.FOLDERS, False, some), sep="\\n", end="")
"""


def test_commands_in_folders_that_are_closed_do_without_or_say_one_line():
    assert in_python(SHORT.format(faults=str(Path(readonly.__file__).parent))) == (0, "")


@pytest.mark.parametrize(
    ("code", "err"),
    [
        (1, "Traceback (most recent call last):\n  ...\nPermissionError: /closed/x"),
        (2, "error: Permission denied\n"),
        (2, "error: /closed/x: Permission denied\nerror: /closed/y: Permission denied\n"),
        (1, "  FAILED: path-40: PermissionError: /closed/x\nerror: cells without times\n"),
        (3, "error: /closed/x: Permission denied\n"),
    ],
)
def test_an_end_that_is_not_clear_is_seen(code, err):
    assert readonly.judged(Ended(("list",), code, "", err), [Path("/closed")])
    assert not readonly.judged(Ended(("list",), 2, "", "error: /closed/x: denied (elsewhere)\n"), [Path("/closed")])


def test_kernels_that_cannot_be_kept_are_compiled_into_a_temporary_folder(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setattr(kernelcache, "_places", lambda: (tmp_path / "file" / "a", tmp_path / "file" / "b"))
    monkeypatch.setattr(kernelcache, "_temporary", [])
    folder = kernelcache.folder.__wrapped__()
    assert folder.is_dir()
    (line,) = caplog.messages
    assert f"neither {tmp_path}/file/a nor {tmp_path}/file/b can be written" in line
    assert "NUMBA_CACHE_DIR names a folder" in line
    kernelcache._temporary.pop().close()

    def closed(purpose):
        raise PermissionError

    monkeypatch.setattr(temporary, "Folder", closed)
    with pytest.raises(InputError, match="nor TMPDIR can be written .*NUMBA_CACHE_DIR"):
        kernelcache.folder.__wrapped__()
