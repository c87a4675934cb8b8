"""Tests that call kernels which neither the corpus of fuzzing nor random digraphs reach; they run in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

TESTS = Path(__file__).resolve().parents[1]
#: those that take longest first
FILES = (
    "test_generate.py", "test_api.py", "test_core.py", "test_catalogue.py", "test_shapes.py", "test_fused.py",
    "test_gpu_pipelines.py", "test_counts_gpu.py", "test_edges_to_levels.py", "test_sweep.py", "test_streamed.py",
    "test_core_patterns.py", "test_core_peel.py", "test_profile.py", "test_explained.py",
    "test_nx_backend.py", "test_counts.py", "test_traversal.py", "test_limits.py", "test_api_edges.py",
    "test_queries.py", "test_oracle.py", "test_numbering.py", "test_leveled.py", "test_condense.py",
    "test_weights.py",
)  # fmt: skip
#: tests that ask how often something is compiled or how large a process is, which checked indices change
BUT = "not compile and not memory and not bytes"


#: what a test says that failed for want of a package, which is no fault
_LACKING = ("ModuleNotFoundError: No module named", "errors.MachineLacks: ")


class _Failures:
    def __init__(self):
        self.said: list[str] = []
        self.passed = self.lacking = 0

    def pytest_runtest_logreport(self, report) -> None:
        self.passed += report.when == "call" and report.passed
        self.pytest_collectreport(report)

    def pytest_collectreport(self, report) -> None:
        if report.failed and "IndexError" not in report.longreprtext and any(map(report.longreprtext.count, _LACKING)):
            self.lacking += 1
        elif report.failed:
            self.said.append(f"{report.nodeid}: {report.longreprtext[-300:]}")


def without_duckdb() -> None:
    """Has numpy sort the edges of `streamed` where DuckDB is not installed, which has no kernels of ours."""
    from grailbench.errors import MachineLacks
    from grailbench.outofcore import edges

    try:
        edges.require()
    except MachineLacks:
        edges.require = lambda: None
        edges._sorted = lambda keys, room, spill: iter([np.sort(np.concatenate([*keys, np.empty(0, np.uint64)]))])


def run(name: str) -> dict:
    """Run a file of tests, as where there is no GPU. Returns how many `tests` passed, how many failed for want of a
    package (`lacking`), and the `faults`: what the others say that failed."""
    from grailbench.cuda import installed

    installed.gpus = list  # tests that need one use numba's simulator
    found = _Failures()
    words = [str(TESTS / name), "-q", "-p", "no:cacheprovider", "--disable-warnings", "--no-header", "--tb=short"]
    words += ["-m", "not processes and not mirror", "-k", BUT]
    code = pytest.main(words, plugins=[found])
    faults = found.said or ([] if code in (0, 5) or found.lacking else [f"pytest ended with {code}"])
    return {"tests": found.passed, "lacking": found.lacking, "faults": faults}
