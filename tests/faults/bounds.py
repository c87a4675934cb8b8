"""Every kernel of the CPU with checked indices: on the corpus of fuzzing, on random digraphs, and in tests.

    python tests/faults/fuzz.py --boundscheck --digraphs 200

Kernels are found in the source: functions that numba compiles for a processor, but for those that it only puts into
the code of others. They are compiled anew, in a folder of their own, with NUMBA_BOUNDSCHECK=1, so that an index out of
an array is an error in place of memory that is read or written wrongly; each process first sees that it is one. None of
ours is compiled for threads of numba (`parallel=True`): threads call kernels without a lock. Which were compiled is
asked of numba's own objects. Kernels and what was found are kept in the folder --out, by the state of the code: the
same call goes on where the last one ended. GPUs stay out of sight.

Exit code 1 if there is a fault, or a part is not done, or a kernel was not reached.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import record

HERE = Path(__file__).resolve().parent
_ENTRY = re.compile(r"(\w+)\.([\w.]+)-(\d+)\.")  # of the names of numba's files: module, function, line


@functools.cache
def _decorated(root: Path) -> list[tuple[str, ast.FunctionDef]]:
    """The functions with decorators in the source of a package, and the paths of their files in it."""
    return [
        (path.relative_to(root).as_posix(), node) for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]  # fmt: skip


def written(root: Path) -> dict[str, ast.FunctionDef]:
    """'path:function' of each kernel in the source, and its code."""
    kernels = ((path, node) for path, node in _decorated(root) if any(map(_compiles, node.decorator_list)))
    return {f"{path}:{node.name}": node for path, node in kernels}


def _compiles(decorator: ast.expr) -> bool:
    """Whether a decorator has numba compile a function for a processor, and not put it into the code of its callers."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return "inline=" not in ast.unparse(decorator) and ast.unparse(called) in ("njit", "numba.njit", "jit", "numba.jit")


def require_checks() -> None:
    """Raises RuntimeError unless an index out of an array is an error in what this process compiles."""
    import numpy as np
    from numba import njit

    at = njit(lambda array, index: array[index])
    try:
        at(np.zeros(2, np.int8)[:1], 1)
    except IndexError:
        return
    raise RuntimeError("indices are not checked here: NUMBA_BOUNDSCHECK=1 has numba do so")


def watch(root: Path) -> Callable[[], set[str]]:
    """Watch numba's objects from now on; returns a function that names the kernels compiled since."""
    from numba.core.dispatcher import Dispatcher

    made, begin = [], Dispatcher.__init__

    def noted(self, *args, **options):
        begin(self, *args, **options)
        made.append(self)

    Dispatcher.__init__ = noted

    def named(function) -> str:
        path = Path(function.__code__.co_filename)
        return f"{path.relative_to(root).as_posix()}:{function.__name__}" if path.is_relative_to(root) else ""

    return lambda: {named(each.py_func) for each in made if each.overloads} - {""}


def cached(kernels: dict[str, ast.FunctionDef], folder: Path) -> set[str]:
    """The kernels that have an entry in a folder of numba's cache: those that earlier calls compiled."""
    places = {(Path(name.partition(":")[0]).stem, node.name, node.decorator_list[0].lineno): name
              for name, node in kernels.items()}  # fmt: skip
    entries = (_ENTRY.match(path.name) for path in folder.rglob("*.nbi"))
    found = {places.get((entry[1], entry[2].rpartition(".")[2], int(entry[3]))) for entry in entries if entry}
    return {name for name in found if name is not None}


# ------------------------------------------------------------------ parts, each a process


def parts() -> list[str]:
    """What is run, each in a process of its own: implementations on digraphs, files of tests, the corpus."""
    import asked
    import exercises

    names = [f"{problem.name}/{name}" for problem, name, _ in asked.implementations(False)]
    return [f"digraphs {name}" for name in names] + [f"tests {name}" for name in exercises.FILES] + ["corpus"]


def part(name: str, count: int, corpora: list[Path]) -> dict:
    """Run one part in this process. Returns what was asked, the kernels that were compiled, and faults."""
    import exercises

    import grailbench

    require_checks()
    compiled, began = watch(Path(grailbench.__file__).parent), monotonic()
    exercises.without_duckdb()
    kind, _, which = name.partition(" ")
    if kind == "digraphs":
        import digraphs

        (tally,) = digraphs.sweep(range(count), False, (which,), float("inf")).values()
        found = {"answers": tally.answers, "faults": [*tally.faults]}
    elif kind == "tests":
        found = exercises.run(which)
    else:
        inputs, faults = _corpus(corpora)
        found = {"inputs": inputs, "faults": faults}
    return {"part": name, **found, "compiled": sorted(compiled()), "seconds": round(monotonic() - began, 1)}


