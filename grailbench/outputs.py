"""Files that are written: each is there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from grailbench import disk, temporary


@contextmanager
def atomic_file(path: Path, lasting: bool = True) -> Iterator[IO[bytes]]:
    """Opens a new binary file that replaces `path` when the block ends without an exception, and is deleted otherwise.

    If the system supports it, the file has no name until then, so that a killed process leaves no file behind. An
    OSError without a file name, such as that of a full disk, gets the name of this file.

    lasting  wait until the file is on the disk, first its content and then its name, so that a loss of power leaves the
             old file or the new one; not for what is made anew when it is found damaged
    """
    made = temporary.name_beside(path)
    try:
        disk.make_folder(path.parent)
        temporary.sweep_once(path.parent)
        handle = nameless = _nameless(path.parent)
        if handle is None:
            made, handle = temporary.new_beside(path)
        with temporary.locked(handle):  # until it has its name
            with open(handle, "r+b") as stream:
                yield stream
                stream.flush()
                if lasting:
                    os.fsync(stream.fileno())
                # src_dir_fd has no effect on an absolute path, but follow_symlinks works only with it
                named = nameless is not None and _named(f"/proc/self/fd/{nameless}", path, made, src_dir_fd=nameless)
            if not named:
                os.replace(made, path)
        if lasting:
            disk.sync(path.parent)
    except OSError as error:
        if error.filename in (None, str(made)):
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)


def link_file(file: Path, path: Path) -> None:
    """Gives a file that is on the disk another name, in the place of what has it; it is copied where that cannot be.
    Raises OSError if it cannot be written."""
    made = temporary.name_beside(path)
    disk.make_folder(path.parent)
    try:
        if not _named(file, path, made):
            os.replace(made, path)
        disk.sync(path.parent)
    except OSError:  # another file system, or one without links
        with open(file, "rb") as source, atomic_file(path) as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)


def _named(file: str | Path, path: Path, made: Path, **how: int) -> bool:
    """Gives a file its name if that is free, else a temporary one; returns whether it was free."""
    for name in (path, made):
        with suppress(FileExistsError):
            os.link(file, name, follow_symlinks=True, **how)
            return name == path
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(made))


def _nameless(folder: Path) -> int | None:
    """Opens a new file without a name in a folder; None if the operating system or file system does not support it."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:
        return None  # if the folder cannot be written, opening a named file in it raises the right error
