"""The errors that users see, each kind with its exit code.

Exit codes: 0 done, 1 a check or regression gate failed, 2 usage or bad input, or an output that cannot be written,
3 nothing was measured, 4 the machine lacks what was asked for, 130 interrupted.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  #: no file can be written any more, until there is room
#: limits of the shell that have these errors, by their option of `ulimit`
_LIMITS = {errno.EMFILE: "-n", errno.ENFILE: "-n", errno.EAGAIN: "-u", errno.ENOMEM: "-v"}
_ELSEWHERE = "GRAILBENCH_CACHE names another cache, --out another folder"


def page(name: str) -> Path:
    """The file of a page of the documentation: of a checkout, or of what a wheel has of it, which no network serves."""
    package = Path(__file__).parent
    shipped = package / "_shipped" / "docs"
    return (shipped if shipped.is_dir() else package.parent / "docs") / f"{name}.md"


def install(extra: str) -> str:
    """The command that installs what an extra of grailbench brings, which needs no index that has grailbench."""
    from importlib.metadata import PackageNotFoundError, requires  # of no error but these

    try:
        found = [re.split(r"\s*;", each) for each in requires("grailbench") or ()]
    except PackageNotFoundError:  # a checkout on the path, which was never installed
        found = []
    needed = [f"'{each}'" for each, *markers in found if re.search(rf"extra == .{extra}['\"]", "".join(markers))]
    return f"pip install {' '.join(needed)}" if needed else f"install its extra '{extra}', see {page('install')}"


class GrailbenchError(Exception):
    """Base of every expected failure: users get its message and exit code, never a traceback."""

    exit_code = 2


class InputError(GrailbenchError):
    """A file, name or option is wrong: `message` says what, `path` and `line` (1-based) where, `remedy` what to do."""

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ):
        super().__init__(message)
        self.path, self.line, self.remedy = path, line, remedy

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        where = "" if self.path is None else f"{self.path}{line}: "
        return where + super().__str__() + ("" if self.remedy is None else f" ({self.remedy})")


@contextmanager
def in_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Names the file in each InputError of the block that names none."""
    try:
        yield
    except InputError as error:
        error.path = path if error.path is None else error.path
        raise


class CheckFailed(GrailbenchError):
    """An answer or label is wrong, or a run did not pass a gate."""

    exit_code = 1


class NothingMeasured(GrailbenchError):
    """The command ran, but no cell could be measured or compared."""

    exit_code = 3


class MachineLacks(GrailbenchError):
    """The machine has no GPU, too little memory, or lacks an extra that was asked for."""

    exit_code = 4


class GpuFailed(MachineLacks):
    """A GPU, or a kernel there, failed midway; the message says how, and what to do (`faults`)."""


class TooLittleMemory(MachineLacks):
    """There is not enough memory; the message says how much is needed."""


class ClusterLost(MachineLacks):
    """The scheduler or all workers of a cluster are gone midway; what was answered before was given out."""


def of_system(error: OSError, path: object = None) -> GrailbenchError:
    """The error to show for a file that the system did not read or write: MachineLacks if the disk is full or a limit
    of `ulimit` is reached, else InputError. `path` is what the user named, if that is not what the error names."""
    named = error.filename if path is None else path
    where = "" if named is None else f"{named}: "
    why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror or str(error)
    what = where + (why or type(error).__name__)
    if error.errno in FULL:
        room = "make room, raise `ulimit -f`" if error.errno == errno.EFBIG else "make room"
        return MachineLacks(f"{what} ({room}, or {_ELSEWHERE}; what was finished is kept)")
    if (option := _LIMITS.get(error.errno or 0)) is not None:
        return MachineLacks(f"{what} (raise `ulimit {option}`)")
    return InputError(what, remedy=_ELSEWHERE)
