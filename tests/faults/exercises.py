"""What reaches the kernels that neither the corpus of fuzzing nor random digraphs do: tests, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
#: files whose tests call kernels, the quickest first
FILES = (
    "test_queries.py", "test_oracle.py", "test_numbering.py", "test_leveled.py", "test_condense.py", "test_weights.py",
    "test_api.py", "test_api_edges.py", "test_counts.py", "test_nx_backend.py", "test_core.py", "test_core_patterns.py",
    "test_core_peel.py", "test_sweep.py", "test_streamed.py", "test_reductions.py", "test_profile.py", "test_limits.py",
    "test_generate.py", "test_shapes.py", "test_catalogue.py",
)  # fmt: skip
#: tests that ask how often something is compiled or how large a process is, which checked indices change
BUT = "not compile and not memory and not bytes"


class _Failures:
    def __init__(self):
        self.said: list[str] = []
        self.passed = 0

    def pytest_runtest_logreport(self, report) -> None:
        self.passed += report.when == "call" and report.passed
        if report.failed:
            self.said.append(f"{report.nodeid}: {report.longreprtext[-300:]}")


def every() -> Iterator[tuple[str, Callable[[], object]]]:
    """The name of a file of tests, and what runs its tests and returns how many passed; it raises AssertionError."""
    for name in FILES:
        yield name, lambda name=name: _run(TESTS / name)


def _run(path: Path) -> int:
    found = _Failures()
    os.environ.pop("GRAILBENCH_MIRROR", None)
    words = [
        str(path),
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:warnings",
        "-p",
        "no:xdist",
        "--no-header",
        "--tb=short",
    ]
    words += ["-m", "not processes and not simulator and not mirror", "-k", BUT, "-o", "addopts="]
    code = pytest.main(words, plugins=[found])
    assert not found.said, found.said
    assert code in (0, 5), f"pytest ended with {code}"
    return found.passed
