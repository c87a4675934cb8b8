"""The command's own stdout and stderr, which may be closed early, full, or unable to show a character."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class _Descriptor(io.FileIO):
    """A file descriptor for writing that takes everything: what its reader does not want is dropped, and after an error
    everything is. `failure` is that error, unless the reader had left (`| head`)."""

    failure: OSError | None = None
    _lost = False

    def write(self, data) -> int | None:
        if not self._lost:
            try:
                return super().write(data)
            except BrokenPipeError:
                self._lost = True
            except OSError as error:
                self.failure, self._lost = error, True
        return memoryview(data).nbytes


class Outputs:
    """What became of stdout: `failure` is the error that lost some of it, else None."""

    def __init__(self, stdout: _Descriptor | None):
        self._stdout = stdout

    @property
    def failure(self) -> OSError | None:
        sys.stdout.flush()
        return None if self._stdout is None else self._stdout.failure


@contextmanager
def guarded() -> Iterator[Outputs]:
    """For the block, let no write to stdout or stderr raise: the work goes on to its end, whoever reads.

    A character that the encoding lacks is replaced. Streams that are not the process's own (those of a test) stay as
    they are, and a closed one is as if it were /dev/null.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, stdout = _wrapped(sys.stdout, sys.__stdout__)
    sys.stderr, _ = _wrapped(sys.stderr, sys.__stderr__)
    try:
        yield Outputs(stdout)
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def _wrapped(stream, own):
    """The stream to write to, and the descriptor below it where it was made here."""
    if stream is None:
        return open(os.devnull, "w"), None
    if stream is not own:
        return stream, None
    stream.flush()
    below = _Descriptor(stream.fileno(), "w", closefd=False)
    errors = "replace" if stream.errors in ("strict", "surrogateescape") else stream.errors
    eager = stream.line_buffering or stream.write_through
    return io.TextIOWrapper(
        io.BufferedWriter(below), encoding=stream.encoding, errors=errors, line_buffering=eager
    ), below
