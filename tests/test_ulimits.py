"""Under small limits of the shell (`ulimit`) a command works, or ends by itself with one line and exit code 4."""

import errno
import os
import threading

import pytest
from commands import call, in_python

from grailbench.errors import MachineLacks, of_system
from grailbench.util import memory

COMMAND = """import resource
resource.setrlimit(resource.RLIMIT_{which}, ({most}, {most}))
from grailbench.cli.main import main
main({words!r})
"""


@pytest.mark.parametrize("megabytes", [100, 500, 4000])
@pytest.mark.parametrize("which", ["AS", "DATA"])
def test_a_command_with_little_memory_works_or_ends_with_one_line(which, megabytes):
    """OpenBLAS tried for ever to get memory, and heard neither Ctrl-C nor SIGTERM, or ended the command with 1."""
    code, out = in_python(COMMAND.format(which=which, most=megabytes * 10**6, words=["list", "datasets"]))
    if code != 0 or megabytes == 100:
        assert (code, out.count("\n")) == (4, 1), out
        assert out.startswith(f"error: ulimit -{'v' if which == 'AS' else 'd'} {megabytes * 10**6 // 1024}: too little")
    else:
        assert "kegg" in out


def test_help_needs_no_memory():
    code, out = in_python(COMMAND.format(which="AS", most=100 * 10**6, words=["run", "--help"]))
    assert (code, "Exit" in out) == (0, True), out


def test_the_library_says_that_memory_is_too_little():
    """The process ended, or hung, in `gb.build`."""
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (150 * 10**6, 150 * 10**6))\n"
        "import grailbench as gb\n"
        "try: gb.build('kegg')\n"
        "except gb.MachineLacks as error: print(error)"
    )
    code, out = in_python(program)
    assert (code, "ulimit -v 146484" in out) == (0, True), out


def test_what_is_loaded_is_not_required_again_and_fewer_threads_need_less(monkeypatch):
    monkeypatch.setattr(memory.resource, "getrlimit", lambda which: (10**9, 10**9))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for name in ("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(memory.sys.modules, "numba", None)
    memory.require_loadable()
    monkeypatch.delitem(memory.sys.modules, "numba")
    with pytest.raises(MachineLacks, match=r"ulimit -v 976562 and ulimit -d 976562: too little .* 7.0 GB and 192 thr"):
        memory.require_loadable()
    for name in ("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    memory.require_loadable()


def test_a_thread_that_cannot_be_started_is_one_line(monkeypatch, capsys):
    """It was a traceback of Python's under `ulimit -u`."""

    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    code, out, err = call(capsys, "list", "datasets")
    assert (code, err) == (4, "error: can't start new thread: too many processes or threads (raise `ulimit -u`)\n")


@pytest.mark.parametrize(("number", "option"), [(errno.EMFILE, "-n"), (errno.EAGAIN, "-u"), (errno.EFBIG, "-f")])
def test_errors_of_limits_name_the_limit(number, option):
    """Too many open files were bad input, for which another cache was the remedy."""
    found = of_system(OSError(number, "why", "/the/file"))
    assert isinstance(found, MachineLacks)
    assert f"raise `ulimit {option}`" in str(found)
