"""stdout and stderr of the command, which may be closed early, full, or unable to encode a character.

Text is shown by `visible`, whoever writes it, be it a library that warns; what is written as bytes is data and stays
what it is, but for what a terminal would obey."""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from grailbench.util.visible import visible

KEEP = "\n\t"  #: what text of several lines and columns has


class ReaderLeft(BaseException):
    """Nobody reads what the command says any more, as after `| head`."""


class _Descriptor(io.FileIO):
    """A file descriptor whose writes raise nothing but ReaderLeft, once. After an error all output is dropped;
    `failure` is the error, or None if only the reader left early (`| head`)."""

    failure: OSError | None = None
    ends = False  #: whether the work ends with its reader
    _lost = False

    def write(self, data) -> int | None:
        if not self._lost:
            try:
                return super().write(data)
            except BrokenPipeError:
                self._lost = True
                if self.ends:
                    raise ReaderLeft from None
            except OSError as error:
                self.failure, self._lost = error, True
        return memoryview(data).nbytes


class _Shown(io.TextIOWrapper):
    """A stream of text that shows what is hidden in it. `bare` writes to the same place as it is, for who shows it
    already and adds colours."""

    def __init__(self, below: io.BufferedWriter, **how):
        super().__init__(below, write_through=True, **how)
        self.bare = io.TextIOWrapper(below, write_through=True, **how)

    def write(self, text: str) -> int:
        super().write(visible(text, KEEP))
        return len(text)


@contextmanager
def guarded() -> Iterator[Callable[[], OSError | None]]:
    """In the block, a write to stdout that nobody reads any more raises ReaderLeft; other errors of writes to stdout
    and stderr do not raise, so that the work goes on to its end. Gives a function that returns the error because of
    which output was lost, or None.

    Characters that cannot be encoded are replaced. A closed stream acts as /dev/null. Streams that are not those of
    the process, as in tests, are not changed.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, stdout = _wrapped(sys.stdout, sys.__stdout__)
    if stdout is not None:
        stdout.ends = True
    sys.stderr, _ = _wrapped(sys.stderr, sys.__stderr__)

    def failure() -> OSError | None:
        with suppress(ReaderLeft):
            sys.stdout.flush()
        return None if stdout is None else stdout.failure

    try:
        yield failure
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(ReaderLeft):
                stream.flush()
        sys.stdout, sys.stderr = before


def _wrapped(stream, own):
    """Returns the stream to write to, and the descriptor below it if it was made here."""
    if stream is None:
        return open(os.devnull, "w"), None
    if stream is not own:
        return stream, None
    stream.flush()
    below = _Descriptor(stream.fileno(), "w", closefd=False)
    errors = "replace" if stream.errors in ("strict", "surrogateescape") else stream.errors
    eager = stream.line_buffering or stream.write_through
    return _Shown(io.BufferedWriter(below), encoding=stream.encoding, errors=errors, line_buffering=eager), below
