"""The branches of the kernels that the graphs of `kernels.py` take, found in numba's simulator.

    NUMBA_ENABLE_CUDASIM=1 python tests/faults/branches.py --out branches.json

Kernels and device functions are read anew, with each condition (of if, while, a conditional expression, and each part
of 'and' and 'or') and each loop told when it is true and when false: a branch is a condition and one of both. Exit code
1 if a branch is taken by no graph and has no reason in `REASONS`. What a GPU has in place of the simulator's functions,
behind 'if simulated: ... else:', is not seen here. The file --out has each branch with the graphs that take it; --add
takes the files of calls with other --graphs into account.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib.abc
import importlib.machinery
import inspect
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import click

sys.path.insert(0, str(Path(__file__).parent))

ROOT = Path(importlib.machinery.PathFinder.find_spec("grailbench").origin).parent
#: of kernels that measure a machine, and no graph
SKIPPED = ("limits/",)
#: by patterns of 'file:function: condition is outcome' why no graph takes a branch
REASONS: dict[str, str] = {
    r".*STEPS\) is True|.*WARP - 1 is False|.*% (shuffle\.)?WARP == 0 is False": "a simulated warp has one lane",
    r"device/scan.py:exclusive_sum: lane >= 1 << j": "a simulated warp has one lane",
    r"reachability/gpu/fused/segments.py:reduce: .*": "a simulated warp has one lane",
    r"reachability/gpu/core/trees.py:add_at: all_lanes.*": "a simulated warp has one lane",
    r".*: (cuda\.blockIdx\.x|block) == .* is False": "a simulated grid with barriers has one block",
    r".*: block == blocks - 1 is True|.*range\(thread, block, threads\) is True": "a simulated grid has one block here",
    r".*range\(cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockDim.x\) is True": "a simulated grid has one block here",
    r"traversal/gpu/shortest.py:_lower_racily: .*": "of implementations that are known to be wrong",
    r"device/schedule.py:.*": "replays stored frontiers, which no implementation does",
    r".*cuda.atomic.cas\(distances, v, _FAR, .*": "another thread was first, between a read and the atomic after it",
}


class Seen:
    """Branches by number: where they are, and which outcomes the present graph showed."""

    def __init__(self):
        self.places: list[str] = []
        self.now: set[tuple[int, bool]] = set()

    def place(self, where: str) -> int:
        self.places.append(where)
        return len(self.places) - 1

    def branch(self, number: int, value):
        self.now.add((number, bool(value)))
        return value

    def loop(self, number: int, values):
        for value in values:
            self.now.add((number, True))
            yield value
        self.now.add((number, False))

    def take(self) -> set[str]:
        """The branches taken since the last call."""
        found = {f"{self.places[number]} is {outcome}" for number, outcome in self.now}
        self.now = set()
        return found

    def all(self) -> list[str]:
        """Both branches of every condition."""
        return [f"{place} is {outcome}" for place in dict.fromkeys(self.places) for outcome in (True, False)]


class Telling(ast.NodeTransformer):
    """Has the conditions of kernels and device functions of one file tell their outcomes."""

    def __init__(self, seen: Seen, path: str):
        self._seen, self._path, self._inside = seen, path, []

    def visit_If(self, node: ast.If):
        if isinstance(node.test, ast.Name) and node.test.id == "simulated":
            node.body = [self.visit(each) for each in node.body]
            return node
        return self._conditional(node)

    def visit_FunctionDef(self, node: ast.FunctionDef):
        if not any(_compiles(each) for each in node.decorator_list):
            return self.generic_visit(node)
        return self.inside(node)

    def inside(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Has the conditions of a function tell their outcomes."""
        self._inside.append(f"{self._path}:{node.name}")
        node.body = [self.visit(each) for each in node.body]
        self._inside.pop()
        return node

    def _conditional(self, node):
        self.generic_visit(node)
        if self._inside and not isinstance(node.test, ast.BoolOp):
            node.test = self._told(node.test)
        return node

    visit_While = visit_IfExp = visit_Assert = _conditional

    def visit_BoolOp(self, node: ast.BoolOp):
        self.generic_visit(node)
        if self._inside:
            node.values = [each if isinstance(each, ast.BoolOp) else self._told(each) for each in node.values]
        return node

    def visit_For(self, node: ast.For):
        text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        self.generic_visit(node)
        if self._inside:
            node.iter = self._call("__loop__", node.iter, text)
        return node

    def _told(self, test: ast.expr) -> ast.expr:
        constant = isinstance(test, ast.Constant) or (isinstance(test, ast.Name) and test.id == "simulated")
        told = isinstance(test, ast.Call) and getattr(test.func, "id", "") == "__branch__"
        return test if constant or told else self._call("__branch__", test, ast.unparse(_plain(test)))

    def _call(self, name: str, what: ast.expr, text: str) -> ast.expr:
        number = self._seen.place(f"{self._inside[-1]}: {text}")
        made = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number), what], [])
        return ast.copy_location(made, what)


