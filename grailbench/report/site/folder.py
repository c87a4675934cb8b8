"""The folder of a site, which is there whole or as it was.

The files are written into a hidden folder beside it, which takes its place at the end. A folder with anything else than
a site of ours is never replaced: the file `MARK` lists what a site wrote.
"""

import glob
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from grailbench.errors import InputError, of_system
from grailbench.util import outputs, paths, temporary

MARK = "grailbench-site.json"
FORMAT = 1
_TAKEN, _NEW, _OLD = "grailbench-", ".new", ".old"
_REMEDY = "name a folder that is new or empty, or a site that grailbench made"


class Site:
    """A site that is being written. `files` are the addresses of its files; `out` is where they will be."""

    def __init__(self, folder: Path, out: Path):
        self.folder, self.out = folder, out
        self.files: set[str] = set()

    def write(self, address: str, content: Iterable[bytes] | bytes) -> None:
        """Write a file. Raises InputError for an address outside of the site, if the site has the file already, and if
        it cannot be written; MachineLacks if the disk is full."""
        parts = PurePosixPath(address).parts
        if not parts or ".." in parts or address.startswith("/") or "\\" in address:
            raise InputError(f"no file of a site is called {address!r}")
        if address.casefold() in {each.casefold() for each in (*self.files, MARK)}:
            raise InputError(
                f"two pages of the site would be {address}", remedy="leave out one of the runs they are of"
            )
        self.files.add(address)
        path = self.folder / address
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as file:
                file.writelines([content] if isinstance(content, bytes) else content)
        except OSError as error:  # the system names no file where it was a write that failed
            read = error.filename is not None and not Path(error.filename).is_relative_to(self.folder)
            raise of_system(error, error.filename if read else self.out / address) from None


@contextmanager
def renewed(out: Path) -> Iterator[Site]:
    """A site that takes the place of the one in `out` when the block ends, and leaves that as it was if it fails.

    Raises InputError if `out` is anything else than a new or empty folder or a whole site of ours, and if it cannot be
    written.
    """
    out = Path(out).resolve()
    new = _beside(out, _NEW)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _clear(out)
        require_ours(out)
        new.mkdir()
        handle = os.open(new, os.O_RDONLY)
    except OSError as error:
        raise of_system(error, out) from None
    try:
        temporary.lock(handle)
        site = Site(new, out)
        yield site
        try:
            marked = {"grailbench_site": FORMAT, "files": sorted(site.files)}
            (new / MARK).write_text(json.dumps(marked, indent=1) + "\n", "utf-8")
            outputs.sync(new, whole=True)
            require_ours(out)
            _replace(out, new)
        except OSError as error:
            raise of_system(error, out) from None
    finally:
        os.close(handle)
        shutil.rmtree(new, ignore_errors=True)


def require_ours(out: Path) -> None:
    """Raise InputError if a folder is there and has anything else than a whole site of ours."""
    if not paths.marked(out, MARK, "site", _REMEDY):
        return
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()}
    try:
        listed = {*json.loads((out / MARK).read_text("utf-8"))["files"], MARK}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise InputError("is not the mark of a site", path=out / MARK, remedy=_REMEDY) from None
    paths.require_own(out, there - listed, "site")


def _beside(out: Path, kind: str) -> Path:
    """A new name beside the folder, which nobody else gives to a folder."""
    return out.with_name(f".{out.name}.{_TAKEN}{secrets.token_hex(4)}{kind}")


def _replace(out: Path, new: Path) -> None:
    """Put a folder in the place of another, which stays where that fails."""
    old = _beside(out, _OLD)
    try:
        if out.exists():
            os.rename(out, old)
        os.rename(new, out)
        outputs.sync(out.parent)
    except BaseException:
        if old.exists() and not out.exists():
            os.rename(old, out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _clear(out: Path) -> None:
    """Put back a site that a killed writer had moved away, and remove what such writers left half written."""
    pattern = f".{glob.escape(out.name)}.{_TAKEN}{'[0-9a-f]' * 8}"
    for old in sorted(out.parent.glob(pattern + _OLD)):
        if out.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(old, out)
    for new in out.parent.glob(pattern + _NEW):
        with suppress(OSError):
            handle = os.open(new, os.O_RDONLY)
            if temporary.lock(handle) is not False:  # no other process writes it
                shutil.rmtree(new, ignore_errors=True)
            os.close(handle)
