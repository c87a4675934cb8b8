"""What happens when a process of the tests ends: how it ended is printed, and the test that it was at runs once more.

One of the processes of `make test` ends now and then, not known by what: without a word, at any test, each of which
passes alone. A test that ends its process itself does so twice, and has failed.
"""

import subprocess
from contextlib import suppress

import pytest

_again: set[str] = set()  #: tests that have ended a process


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Prints with which code the process ended: minus the number of a signal, or what it gave itself."""
    if error is None:
        return
    process = node.gateway._io.popen
    with suppress(subprocess.TimeoutExpired):
        process.wait(30)
    print(f"\n{node.gateway.id}: process {process.pid} of the tests ended with code {process.returncode}", flush=True)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem, report, sched):
    """Has the test run once more."""
    if crashitem not in _again:
        _again.add(crashitem)
        print(f"{crashitem} runs again", flush=True)
        sched.mark_test_pending(crashitem)
        report.outcome = "rerun"