class _Plain(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call):
        self.generic_visit(node)
        return node.args[1] if getattr(node.func, "id", "") in ("__branch__", "__loop__") else node


def _plain(node: ast.expr) -> ast.expr:
    """A condition as it was written."""
    return _Plain().visit(copy.deepcopy(node))


def _compiles(decorator: ast.expr) -> bool:
    """Whether a decorator makes a kernel or a device function."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called) in ("cuda.jit", "kernel_of")


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module whose kernels tell their branches."""

    seen: Seen

    def get_code(self, fullname: str):
        path = Path(self.path)
        tree = Telling(self.seen, path.relative_to(ROOT).as_posix()).visit(ast.parse(path.read_text()))
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of grailbench that have kernels."""

    def __init__(self, seen: Seen):
        self._loader = type("Loader", (Loader,), {"seen": seen})

    def find_spec(self, name: str, path=None, target=None):
        if not name.startswith("grailbench."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            return None
        file = Path(spec.origin)
        if file.relative_to(ROOT).as_posix().startswith(SKIPPED) or not _has_kernels(file.read_text()):
            return None
        spec.loader = self._loader(name, spec.origin)
        return spec


def _has_kernels(text: str) -> bool:
    return "@cuda.jit" in text or "@kernel_of" in text


def watch() -> Seen:
    """Has kernels of all modules that are imported from now on tell their branches."""
    seen = Seen()
    builtins.__branch__, builtins.__loop__ = seen.branch, seen.loop
    if "grailbench.device.launch" in sys.modules:
        raise RuntimeError("kernels were imported before")
    from grailbench.device import gateway

    def of_cpu(function):
        """As that of `gateway`, for functions of the CPU that kernels call."""
        function = function.py_func
        path = Path(inspect.getsourcefile(function))
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        node.decorator_list = []
        told = Telling(seen, path.relative_to(ROOT).as_posix()).inside(node)
        names = dict(function.__globals__)
        exec(compile(ast.fix_missing_locations(ast.Module([told], [])), str(path), "exec"), names)
        return names[node.name]

    gateway.of_cpu = of_cpu
    sys.meta_path.insert(0, Finder(seen))
    return seen


def modules() -> Iterator[str]:
    """The modules that have kernels, of graphs."""
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(SKIPPED) and _has_kernels(path.read_text()):
            yield ".".join(("grailbench", *path.relative_to(ROOT).with_suffix("").parts))


def reason_of(branch: str) -> str | None:
    """Why no graph takes a branch; None without a reason."""
    return next((reason for each, reason in REASONS.items() if re.match(each, branch)), None)


@click.command(help=__doc__.partition("\n")[0])
@click.option("--most", default=24, show_default=True, help="Vertices of the largest graph.")
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION; may repeat.")
@click.option("--graphs", "chosen", multiple=True, help="The name of a graph; may repeat. [default: all]")
@click.option("--seconds", type=float, default=float("inf"), help="Begin no graph after so long.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the branches to this file.")
@click.option("--add", multiple=True, type=click.Path(path_type=Path, exists=True), help="The file of another call.")
def main(most, only, chosen, seconds, out, add):
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") in ("", "0"):
        raise click.UsageError("branches are seen in numba's simulator: set NUMBA_ENABLE_CUDASIM=1")
    began, seen = monotonic(), watch()
    import kernels

    for name in modules():
        importlib.import_module(name)
    taken: dict[str, list[str]] = {}
    for path in add:
        for branch, names in json.loads(path.read_text())["branches"].items():
            taken.setdefault(branch, []).extend(names)
    known = {name for names in taken.values() for name in names}

    def keep(results: dict) -> None:
        name = list(results)[-1]
        for branch in sorted(seen.take()):
            taken.setdefault(branch, []).append(name)
        if out is not None:
            every = {branch: taken.get(branch, []) for branch in seen.all()}
            out.write_text(json.dumps({"graphs": sorted(known | results.keys()), "branches": every}, indent=1) + "\n")

    seen.take()
    results = kernels.run(most, only, chosen, began + seconds, keep)
    missing = [branch for branch in seen.all() if not taken.get(branch)]
    for branch in missing:
        print(f"never: {branch} ({reason})" if (reason := reason_of(branch)) else f"NEVER: {branch}")
    idle = [each for each in REASONS if not any(re.match(each, branch) for branch in missing)]
    for each in idle:
        print(f"NOT NEEDED: the reason of {each}")
    faults = [fault for each in results.values() for fault in each["faults"]]
    for fault in faults:
        print(f"WRONG: {fault}")
    unexplained = sum(reason_of(branch) is None for branch in missing)
    every = len(seen.all())
    print(f"{every} branches, {every - len(missing)} taken, {len(missing) - unexplained} with a reason why not, "
          f"{unexplained} without")  # fmt: skip
    sys.exit(int(bool(unexplained or faults or idle)))


if __name__ == "__main__":
    main()
