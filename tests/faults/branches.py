"""The branches of the kernels that the graphs of `kernels.py` take, found in numba's simulator.

    python tests/faults/branches.py --out branches.json --list --record gpu-branches

Kernels and device functions are read anew, with each condition (of if, while, a conditional expression, and each part
of 'and' and 'or') and each loop told when it is true and when false: a branch is a condition and one of both. Exit code
1 if a branch is taken by no graph and has no reason in `REASONS`. What a GPU has in place of the simulator's functions,
behind 'if simulated: ... else:', is not seen here. The file --out has each branch with the graphs that take it; --add
takes the files of calls with other --graphs into account.

--list also writes `REACHED`: each kernel and device function with the graphs that reach it, and the branches that
none takes. --check runs nothing: it says in seconds whether that list is still of the kernels and branches that are
there, and all that is not taken has a reason.
"""

from __future__ import annotations

import ast
import builtins
import copy
import hashlib
import importlib.abc
import importlib.machinery
import inspect
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from time import monotonic

import click
import record

ROOT = Path(importlib.machinery.PathFinder.find_spec("grailbench").origin).parent
#: the graphs by number; of each kernel and each function with branches how many, their digest and the graphs; and the
#: branches not taken
REACHED = Path(__file__).with_name("branches.json")
#: of kernels that measure a machine, and no graph
SKIPPED = ("harness/limits/",)
#: by patterns of 'file:function: condition is outcome' why no graph takes a branch
REASONS: dict[str, str] = {
    r".*STEPS\) is True|.*WARP - 1 is False|.*% (primitives\.)?WARP == 0 is False": "a simulated warp has one lane",
    r"cuda/primitives.py:exclusive_sum: lane >= 1 << j": "a simulated warp has one lane",
    r".*cuda/primitives.py:reduce: (k < b is False|lane|whose|same|for j|before|u >= 0|all_lanes.*False)":
    "a simulated warp has one lane",
    r".*gpu/core/trees.py:add_at: all_lanes.* is False": "a simulated warp has one lane",
    r".*gpu/core/trees.py:sum_subtrees: k < links": "a simulated warp has one lane, the first of its edges",
    r".*: (cuda\.blockIdx\.x|block) == .* is False": "a simulated grid with barriers has one block",
    r".*range\(thread, block, threads\) is True": "a simulated grid has one block here",
    r".*range\(cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockDim.x\) is True": "a simulated grid has one block here",
    r".*closure/gpu/warshall.py:close_bits: first_unit < last_unit is False": "the one simulated block has a share",
    r"problems/traversal/gpu/nearfar.py:_go_on: first >= last is True": "the one simulated block has a share",
    r".*traversal/gpu/many.py:_sum_up: (mark is False|far)": "the one simulated block meets a vertex of every source",
    r"problems/traversal/gpu/shortest.py:_lower_racily: .*": "of `harish-racy`, which shows what a race does",
    "|".join((
        r".*cuda.atomic.cas\(distances, v, _FAR, .* == _FAR is False",
        r"problems/reachability/gpu/parents.py:_offer_path: found == seen is False",
        r"problems/traversal/gpu/levels.py:_queue: cuda.atomic.min.* is False",
        r"problems/traversal/gpu/nearfar.py:_visit: cuda.atomic.min\(of.distances, v, reached\) <= reached is True",
    )): "another thread was first, between a read and the atomic after it",
}  # fmt: skip


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
    if "grailbench.cuda.launch" in sys.modules:
        raise RuntimeError("kernels were imported before")
    from grailbench.cuda import gateway

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


def unexplained(missing: Iterable[str]) -> list[str]:
    """The branches among those not taken that have no reason, and the reasons of no branch, each as a line."""
    missing = list(missing)
    idle = [each for each in REASONS if not any(re.match(each, branch) for branch in missing)]
    return [f"NEVER: {branch}" for branch in missing if reason_of(branch) is None] + [
        f"NOT NEEDED: the reason of {each}" for each in idle
    ]


