"""What is on the disk for good: files and names that are there after a loss of power.

A system writes when it likes. A file that was written is sure to be on the disk after an fsync of it, and its name
after one of its folder. So who replaces a file syncs the new one, renames it, and syncs the folder: then the old one or
the new one is there, whole, at any time.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path


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