def _corpus(corpora: list[Path]) -> tuple[int, list[str]]:
    """The number of inputs, of the kept corpus and others, and the findings at them."""
    import engines
    import fuzz
    from judge import Place, judge

    inputs, faults = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for target in fuzz.every_target().values():
            place = Place(Path(folder, target.name))
            if target.prepare is not None:
                target.prepare()
            found = [path.read_bytes() for each in corpora for path in sorted((each / target.name).glob("*"))]
            for data in [*engines.kept_inputs(target), *found]:
                inputs += 1
                if (finding := judge(target, data, place).finding) is not None:
                    faults.append(f"{target.name}, {data[:80]!r}: {finding.sign}: {finding.text[-400:]}")
    return inputs, faults


def run(count: int, processes: int, seconds: float, out: Path | None) -> record.Found:
    """Run all parts, so many at a time; the same call with the same folder goes on with those that are not done."""
    from grailbench.util import kernelcache

    state = kernelcache.digest(frozenset(Path(kernelcache.__file__).parents[1].rglob("*.py")))
    with tempfile.TemporaryDirectory() as temporary:
        folder = (out or Path(temporary)) / f"boundscheck-{state}"
        (folder / str(count)).mkdir(parents=True, exist_ok=True)
        done = _done(folder, processes, count, monotonic() + seconds, out)
        return _found(done, count, folder / "kernels")


def _done(folder: Path, processes: int, count: int, until: float, out: Path | None) -> dict[str, dict | None]:
    """What each part found; None of those that are not done."""
    wanted = {each: folder / str(count) / f"{each.replace(' ', '-').replace('/', '-')}.json" for each in parts()}
    env = os.environ | {
        "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "GRAILBENCH_CACHE": str(folder / "cache"), "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    env.pop("GRAILBENCH_MIRROR", None)
    left = [each for each, path in wanted.items() if not path.exists()]
    running: dict[str, subprocess.Popen] = {}
    while (left and monotonic() < until) or running:
        while left and len(running) < processes and monotonic() < until:
            each = left.pop(0)
            words = [sys.executable, str(HERE / "bounds.py"), each, str(count), str(wanted[each])]
            words += [str(out / "corpus")] if out is not None else []
            with open(wanted[each].with_suffix(".log"), "wb") as log:
                running[each] = subprocess.Popen(words, env=env, stdout=log, stderr=log)
        for each, process in list(running.items()):
            if process.poll() is not None or monotonic() > until:
                process.kill()
                process.wait()
                del running[each]
                print(f"{each}: {_ended(wanted[each], process.returncode)}", flush=True)
        time.sleep(0.2)
    return {each: json.loads(path.read_text()) if path.exists() else None for each, path in wanted.items()}


def _ended(path: Path, code: int) -> str:
    """What became of the part that writes a file."""
    if path.exists():
        return "done"
    said = path.with_suffix(".log").read_text(errors="replace").strip().splitlines()
    return f"ended with {code}{''.join(f', {line}' for line in said[-1:])}"


def _found(done: dict[str, dict | None], count: int, cache: Path) -> record.Found:
    """What all parts found."""
    import grailbench

    kernels, whole = written(Path(grailbench.__file__).parent), [each for each in done.values() if each is not None]
    compiled = {kernel for each in whole for kernel in each["compiled"]} & kernels.keys() | cached(kernels, cache)
    missing = sorted(kernels.keys() - compiled)
    faults = [f"{each['part']}: {fault}" for each in whole for fault in each["faults"]]
    undone = [each for each, found in done.items() if found is None]
    sums = {key: sum(each.get(key, 0) for each in whole) for key in ("inputs", "tests", "lacking", "answers")}
    wrong = [*faults, *(f"not reached: {each}" for each in missing), *(f"not done: {each}" for each in undone)]
    record.told(wrong)
    ran = sum(each["part"].startswith("digraphs") for each in whole)
    figure = (
        f"{len(kernels)} kernels ({len(compiled)} compiled), {len(missing)} not reached; "
        f"{sums['inputs']:,} inputs, {sums['tests']:,} tests, {count} digraphs through "
        f"{ran} implementations, {len(faults)} faults"
    )
    if sums["lacking"]:
        print(f"{sums['lacking']} more tests need a package that is not installed", flush=True)
    details = {**sums, "missing": missing, "faults": faults, "not done": undone}
    more = {"promise": "No kernel of the CPU reads or writes outside of an array.", "test": "tests/faults/bounds.py"}
    return record.Found(figure, wrong, details, more=more)


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    which, many, into, *others = sys.argv[1:]
    result = part(which, int(many), list(map(Path, others)))
    Path(f"{into}.partial").write_text(json.dumps(result, indent=1))
    os.replace(f"{into}.partial", into)