def _by_function(branches: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for branch in sorted(branches):
        found.setdefault(branch.partition(": ")[0], []).append(branch)
    return found


def _digest(branches: list[str]) -> str:
    return hashlib.sha256("\n".join(branches).encode()).hexdigest()[:12]


def listed(every: Iterable[str], taken: dict[str, list[str]], launched: dict[str, list[str]]) -> dict:
    """What `REACHED` has. launched: the graphs of each kernel that is to be launched."""
    graphs = sorted({graph for reach in (taken, launched) for names in reach.values() for graph in names})
    functions, found = {}, _by_function(every)
    for name in sorted(found.keys() | launched.keys()):
        branches = found.get(name, [])
        reach = {graph for branch in branches for graph in taken.get(branch, ())} | set(launched.get(name, ()))
        functions[name] = {"branches": len(branches), "taken": sum(bool(taken.get(branch)) for branch in branches),
                           "digest": _digest(branches), "graphs": sorted(map(graphs.index, reach))}  # fmt: skip
    return {"graphs": graphs, "functions": functions, "not taken": [each for each in every if not taken.get(each)]}


def stale(every: Iterable[str], kernels: Set[str], known: dict) -> list[str]:
    """What is wrong with a `REACHED` for the branches and the kernels that are there, as lines."""
    found, past = _by_function(every), known["functions"]
    names = found.keys() | kernels
    now = {name: _digest(found.get(name, [])) for name in sorted(names)}
    changed = [name for name in sorted(names | past.keys()) if now.get(name) != past.get(name, {}).get("digest")]
    wanted = {name for name in found if any(reason_of(branch) is None for branch in found[name])} | kernels
    alone = [name for name in sorted(past.keys() & wanted) if not past[name]["graphs"]]
    said = [f"CHANGED: {name}" for name in changed] + [f"NO GRAPH: {name}" for name in alone]
    return said + unexplained(known["not taken"])


def write_reached(result: dict) -> None:
    """Writes `REACHED`."""
    lines = [f"  {json.dumps(name)}: {json.dumps(of)}" for name, of in result["functions"].items()]
    functions, rest = ",\n".join(lines), json.dumps(result["not taken"], indent=2)
    text = f' "graphs": {json.dumps(result["graphs"])},\n "functions": {{\n{functions}\n }},\n "not taken": {rest}'
    REACHED.write_text(f"{{\n{text}\n}}\n")


@record.program(
    "GPU",
    "The graphs that kernels are checked on take every branch of every kernel, but for those that none can take in a "
    "simulator, each with its reason.",
    night="The same: all of it takes some minutes.",
)
@click.option("--most", default=24, show_default=True, help="Vertices of the largest graph.")
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION; may repeat.")
@click.option("--graphs", "chosen", multiple=True, help="The name of a graph; may repeat. [default: all]")
@click.option("--seconds", type=float, default=float("inf"), help="Begin no graph after so long.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the branches to this file.")
@click.option("--add", multiple=True, type=click.Path(path_type=Path, exists=True), help="The file of another call.")
@click.option("--check", is_flag=True, help="Run nothing; compare the list with the branches that are there.")
@click.option("--list", "listing", is_flag=True, help="Write the list of kernels and graphs, if nothing is wrong.")
def main(most, only, chosen, seconds, out, add, nightly, check, listing) -> record.Found:
    from grailbench import cuda as device

    device.simulate()
    began, seen = monotonic(), watch()
    import kernels

    for name in modules():
        importlib.import_module(name)
    if check:
        wrong = stale(seen.all(), kernels.wanted(), json.loads(REACHED.read_text()))
        return record.Found(f"{len(seen.all())} branches, {len(wrong)} not as listed", record.told(wrong))
    taken: dict[str, list[str]] = {}
    launched: dict[str, list[str]] = {kernel: [] for kernel in sorted(kernels.wanted())}
    spent = 0.0

    def reach(by: dict[str, list[str]], what: Iterable[str], names: Iterable[str]) -> None:
        for each in what:
            by.setdefault(each, []).extend(name for name in names if name not in by[each])

    for path in add:
        past = json.loads(path.read_text())
        spent += past["seconds"]
        for by, kind in ((taken, "branches"), (launched, "kernels")):
            for each, names in past[kind].items():
                reach(by, [each], names)

    def keep(results: dict) -> None:
        name = list(results)[-1]
        reach(taken, sorted(seen.take()), [name])
        reach(launched, results[name]["kernels"], [name])
        if out is not None:
            every = {branch: taken.get(branch, []) for branch in seen.all()}
            took = round(spent + monotonic() - began, 1)
            out.write_text(json.dumps({"seconds": took, "kernels": launched, "branches": every}, indent=1) + "\n")

    seen.take()
    results = kernels.run(most, only, chosen, began + seconds, keep)
    every = seen.all()
    missing = [branch for branch in every if not taken.get(branch)]
    wrong, faults = unexplained(missing), [fault for each in results.values() for fault in each["faults"]]
    wrong += [f"NOT LAUNCHED: {kernel}" for kernel, names in launched.items() if not names]
    record.told([*wrong, *faults])
    reasons = Counter(reason_of(branch) or "no reason" for branch in missing)
    without = reasons["no reason"]
    known = {kernel: names for kernel, names in launched.items() if kernel in kernels.wanted()}
    result = listed(every, taken, known)
    if listing and not wrong and not faults:
        write_reached(result)
    figure = (f"{len(every):,} branches in {len(result['functions'])} kernels and device functions, on "
              f"{len(result['graphs'])} graphs: {len(every) - len(missing):,} taken, {len(missing) - without} with a "
              f"reason, {without} without")  # fmt: skip
    details = {"branches": len(every), "taken": len(every) - len(missing), "not taken": dict(reasons),
               "faults": len(faults)}  # fmt: skip
    return record.Found(figure, [*wrong, *faults], details, more={"seconds": spent + monotonic() - began})


if __name__ == "__main__":
    main()
