"""Files that are written: each is there whole or not at all, also after a loss of power, and none replaces a file that
was read.

Whatever reads a file that a user names says so to `protect`. An output that is such a file, by whatever path or link,
is refused, unless this process wrote the file itself. Where a user names a symbolic link as an output, the file that it
leads to is replaced; elsewhere, as in a folder that somebody sent, the link itself. Pipes, terminals and other
character devices are written to as they are.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from grailbench.errors import InputError, of_system
from grailbench.util import temporary

_ELSEWHERE = "name another file"
_MOST = 100_000  # files that are remembered: a process that runs for weeks reads ever new ones
#: device and inode of a file that was read: its path; '' of one that this process wrote
_files: dict[tuple[int, int], str] = {}


def protect(path: str | os.PathLike) -> None:
    """Refuses outputs in the place of a file, or in a folder, from now on. Nothing happens if there is neither, or if
    this process wrote the file."""
    with suppress(OSError, ValueError):  # a path with a zero byte raises ValueError
        found = os.stat(path)
        usual = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
        if usual and _files.get((found.st_dev, found.st_ino)) != "":
            _remember(found, os.path.abspath(path))


@contextmanager
def of_one_command() -> Iterator[None]:
    """Until the block ends, only the files that are read and written in it count; after it, only those from before."""
    before = dict(_files)
    _files.clear()
    try:
        yield
    finally:
        _files.clear()
        _files.update(before)


def _remember(found: os.stat_result, path: str) -> None:
    if len(_files) >= _MOST:
        _files.clear()
    _files[found.st_dev, found.st_ino] = path


def require_writable(path: str | os.PathLike, seeks: bool = False, over: bytes | None = None) -> None:
    """Raises InputError if an output would replace a file that was read, or be in a folder that was, or if there is
    something that cannot be written to as a file can.

    seeks  whether only a regular file will do, no pipe and no character device either
    over   what a file begins with that may be replaced although it was read; b'' for any
    """
    whole = Path(os.path.realpath(path))
    for place in (whole, *whole.parents):
        with suppress(OSError, ValueError):  # what cannot be found was not read
            found = os.stat(place)
            read = _files.get((found.st_dev, found.st_ino))
            # an inode is given to another file once its own is deleted
            if read and os.path.samestat(os.stat(read), found) and not (over is not None and _begins(place, over)):
                also = "" if os.path.abspath(path) == read else f", {read}"
                raise InputError(f"the output would replace an input{also}", path=path, remedy=_ELSEWHERE)
    mode = _special(path)
    if mode is not None and (seeks or not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode))):
        raise InputError("a device, pipe or socket; a regular file is needed", path=path, remedy=_ELSEWHERE)


def _special(path: str | os.PathLike) -> int | None:
    """The mode of what is neither a regular file nor a folder; None of these, and where there is nothing."""
    with suppress(OSError, ValueError):
        mode = os.stat(path).st_mode
        return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else mode
    return None


def _begins(path: str | os.PathLike, beginning: bytes) -> bool:
    with open(path, "rb") as stream:
        return stream.read(len(beginning)) == beginning


@contextmanager
def replaced(
    path: str | os.PathLike, *, seeks: bool = False, over: bytes | None = None, follow: bool = True
) -> Iterator[IO[bytes]]:
    """As `atomic_file`, but raises InputError if the file cannot be written, and MachineLacks if the disk is full."""
    try:
        with atomic_file(Path(path), seeks=seeks, over=over, follow=follow) as stream:
            yield stream
    except OSError as error:
        raise of_system(error) from None


@contextmanager
def atomic_file(
    path: Path, durable: bool = True, *, seeks: bool = False, over: bytes | None = None, follow: bool = False,
    check: Callable[[], None] | None = None, added: Callable[[Path], None] | None = None,
) -> Iterator[IO[bytes]]:  # fmt: skip
    """Opens a new binary file that replaces `path` when the block ends without an exception, and is deleted otherwise.

    An OSError without a file name, such as that of a full disk, gets the name of this file. A pipe or a character
    device is opened for writing instead. Raises InputError as `require_writable` does, with `seeks` and `over`.

    durable  wait until the file is on the disk, first its content and then its name, so that a loss of power leaves the
             old file or the new one; not for what is made anew when it is found damaged
    follow   whether to replace what a symbolic link leads to, and not the link
    check    called when the file is about to get its name; if it raises, the file does not. No other process that gives
             a `check` for a path of the same folder, or of one beside that, gives a name meanwhile
    added    called with the path when the file has its name, still locked by this process: `caches.added`
    """
    require_writable(path, seeks, over)
    output, path = path, _followed(path) if follow else path
    try:
        if (follow or not output.is_symlink()) and _special(output) is not None:
            with open(_opened(output), "wb") as stream:
                yield stream
            return
        make_folder(path.parent)
        with temporary.File(path) as made, ExitStack() as naming:
            with open(os.dup(made.handle), "r+b") as stream:
                yield stream
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
            require_writable(output, seeks, over)  # which may have been read meanwhile
            if check is not None:
                naming.enter_context(temporary.exclusive(path.parent.parent))
                check()
            _remember(os.fstat(made.handle), "")
            made.rename(path)
            if durable:
                sync(path.parent)
            if added is not None:
                added(path)
    except OSError as error:
        if error.filename in (None, str(path)) or str(error.filename).endswith(".tmp"):
            error.filename = str(output)
        raise


def _opened(path: Path) -> int:
    """Opens a pipe or a character device for writing. Raises InputError if nobody reads from a pipe."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise InputError("nobody reads from this pipe", path=path, remedy="start its reader first") from None
    os.set_blocking(handle, True)
    return handle


def _followed(path: Path) -> Path:
    """What a symbolic link leads to; any other path as it is."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def link_file(file: Path, path: Path, over: bytes | None = None) -> None:
    """Gives a file that is on the disk another name, in the place of what has it; it is copied where that cannot be.
    Raises OSError if it cannot be written, and InputError as `atomic_file` does that `seeks`."""
    require_writable(path, True, over)
    path = _followed(path)
    made = temporary.name_beside(path)
    make_folder(path.parent)
    try:
        os.link(file, made)
        os.replace(made, path)
        sync(path.parent)
    except OSError:  # another file system, or one without links
        made.unlink(missing_ok=True)
        with open(file, "rb") as source, atomic_file(path, over=over) as copy:
            shutil.copyfileobj(source, copy, 1 << 20)


# ------------------------------------------------------------------ on the disk


def sync(path: Path, whole: bool = False) -> None:
    """Waits until the content of a file, or the names in a folder, are on the disk; of a folder and all in it if
    `whole`. Raises OSError if they cannot be written."""
    for each in sorted(path.rglob("*"), reverse=True) if whole else ():
        if not each.is_symlink():
            sync(each)
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems know no fsync of a folder
            error.filename = str(path)
            raise
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it, and waits until those that were not there are on the disk. Raises OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync(each.parent)
