"""Kernels of the CPU with checked indices: on random digraphs, on the inputs of fuzzing, and in the tests.

    python tests/faults/boundscheck.py --nightly --record boundscheck

All kernels are compiled anew with NUMBA_BOUNDSCHECK=1, so that an index out of an array is an error in place of memory
that is read or written wrongly. Tests that start processes or ask how often something is compiled, or how large a
process is, are left out, and GPUs stay out of sight. Exit code 1 if a part fails.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

import click
import record

HERE = Path(__file__).resolve().parent
CHECKED = """
import numpy as np
from numba import njit
try:
    njit(lambda array, index: array[index])(np.zeros(2, np.int8)[:1], 1)
except IndexError:
    raise SystemExit(0)
raise SystemExit("indices are not checked here")
"""


def parts(digraphs: int, executions: int) -> dict[str, list[str]]:
    """The words of a Python process by what it tries."""
    return {
        "the check itself": ["-c", CHECKED],
        "digraphs": [str(HERE / "digraphs.py"), "--cpu", "--count", str(digraphs)],
        "inputs": [str(HERE / "fuzz.py"), "--executions", str(executions)],
        "tests": ["-m", "pytest", "-p", "no:cacheprovider", "--tb=short", "-m", "not (processes or mirror)",
                  "-k", "not compile and not memory and not bytes", str(record.ROOT / "tests")],
    }  # fmt: skip


@record.program(
    "Inputs",
    "No kernel of the CPU reads or writes outside of an array.",
    night="200 digraphs, and 300 inputs of each reader.",
)
@click.option("--digraphs", default=20, show_default=True)
@click.option("--executions", default=50, show_default=True, help="Inputs of each reader.")
@click.option("--only", type=click.Choice(list(parts(0, 0))), multiple=True, help="A part; may repeat.")
def main(digraphs: int, executions: int, only: tuple[str, ...], nightly: bool) -> record.Found:
    wrong, seconds = [], {}
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {
            "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": f"{folder}/kernels", "GRAILBENCH_CACHE": f"{folder}/cache",
            "CUDA_VISIBLE_DEVICES": "",
        }  # fmt: skip
        env.pop("GRAILBENCH_MIRROR", None)
        for name, words in parts(*((200, 300) if nightly else (digraphs, executions))).items():
            if only and name not in only:
                continue
            began = monotonic()
            done = subprocess.run([sys.executable, *words], env=env, cwd=record.ROOT, capture_output=True, text=True)
            seconds[name] = round(monotonic() - began)
            text = (done.stdout + done.stderr).strip()
            print(f"{name}: {text.splitlines()[-1] if text else 'done'}", flush=True)
            wrong += record.warn([f"{name}: {text[-2000:]}"] if done.returncode else [])
    return record.Found(f"{len(seconds)} parts with checked indices, {len(wrong)} failed", wrong, {"seconds": seconds})


if __name__ == "__main__":
    main()
