"""Every kernel of the CPU with checked indices: on the corpus of fuzzing, on random digraphs, and in tests.

    python tests/faults/fuzz.py --boundscheck --digraphs 200

Kernels are found in the source: functions that numba compiles for a processor. They are compiled anew, in a folder
of their own, with NUMBA_BOUNDSCHECK=1, so that an index out of an array is an error in place of memory that is read or
written wrongly. None of ours is compiled for threads of numba (`parallel=True`): threads call kernels without a lock.
Which were compiled is asked of numba's own objects; those that are put into the code of others as they are compiled
count with these. Exit code 1 if there is a fault, or a kernel was not reached and `NEVER` has no reason.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

HERE = Path(__file__).resolve().parent
#: kernels that are not reached on purpose, with the reason
NEVER: dict[str, str] = {}


def written(root: Path) -> dict[str, ast.FunctionDef]:
    """'path:function' of each kernel in the source, and its code."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any(map(_compiles, node.decorator_list)):
                found[f"{path.relative_to(root).as_posix()}:{node.name}"] = node
    return found


def _compiles(decorator: ast.expr) -> bool:
    """Whether a decorator has numba compile a function for a processor."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called) in ("njit", "numba.njit", "jit", "numba.jit")


def inlined(kernels: dict[str, ast.FunctionDef], reached: set[str]) -> set[str]:
    """The kernels that are put into the code of reached ones, which call them by name."""
    by_name: dict[str, list[str]] = {}
    for name, node in kernels.items():
        if any("inline" in ast.unparse(each) for each in node.decorator_list):
            by_name.setdefault(node.name, []).append(name)
    found: set[str] = set()
    grown = set(reached)
    while grown:
        called = {
            each.func.id for name in grown if name in kernels
            for each in ast.walk(kernels[name]) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }  # fmt: skip
        grown = {name for each in called for name in by_name.get(each, [])} - found - reached
        found |= grown
    return found


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


def exercised() -> Iterator[tuple[str, Callable[[], int]]]:
    """What reaches the kernels that neither corpus nor digraphs do, by name."""
    import exercises

    yield from exercises.every()


def inside(digraphs_count: int, corpora: list[Path], told=print) -> dict:
    """Run everything in this process. Returns kernels, those reached and faults."""
    import grailbench

    root = Path(grailbench.__file__).parent
    told_reached = watch(root)
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    faults, counts = [], {}
    began = monotonic()

    def say(what: str) -> None:
        told(f"{what}: {len(told_reached())} kernels so far, {monotonic() - began:.0f} s", flush=True)

    import digraphs
    import engines
    import fuzz
    from judge import Place, judge

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        inputs = 0
        for target in fuzz.every_target().values():
            place = Place(Path(folder, target.name))
            if target.prepare is not None:
                target.prepare()
            found = [path.read_bytes() for each in corpora for path in sorted((each / target.name).glob("*"))]
            for data in [*engines.kept_inputs(target), *found]:
                inputs += 1
                outcome = judge(target, data, place)
                if outcome.finding is not None:
                    faults.append(
                        f"{target.name}, {data[:80]!r}: {outcome.finding.sign}: {outcome.finding.text[-400:]}"
                    )
        counts["inputs"] = inputs
    say(f"{inputs:,} inputs of the corpus")
    for name, work in exercised():
        try:
            done = work()
            counts["tests"] = counts.get("tests", 0) + done
        except (Exception, SystemExit) as error:
            faults.append(f"{name}: {type(error).__name__}: {error}")
        say(name)
    answers = 0
    for first in range(0, digraphs_count, 20):
        tallies = digraphs.sweep(range(first, min(first + 20, digraphs_count)), False, (), float("inf"))
        answers += sum(tally.answers for tally in tallies.values())
        faults += [f"{name}: {fault}" for name, tally in tallies.items() for fault in tally.faults]
        say(f"digraphs 0 to {min(first + 20, digraphs_count) - 1} through {len(tallies)} implementations")
    kernels = written(root)
    compiled = told_reached() & kernels.keys()
    within = inlined(kernels, compiled) - compiled
    missing = sorted(kernels.keys() - compiled - within - NEVER.keys())
    return counts | {
        "kernels": len(kernels), "compiled": len(compiled), "inlined": len(within), "never": NEVER, "missing": missing,
        "digraphs": digraphs_count, "answers": answers, "implementations": len(tallies) if digraphs_count else 0,
        "faults": faults,
    }  # fmt: skip


def run(digraphs_count: int, out: Path | None, name: str | None) -> int:
    """Run everything in a process of its own, with checked indices; returns the exit code."""
    began = monotonic()
    with tempfile.TemporaryDirectory() as kernels:
        env = os.environ | {
            "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(Path(kernels, "kernels")),
            "GRAILBENCH_CACHE": str(Path(kernels, "cache")), "TMPDIR": kernels,
        }  # fmt: skip
        words = [sys.executable, str(HERE / "bounds.py"), str(digraphs_count), str(Path(kernels, "found.json"))]
        words += [str(out / "corpus")] if out is not None else []
        code = subprocess.run(words, env=env).returncode
        path = Path(kernels, "found.json")
        if not path.exists():
            print(f"FAULT: the process ended with {code}", flush=True)
            return 1
        found = json.loads(path.read_text())
    for fault in found["faults"]:
        print(f"FAULT: {fault}", flush=True)
    for kernel in found["missing"]:
        print(f"NOT REACHED: {kernel}", flush=True)
    figure = (
        f"{found['kernels']} kernels ({found['compiled']} compiled, {found['inlined']} inside of these, "
        f"{len(found['never'])} left out), {len(found['missing'])} not reached; {found['inputs']:,} inputs, "
        f"{found.get('tests', 0):,} tests, {found['digraphs']} digraphs through "
        f"{found['implementations']} implementations, "
        f"{len(found['faults'])} faults"
    )
    print(figure, flush=True)
    if name:
        import record

        record.write(
            name, area="Inputs", test="tests/faults/bounds.py", figure=figure, seconds=monotonic() - began,
            promise="No kernel of the CPU reads or writes outside of an array.", details=found,
            command=f"python tests/faults/fuzz.py --boundscheck --digraphs {digraphs_count}",
        )  # fmt: skip
    return int(bool(found["faults"] or found["missing"]))


if __name__ == "__main__":
    count, into, *others = sys.argv[1:]
    result = inside(int(count), list(map(Path, others)))
    Path(into).write_text(json.dumps(result, indent=1))
