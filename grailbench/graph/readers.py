"""Any graph file to a `Graph`: one door, the format named by the user or told from name and content."""

from __future__ import annotations

import os
from pathlib import Path

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.readers_gra import read_gra
from grailbench.graph.readers_text import file_bytes

FORMATS = {"gra": read_gra}


def read_graph(path: str | os.PathLike, format: str | None = None) -> Graph:
    """The directed graph in a file, edges as the file gives them. Raises InputError naming file and line."""
    path = Path(path)
    if format is not None and format not in FORMATS:
        raise InputError(f"unknown format {format!r}", remedy=f"one of {', '.join(FORMATS)}")
    return FORMATS[format or "gra"](path, file_bytes(path))
