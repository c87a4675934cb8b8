"""Every kernel on a GPU, launched on graphs that reach it: what memory and race checkers are run over.

    compute-sanitizer --tool memcheck python tests/faults/kernels.py --out reached.json

Kernels are found in the source: functions that `cuda.jit` compiles for launches. Which were launched is asked of the
compiler's own objects. Exit code 1 if a kernel was not launched by any graph, or an answer was wrong.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import asked
import digraphs

import grailbench

ROOT = Path(grailbench.__file__).parent
#: kernels that measure a machine, and no graph: `grailbench limits` launches them
OF_LIMITS = "limits/"
#: not launched on purpose, with the reason
CUBIC, MOST_CUBIC = ("apsp", "closure"), 700  #: problems whose work grows with the cube of the vertices
NEVER = {"device/launch.py:_untyped": "only its type is used"}


def written() -> Iterator[str]:
    """'path:function' of each kernel in the source."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any(map(_launches, node.decorator_list)):
                yield f"{path.relative_to(ROOT).as_posix()}:{node.name}"


def _launches(decorator: ast.expr) -> bool:
    """Whether a decorator makes a kernel, and no device function."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    given = decorator.keywords if isinstance(decorator, ast.Call) else []
    name = ast.unparse(called)
    return name == "kernel_of" or (name == "cuda.jit" and all(each.arg != "device" for each in given))


def watch() -> Callable[[], set[str]]:
    """Watch the compiler's objects from now on; returns a function that names the kernels launched since."""
    from grailbench.device.gateway import cuda, simulated

    if simulated:
        kind = sys.modules[cuda.jit.__module__.replace(".api", ".kernel")].FakeCUDAKernel
        launched, call = set(), kind.__call__

        def told(self, *args):
            launched.add(_named(self.fn))
            return call(self, *args)

        kind.__call__ = told
        return lambda: launched
    kind, made = type(cuda.jit(lambda: None)), []
    begin = kind.__init__

    def noted(self, *args, **options):
        begin(self, *args, **options)
        made.append(self)

    kind.__init__ = noted
    return lambda: {_named(each.py_func) for each in made if each.overloads}


def _named(function) -> str:
    path = Path(function.__code__.co_filename)
    return f"{path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name}:{function.__name__}"


def graphs(most: int) -> Iterator[tuple[str, int, np.ndarray]]:
    """Name, vertices and edges of graphs that together reach every kernel; none has more than `most` vertices."""
    random = np.random.default_rng(23)
    for number in (1, 3, 4, 5, 6, 7):
        yield f"digraph {number}", *digraphs.drawn(number)
    wide = most
    yield "layers", wide, np.sort(random.integers(0, wide, (4 * wide, 2)), axis=1)
    yield "star", wide, np.stack([np.zeros(wide - 1, np.int64), np.arange(1, wide)], axis=1)
    yield "chain", min(most, 300), np.stack([np.arange(min(most, 300) - 1), np.arange(1, min(most, 300))], axis=1)
    yield "one component", wide, random.integers(0, wide, (8 * wide, 2))


def run(most: int, only: tuple[str, ...], told=print) -> tuple[dict[str, list[str]], list[str]]:
    """Launch all implementations on all graphs. Returns the graphs by the kernels that they reached, and faults."""
    launched, reached, faults = watch(), {}, []
    for name, vertices, ends in graphs(most):
        before, began = launched().copy(), monotonic()
        found = asked.Digraph(name, 0, vertices, ends)
        for problem, label, implementation in asked.implementations(True, only):
            if problem.name in CUBIC and vertices > MOST_CUBIC:
                continue
            try:
                params = asked.params_of(problem, implementation, 5)
                asked.check(found, problem, implementation, params)
            except Exception as error:
                faults.append(f"{name}, {problem.name}/{label}: {type(error).__name__}: {error}")
        new = launched() - before
        for kernel in sorted(new):
            reached.setdefault(kernel, []).append(name)
        took = f"{len(new)} further kernels, {monotonic() - began:.0f} s"
        told(f"{name}: {vertices} vertices, {ends.shape[0]} edges, {took}", flush=True)
    return reached, faults


@click.command(help=__doc__.partition("\n")[0])
@click.option("--most", default=2_000, show_default=True, help="Vertices of the largest graph.")
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION; may repeat.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the kernels and their graphs to this file.")
def main(most, only, out):
    reached, faults = run(most, only)
    wanted = {kernel for kernel in written() if kernel not in NEVER and not kernel.startswith(OF_LIMITS)}
    missing = sorted(wanted - reached.keys())
    for line in faults:
        print(f"WRONG: {line}")
    for kernel in missing:
        print(f"NOT LAUNCHED: {kernel}")
    print(f"{len(wanted)} kernels, {len(missing)} not launched, {len(faults)} faults", flush=True)
    if out is not None:
        out.write_text(json.dumps({"kernels": reached, "missing": missing, "faults": faults}, indent=1) + "\n")
    sys.exit(int(bool(missing or faults)))


if __name__ == "__main__":
    main()
