"""The errors a user sees, each with the exit code its kind carries.

Exit codes: 0 done, 1 a check or regression gate failed, 2 usage or bad input, or an output that cannot be written,
3 nothing was measured, 4 the machine lacks what was asked for, 130 interrupted.
"""

from __future__ import annotations

import errno

_ELSEWHERE = "GRAILBENCH_CACHE names another cache, --out another folder"


class GrailbenchError(Exception):
    """Base of every expected failure: one clear message, an exit code, never a traceback for the user."""

    exit_code = 2


class InputError(GrailbenchError):
    """A file, name or option is wrong.

    Parameters: `message` says what is wrong; `path` and `line` (1-based) say where; `remedy` says what to do.
    """

    def __init__(self, message: str, *, path=None, line: int | None = None, remedy: str | None = None):
        where = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(where + message + ("" if remedy is None else f" ({remedy})"))
        self.path, self.line, self.remedy = path, line, remedy


class CheckFailed(GrailbenchError):
    """An answer, label or gate did not hold."""

    exit_code = 1


class NothingMeasured(GrailbenchError):
    """The command ran, but no cell could be measured or compared."""

    exit_code = 3


class MachineLacks(GrailbenchError):
    """The machine has no GPU, too little memory, or lacks an extra that was asked for."""

    exit_code = 4


class TooLittleMemory(MachineLacks):
    """What was asked for does not fit the memory; the message gives the need."""


def of_system(error: OSError) -> GrailbenchError:
    """What a user is told of a file that the system would not read or write: MachineLacks where there is no room for
    it, else InputError; file and cause on one line."""
    where = "" if error.filename is None else f"{error.filename}: "
    why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror or str(error)
    what = where + (why or type(error).__name__)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return MachineLacks(f"{what} (make room, or {_ELSEWHERE}; what was finished is kept)")
    return InputError(what, remedy=_ELSEWHERE)
