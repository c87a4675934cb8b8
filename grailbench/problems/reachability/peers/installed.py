"""Importing a peer, or saying which extra installs it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from grailbench.errors import MachineLacks


def installed(project: str, *modules: str) -> ModuleType:
    """Imports the modules of a project and returns the first. Raises MachineLacks, naming the extra, without them."""
    try:
        return [import_module(name) for name in modules][0]
    except ImportError as error:
        raise MachineLacks(f"{project} is not installed ({error}): pip install 'grailbench[peers]'") from error
