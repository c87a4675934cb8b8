"""What reaches the kernels of the CPU that neither the corpus of fuzzing nor random digraphs do."""

from __future__ import annotations

from collections.abc import Callable, Iterator


def every() -> Iterator[tuple[str, Callable[[], object]]]:
    """A name, and what is to be called."""
    yield from ()
