"""The command line in tests: in this process, or in one of its own."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from grailbench.cli.main import main

ROOT = Path(__file__).parents[1]
PATIENCE = 600  #: seconds that a test waits for what must come, however busy the machine
NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "NUMBA_ENABLE_CUDASIM": "0"}


def ended(*words):
    """The exit code of `grailbench WORDS` in this process, which saves the start."""
    with pytest.raises(SystemExit) as exit_:
        main([*map(str, words)])
    return exit_.value.code


def call(capture, *words):
    """The same with what it prints to stdout and stderr; `capture` is capsys or capfd."""
    code, out = ended(*words), capture.readouterr()
    return code, out.out, out.err


def call_apart(*words, **env):
    """The same in a process of its own that sees no GPU."""
    return python_program("-m", "grailbench", *words, **env)


def in_python(code, **env):
    """Exit code and both outputs, as one, of `code` in a Python of its own that sees no GPU."""
    done = _python("-c", code, **env)
    return done.returncode, done.stdout + done.stderr


def python_program(file, *words, **env):
    """Exit code, stdout and stderr of a program of the tests, in a Python of its own that sees no GPU."""
    done = _python(str(file), *map(str, words), **env)
    return done.returncode, done.stdout, done.stderr


def heavy_imports(*words, **env):
    """What `grailbench WORDS` prints in a process of its own, and the modules that take long among its imports."""
    code, out = in_python(
        f"import sys; from grailbench.cli.main import main\ntry: main({words!r})\nexcept SystemExit: pass\n"
        "heavy = {'grailbench.problems.contract', 'numba', 'numpy', 'pandas', 'scipy', 'rich', 'pydantic'}\n"
        "print('imported:', *(heavy & set(sys.modules)))",
        **env,
    )
    assert code == 0, out
    said, _, heavy = out.rpartition("imported:")
    return said, set(heavy.split())


def in_a_terminal(*words, columns=80, **how):
    """Exit code and output of `grailbench WORDS` in a terminal of that width and 24 lines, in a process of its own that
    sees no GPU; stderr is left out. `how` is as of subprocess.Popen, `env` what is set beside what is."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    own = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    env = own | NO_GPU | {"PYTHONPATH": str(ROOT), "TERM": "xterm"} | how.pop("env", {})
    command = [sys.executable, "-m", "grailbench", *map(str, words)]
    child = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, env=env, **how)
    os.close(follower)
    said = b""
    try:
        while part := os.read(leader, 65536):
            said += part
    except OSError:  # the other end is closed: all was said
        pass
    os.close(leader)
    return child.wait(PATIENCE), said.decode().replace("\r\n", "\n")


def _python(*words, **env):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    whole = {**os.environ, **NO_GPU, "PYTHONPATH": path, **env}
    return subprocess.run([sys.executable, *words], env=whole, capture_output=True, text=True, timeout=PATIENCE)
