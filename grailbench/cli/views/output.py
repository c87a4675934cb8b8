"""Where commands write answers: a file, packed if its name says so, or the standard output."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import click

from grailbench.cli.streams import KEEP
from grailbench.util.outputs import replaced
from grailbench.util.visible import visible


@contextmanager
def output(path: str | None) -> Iterator[IO[bytes]]:
    """A binary stream to a file, which appears whole or not at all and is compressed if its name ends with .gz; '-' and
    None are the standard output, where a terminal gets what is hidden as text, and a pipe every byte as it is.

    Raises InputError or MachineLacks if the file cannot be written.
    """
    if path in (None, "-"):
        yield _Screen()
        return
    with replaced(path) as stream:
        if path.endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
                yield packed
        else:
            yield stream


class _Screen(io.RawIOBase):
    """The standard output as a binary file; click writes to whatever stands in its place."""

    def write(self, content: bytes) -> int:
        if sys.stdout.isatty():
            click.echo(visible(content.decode("utf-8", "surrogateescape"), KEEP), nl=False)
        else:
            click.echo(content, nl=False)
        return len(content)
