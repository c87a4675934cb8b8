"""The folders of files that ship with the package, and of those that are kept on a user's machine.

In a checkout (or an editable install) both are in the checkout. In an installed wheel the former are in
`grailbench/_shipped` and the cache is in the user's cache folder, or in a temporary one where that cannot be.
"""

import errno
import functools
import logging
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from grailbench.errors import FULL, InputError, of_system
from grailbench.util import outputs
from grailbench.util.visible import quoted

CACHE_MARK = "grailbench-cache"  #: a file in a cache, which says that it is one
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)  # nothing can be written into such a folder
_ELSEWHERE = "GRAILBENCH_CACHE names another folder"
_PACKAGE = Path(__file__).resolve().parents[1]
_log = logging.getLogger(__name__)


def checkout() -> Path | None:
    """The root of the checkout the package runs from, or None for an installed wheel."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "datasets").is_dir() else None


def shipped(name: str) -> Path:
    """A file or folder that ships with the package: 'datasets' (the registry, one TOML file a set), 'configs' (of
    experiments), 'results/published' (the papers' tables as CSV), 'CITATION.cff'."""
    root = checkout()
    return root / name if root is not None else _PACKAGE / "_shipped" / name


def cache_dir() -> Path:
    """The cache of downloads, condensed graphs and query sets. It is created on first use and may be deleted.

    Raises InputError if the folder cannot be created, or if GRAILBENCH_CACHE names one that is neither empty nor bears
    the mark of a cache; MachineLacks if the disk is full.
    """
    if chosen := os.environ.get("GRAILBENCH_CACHE"):
        path = expanded(chosen)
    elif (root := checkout()) is not None:
        path = root / "cache"
    else:
        path = user_cache()
    try:
        outputs.make_folder(path)
        again = f"{_ELSEWHERE}, new or empty; for a cache of an earlier version: touch {quoted(path / CACHE_MARK)}"
        # the usual place is ours whatever it has: earlier versions left no mark there
        if not (marked(path, CACHE_MARK, "cache", again) if chosen else (path / CACHE_MARK).is_file()):
            try:
                (path / CACHE_MARK).touch()
                outputs.sync(path)
            except OSError as error:  # where nothing can be written, what is there can be read
                if error.errno not in _CLOSED:
                    raise
    except OSError as error:
        if error.errno in FULL:
            raise of_system(error, path) from None
        why = "it is a file" if path.is_file() else error.strerror
        raise InputError(f"the cache cannot be kept here: {why}", path=path, remedy=_ELSEWHERE) from None
    return path


def user_cache() -> Path:
    """The folder for caches of this user; where there is no home folder, or it cannot be written, a temporary one of
    this user, with a warning. Raises InputError if that cannot be used."""
    import platformdirs

    with suppress(RuntimeError):  # there is no home folder
        usual = Path(platformdirs.user_cache_dir("grailbench"))
        above = next((each for each in (usual, *usual.parents) if each.exists()), usual)
        if usual.is_absolute() and (above == usual or os.access(above, os.W_OK)):
            return usual
    return _temporary_cache()


@functools.cache
def _temporary_cache() -> Path:
    remedy = "HOME names a home folder, XDG_CACHE_HOME one for caches"
    try:
        made = Path(tempfile.gettempdir()) / f"grailbench-{os.geteuid()}"
        made.mkdir(mode=0o700, exist_ok=True)
        found = made.lstat()
    except OSError as error:
        raise InputError(f"no home folder can be written, and no temporary one: {error}", remedy=remedy) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:  # code is read there
        raise InputError("others can write here, so it is no folder for caches", path=made, remedy=remedy)
    _log.warning("no home folder can be written: caches are in %s (%s)", made, remedy)
    return made


def expanded(text: str) -> Path:
    """The path with '~' replaced. Raises InputError if that home folder is not known."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise InputError("this home folder is not known", path=text, remedy="name it without '~'") from None


def runs_dir() -> Path:
    """The default folder of runs: `results/runs` in the checkout, or else in the current folder."""
    return (checkout() or Path.cwd()) / "results" / "runs"


def shown(path: Path) -> Path:
    """The path for a message: relative to the current folder if it is below that."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


# ------------------------------------------------------------------ folders that a user names and this program fills
#
# One is used only if it is empty or bears a mark: a file that is written before anything else. So in a folder without
# one nothing is written or deleted, and in one that bears it only what its owner knows to have written there.


def marked(folder: Path, mark: str, what: str, remedy: str) -> bool:
    """Whether a folder bears a mark; False if it is empty or missing.

    Raises InputError if it has anything else and no mark, or is no folder; OSError if it cannot be read. `what` says
    what it should be, such as 'cache'.
    """
    path = folder / mark
    if path.is_file():
        return True
    if not os.path.lexists(folder):
        return False
    if not folder.is_dir():
        raise InputError("is no folder", path=folder, remedy=remedy)
    if os.listdir(folder) and not path.is_file():  # another process may have marked it meanwhile
        raise InputError(f"is not empty, and no {what} of grailbench's", path=folder, remedy=remedy)
    return path.is_file()


def require_own(folder: Path, others: Iterable[str], what: str) -> None:
    """Raises InputError if a marked folder has `others`: the names in it that are not of this program."""
    if names := sorted(others):
        more = f", and {len(names) - 1} more" if len(names) > 1 else ""
        raise InputError(
            f"holds {names[0]!r}, which no {what} wrote{more}", path=folder,
            remedy="move that elsewhere, or name another folder",
        )  # fmt: skip
