"""Each operation on files that is meant to last, counted; the k-th can kill, fail, or be written down.

What is counted, of files and folders below some: a file that is made or emptied, a write, a truncation, fsync,
rename, link, unlink, mkdir, rmdir. Python's own functions are replaced, so nothing else is needed. What C code writes
by the descriptor of an open file (`numpy.tofile`) is seen as one write when Python next touches that file. A process
that a counted one starts is counted with it. Not counted: chmod, times, locks, and files that C code opens itself.
"""

import builtins
import errno
import fcntl
import io
import json
import os
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

VARIABLE = "GRAILBENCH_FAILPOINTS"
#: what the k-th operation does. 'count' does nothing; 'record' keeps what was written, for `powerloss`
MODES = ("count", "record", "kill", "torn", "fail", "short")
#: operations that an error of the disk can end
OF_SPACE = {"write", "create", "mkdir", "link"}
FAILING = {errno.ENOSPC: OF_SPACE, errno.EDQUOT: OF_SPACE, errno.EIO: {"write", "fsync"}}

_true = {name: getattr(os, name) for name in (
    "open", "write", "ftruncate", "fsync", "replace", "rename", "link", "unlink", "remove", "mkdir", "rmdir",
    "sendfile", "copy_file_range",
) if hasattr(os, name)}  # fmt: skip
_true_open = io.open


@dataclass(frozen=True)
class Order:
    """What is to happen.

    under  folders whose files are watched; real paths
    log    the folder for the count and the log, outside of them
    mode   one of MODES: 'kill' before the operation, 'torn' after half the bytes of a write, 'fail' with an error there
           and at all later ones, 'short' the same after half the bytes
    at     number of the operation, from 1
    error  errno of 'fail' and 'short'
    """

    under: tuple[str, ...]
    log: str
    mode: str = "count"
    at: int = 0
    error: int = errno.ENOSPC


class _Log:
    """The count that all processes share, and the operations, a JSON object a line."""

    def __init__(self, folder: str):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self._turn = threading.RLock()
        self._handle = -1
        self._pid = 0

    def __enter__(self):
        self._turn.acquire()
        if self._pid != os.getpid():  # a lock of flock is shared with whoever forked
            self._pid, flags = os.getpid(), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._handle = _true["open"](os.path.join(self.folder, "log.jsonl"), flags, 0o666)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        return self

    def __exit__(self, *error):
        fcntl.flock(self._handle, fcntl.LOCK_UN)
        self._turn.release()

    def add(self, said: dict) -> int:
        """Append an operation; returns its number."""
        number = self._count() + 1
        line = json.dumps({"number": number, **said}).encode()
        if len(line) >= _LINE:
            raise ValueError(f"a path too long for the log of operations: {line[:200]!r}")
        _true["write"](self._handle, line.ljust(_LINE - 1) + b"\n")
        return number

    def _count(self) -> int:
        return os.fstat(self._handle).st_size // _LINE


_LINE = 512  # bytes of a line of the log, so that its size is the count


