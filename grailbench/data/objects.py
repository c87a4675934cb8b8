"""The objects of a git history as a graph, as in the archive of Software Heritage: commits, folders and files, each
once however many others hold it. `python -m grailbench.data.objects FOLDER COMMIT > FILE` writes it as an edge list.

Edges lead from a commit to its parents and its folder, and from a folder to what is in it, but for submodules. Objects
are numbered by their hashes, and edges are sorted, so that the file depends on the commit alone.

Source: Pietri, Spinellis and Zacchiroli, The Software Heritage Graph Dataset, MSR 2019.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from grailbench.graph.revisions import listed_objects

_SUBMODULE = b"160000"
Edge = tuple[bytes, bytes]  #: the hashes of both ends


def edges(folder: Path, commit: str) -> np.ndarray:
    """The edges of what a commit of a repository reaches, int64[m, 2], each once, in ascending order.

    Raises InputError if git refuses, MachineLacks without git.
    """
    found = list(_edges(listed_objects(folder, commit)))
    numbers = {name: at for at, name in enumerate(sorted({end for edge in found for end in edge}))}
    pairs = np.array([(numbers[source], numbers[target]) for source, target in found], np.int64)
    return np.unique(pairs.reshape(-1, 2), axis=0)


def _edges(content: bytes) -> Iterator[Edge]:
    """The edges of commits and folders, as `git cat-file --batch` prints them."""
    at = 0
    while at < len(content):
        end = content.index(b"\n", at)
        name, kind, size = content[at:end].split()
        at, source = end + 1 + int(size), bytes.fromhex(name.decode())
        body = content[end + 1 : at]
        at += 1  # a line break follows
        if kind == b"commit":
            for line in body[: body.index(b"\nauthor ")].split(b"\n"):
                yield source, bytes.fromhex(line.split()[1].decode())
        elif kind == b"tree":
            yield from ((source, target) for target in _members(body, len(source)))


def _members(body: bytes, width: int) -> Iterator[bytes]:
    """The hashes, of `width` bytes, in a folder: 'mode name', a zero byte and a hash each."""
    at = 0
    while at < len(body):
        end = body.index(b"\0", at) + 1
        if not body.startswith(_SUBMODULE, at):
            yield body[end : end + width]
        at = end + width


@click.command(help=__doc__.split("\n\n")[0])
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("commit")
def main(folder: Path, commit: str) -> None:
    np.savetxt(sys.stdout.buffer, edges(folder, commit), "%d")


if __name__ == "__main__":
    main()
