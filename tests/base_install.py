"""Another Python that has the base install alone: what only an extra brings cannot be imported there."""

import os
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from commands import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_HIDE = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if type(finder).__name__ != "NumbaCudaFinder"]  # of a .pth file
sys.modules.update(dict.fromkeys({names!r}))
"""


def _needed(name, extras, found):
    """Add the distributions that `name` with these extras installs to `found`, itself among them."""
    for text in requires(name) or ():
        wanted = Requirement(text)
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            key = canonicalize_name(wanted.name)
            if key not in found:
                found.add(key)
                try:
                    _needed(wanted.name, tuple(wanted.extras), found)
                except PackageNotFoundError:
                    found.remove(key)  # of another platform
    return found


def base_install(folder, *extras):
    """Environment variables with which a Python, and those it starts, has grailbench with these extras and no more.

    folder: where the file that sees to it is written.
    """
    kept = _needed("grailbench", extras, {"grailbench", "pip", "setuptools"})
    owners = packages_distributions().items()
    hidden = sorted(name for name, of in owners if not kept & {canonicalize_name(owner) for owner in of})
    (folder / "sitecustomize.py").write_text(_HIDE.format(names=hidden))
    return {"PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