def read(log: str | os.PathLike) -> list[dict]:
    """The operations that were counted, in order."""
    path = Path(log) / "log.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class _Points:
    """The replaced functions, for one order."""

    def __init__(self, order: Order):
        self.order, self.log = order, _Log(order.log)
        self._under = tuple(f"{os.path.realpath(each)}{os.sep}" for each in order.under)
        self.sizes: dict[tuple[int, int], int] = {}  # of open files by inode, as far as their writes were seen

    # ------------------------------------------------------------------ where

    def path(self, path, dir_fd: int | None = None) -> str | None:
        """The real path of a name, or None if it is not watched. The last part is not followed if it is a link."""
        if isinstance(path, int):
            return self.of(path)
        name = os.fsdecode(path)
        if dir_fd is not None and not os.path.isabs(name):
            name = os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}"), name)
        head, tail = os.path.split(os.path.abspath(name))
        return self._watched(os.path.join(os.path.realpath(head), tail))

    def of(self, handle: int) -> str | None:
        """The path of an open file or folder, or None if it is not watched."""
        try:
            return self._watched(os.readlink(f"/proc/self/fd/{handle}"))
        except OSError:
            return None

    def _watched(self, real: str) -> str | None:
        return real if f"{real}{os.sep}".startswith(self._under) else None

    # ------------------------------------------------------------------ what happens

    def point(self, kind: str, path: str, half: Callable[[], int] | None = None, named: bool = True, **more):
        """Count an operation. Returns None if it is to go on, or what `half` of it returned."""
        order = self.order
        with self.log:
            number = self.log.add({"kind": kind, "path": path, "pid": os.getpid(), **more})
        if order.mode in ("kill", "torn") and number == order.at:
            if order.mode == "torn" and half is not None:
                half()
            os.killpg(0, signal.SIGKILL)
            signal.pause()
        if order.mode in ("fail", "short") and number >= order.at and kind in FAILING[order.error]:
            if order.mode == "short" and number == order.at and half is not None and (done := half()):
                return done
            raise OSError(order.error, os.strerror(order.error), *([path] if named else []))
        return None

    def keep(self, handle: int, at: int, data) -> dict:
        """What to write down of a write: its inode and place, and in mode 'record' its bytes, in a file."""
        found = os.fstat(handle)
        said = {"inode": found.st_ino, "offset": at, "size": len(data)}
        if self.order.mode == "record":
            made, name = tempfile.mkstemp(dir=self.order.log)
            with _true_open(made, "wb") as file:
                file.write(data)
            said["data"] = os.path.basename(name)
        return said

    def written(self, handle: int, path: str, at: int, view: memoryview, write: Callable[[memoryview], int]) -> int:
        """Count a write at a place, and do it; returns how many bytes were written."""
        kept = self.keep(handle, at, view)
        done = self.point("write", path, lambda: write(view[: len(view) // 2]), named=False, **kept)
        if done is None:
            done = write(view)
        self.note_size(handle)
        return done

    def note_size(self, handle: int) -> None:
        found = os.fstat(handle)
        self.sizes[found.st_dev, found.st_ino] = found.st_size

    def unseen(self, handle: int, path: str) -> None:
        """Count what C code has appended to an open file since it was last looked at, as one write."""
        found = os.fstat(handle)
        known = self.sizes.setdefault((found.st_dev, found.st_ino), found.st_size)
        if found.st_size <= known:
            self.sizes[found.st_dev, found.st_ino] = found.st_size
            return
        with _true_open(f"/proc/self/fd/{handle}", "rb") as file:
            file.seek(known)
            data = file.read()

        doomed = self.order.mode in ("kill", "torn", "fail", "short")
        if doomed:  # as if it had not been written yet
            _true["ftruncate"](handle, known)
        self.sizes[found.st_dev, found.st_ino] = found.st_size

        def half() -> int:
            os.pwrite(handle, data[: len(data) // 2], known)
            return 0

        self.point("write", path, half, named=False, **self.keep(handle, known, data))
        if doomed:
            os.pwrite(handle, data, known)


_points: _Points | None = None


# ---------------------------------------------------------------------- files of Python


class _Raw(io.FileIO):
    """A file that is watched; all writes of a buffer or a text above it come by here."""

    def __init__(self, file, mode, closefd, opener):
        if isinstance(file, int):
            self.watched = _points.of(file)
        else:
            self.watched = _points.path(file)
            if opener is None:
                _made(self.watched, file, "x" in mode, "w" in mode, "r" not in mode)
        super().__init__(file, mode, closefd, opener)
        self._appends = "a" in mode
        found = os.fstat(self.fileno())
        if _points.sizes.get((found.st_dev, found.st_ino)) is None or not isinstance(file, int):
            _points.note_size(self.fileno())
        if self.watched is not None and not isinstance(file, int):
            _opened(self.fileno(), self.watched)

    def write(self, data):
        if self.watched is None or _points is None:
            return super().write(data)
        self._look()
        view, handle = memoryview(data).cast("B"), super().fileno()
        if len(view) == 0:
            return 0
        at = os.fstat(handle).st_size if self._appends else super().tell()
        return _points.written(handle, self.watched, at, view, super().write)

    def truncate(self, size=None):
        if self.watched is not None and _points is not None:
            self._look()
            to = super().tell() if size is None else size
            _points.point("truncate", self.watched, named=False, inode=os.fstat(super().fileno()).st_ino, size=to)
        size = super().truncate(size)
        if _points is not None:
            _points.note_size(super().fileno())
        return size

    def seek(self, *given):
        self._look()
        return super().seek(*given)

    def close(self):
        if not self.closed:
            try:
                self._look()
            finally:
                super().close()

    def _look(self):
        if _points is not None and self.watched is not None:
            _points.unseen(super().fileno(), self.watched)


def _made(path: str | None, name, new: bool, empties: bool, makes: bool, dir_fd: int | None = None) -> None:
    """Count the making or emptying of a file that is about to be opened."""
    if path is None:
        return
    try:
        found = os.stat(name, dir_fd=dir_fd)
    except OSError:
        if makes and os.path.isdir(os.path.dirname(path)):
            _points.point("create", path)
        return
    if empties and not new and stat.S_ISREG(found.st_mode) and found.st_size:
        _points.point("truncate", path, inode=found.st_ino, size=0)


def _opened(handle: int, path: str) -> None:
    """Write down the inode of a path, for `powerloss`: which file a name stands for."""
    if _points.order.mode == "record":
        said = {"inode": os.fstat(handle).st_ino, "path": path}
        with _points.log, _true_open(os.path.join(_points.order.log, "inodes.jsonl"), "a") as file:
            file.write(json.dumps({**said, "after": _points.log._count()}) + "\n")


def _open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    plain = (file, mode, buffering, encoding, errors, newline, closefd, opener)
    if _points is None or not set("wax+") & set(mode) or _points.path(file) is None:
        return _true_open(*plain)
    binary = "b" in mode
    if buffering == 0 and not binary:
        raise ValueError("can't have unbuffered text I/O")
    raw = _Raw(file, "".join(sign for sign in mode if sign not in "bt"), closefd, opener)
    if buffering == 0:
        return raw
    kind = io.BufferedRandom if "+" in mode else io.BufferedWriter
    buffered = kind(raw, buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE)
    if binary:
        return buffered
    text = io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)
    text.mode = mode
    return text


# ---------------------------------------------------------------------- functions of os


def _os_open(path, flags, mode=0o777, *, dir_fd=None):
    if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return _true["open"](path, flags, mode, dir_fd=dir_fd)
    watched = _points.path(path, dir_fd)
    if watched is not None and flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", -1):
        _points.point("create", watched, nameless=True)
    else:
        _made(watched, path, flags & os.O_EXCL, flags & os.O_TRUNC, flags & os.O_CREAT, dir_fd)
    handle = _true["open"](path, flags, mode, dir_fd=dir_fd)
    if watched is not None and stat.S_ISREG(os.fstat(handle).st_mode):
        _points.note_size(handle)
        _opened(handle, watched)
    return handle


def _regular(handle: int) -> str | None:
    path = _points.of(handle)
    return path if path is not None and stat.S_ISREG(os.fstat(handle).st_mode) else None


def _os_write(handle, data):
    path, view = _regular(handle), memoryview(data).cast("B")
    if path is None or len(view) == 0:
        return _true["write"](handle, view)
    _points.unseen(handle, path)
    appends = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_APPEND
    at = os.fstat(handle).st_size if appends else os.lseek(handle, 0, os.SEEK_CUR)
    return _points.written(handle, path, at, view, lambda data: _true["write"](handle, data))


def _os_ftruncate(handle, size):
    if (path := _regular(handle)) is not None:
        _points.unseen(handle, path)
        _points.point("truncate", path, named=False, inode=os.fstat(handle).st_ino, size=size)
    _true["ftruncate"](handle, size)
    if path is not None:
        _points.note_size(handle)


def _not_here(*given):
    raise OSError(errno.ENOSYS, "not while operations are counted")  # callers fall back to reads and writes


def _os_fsync(handle):
    number = handle if isinstance(handle, int) else handle.fileno()
    if (path := _points.of(number)) is not None:
        found, more = os.fstat(number), {}
        if stat.S_ISREG(found.st_mode):
            _points.unseen(number, path)
            if _points.order.mode == "record":  # what was written to a map of the file is seen only now
                with _true_open(f"/proc/self/fd/{number}", "rb") as file:
                    more = _points.keep(number, 0, file.read())
        more |= {"inode": found.st_ino, "folder": stat.S_ISDIR(found.st_mode)}
        _points.point("fsync", path, named=False, **more)
    return _true["fsync"](handle)


def _moved(name: str):
    def replace(src, dst, *, src_dir_fd=None, dst_dir_fd=None):
        watched = source, to = _points.path(src, src_dir_fd), _points.path(dst, dst_dir_fd)
        if watched != (None, None) and os.path.lexists(source or src):
            _points.point("rename", to or os.fspath(dst), source=source or os.fspath(src))
        return _true[name](src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    return replace


def _os_link(src, dst, *, src_dir_fd=None, dst_dir_fd=None, follow_symlinks=True):
    if (to := _points.path(dst, dst_dir_fd)) is not None and not os.path.lexists(to):
        found = os.stat(src) if follow_symlinks else os.lstat(src)
        _points.point("link", to, inode=found.st_ino)
    return _true["link"](src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks)


def _gone(name: str, kind: str):
    def unlink(path, *, dir_fd=None):
        if (watched := _points.path(path, dir_fd)) is not None and os.path.lexists(watched):
            _points.point(kind, watched)
        return _true[name](path, dir_fd=dir_fd)

    return unlink


def _os_mkdir(path, mode=0o777, *, dir_fd=None):
    watched = _points.path(path, dir_fd)
    if watched is not None and not os.path.lexists(watched) and os.path.isdir(os.path.dirname(watched)):
        _points.point("mkdir", watched)
    return _true["mkdir"](path, mode, dir_fd=dir_fd)


_REPLACED = {
    "open": _os_open, "write": _os_write, "ftruncate": _os_ftruncate,
    "fsync": _os_fsync, "replace": _moved("replace"), "rename": _moved("rename"), "link": _os_link,
    "unlink": _gone("unlink", "unlink"), "remove": _gone("remove", "unlink"), "rmdir": _gone("rmdir", "rmdir"),
    "mkdir": _os_mkdir, "sendfile": _not_here, "copy_file_range": _not_here,
}  # fmt: skip


# ---------------------------------------------------------------------- on and off


def install(order: Order) -> None:
    """Watch this process from now on, and those that it starts."""
    global _points
    _points = _Points(order)
    for name in _true:
        setattr(os, name, _REPLACED[name])
    for name in ("unlink", "rmdir", "open"):  # `shutil.rmtree` asks whether these take a dir_fd
        os.supports_dir_fd.add(getattr(os, name))
    io.open = builtins.open = _open
    os.environ[VARIABLE] = json.dumps(asdict(order))
    site = os.path.join(order.log, "site")
    os.makedirs(site, exist_ok=True)
    with _true_open(os.path.join(site, "sitecustomize.py"), "w") as file:
        here = str(Path(__file__).parent)
        file.write(f"import sys\n\nsys.path.append({here!r})\nimport failpoints\n\nfailpoints.join()\n")
    sys.path.insert(0, site)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (site, os.environ.get("PYTHONPATH"))))


def join() -> None:
    """Watch this process as the one that started it, if that is watched."""
    if said := os.environ.get(VARIABLE):
        given = json.loads(said)
        install(Order(**given | {"under": tuple(given["under"])}))
