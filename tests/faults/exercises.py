"""Tests that call kernels which neither the corpus of fuzzing nor random digraphs reach; they run in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
#: those that take longest first
FILES = (
    "test_generate.py", "test_api.py", "test_core.py", "test_catalogue.py", "test_shapes.py", "test_fused.py",
    "test_gpu.py", "test_counts_gpu.py", "test_edges_to_levels.py", "test_sweep.py", "test_streamed.py",
    "test_core_patterns.py", "test_core_peel.py", "test_reductions.py", "test_profile.py", "test_explained.py",
    "test_nx_backend.py", "test_counts.py", "test_traversal.py", "test_limits.py", "test_api_edges.py",
    "test_queries.py", "test_oracle.py", "test_numbering.py", "test_leveled.py", "test_condense.py",
    "test_weights.py",
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


def run(name: str) -> tuple[int, list[str]]:
    """Run a file of tests, as where there is no GPU; returns how many passed, and what those say that failed."""
    from grailbench.device import installed

    installed.gpus = list  # tests that need one use numba's simulator
    found = _Failures()
    words = [str(TESTS / name), "-q", "-p", "no:cacheprovider", "--disable-warnings", "--no-header", "--tb=short"]
    words += ["-m", "not processes and not mirror", "-k", BUT]
    code = pytest.main(words, plugins=[found])
    return found.passed, found.said or ([] if code in (0, 5) else [f"pytest ended with {code}"])
