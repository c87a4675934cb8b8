"""The code is laid out as the page "architecture" says: imports, CUDA, the files that a walk touches."""

import ast
import functools
import re
from graphlib import TopologicalSorter

import pytest
from commands import ROOT, in_python

from grailbench.problems.contract import MORE

PAGE = ROOT / "docs" / "explanation" / "architecture.md"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "grailbench").rglob("*.py")
}
PROBLEMS = {"reachability", "traversal", "closure", "reading", "counts"}
IMPLEMENTATIONS = {module for modules in MORE.values() for module in modules}  #: of packages above `problems`
CUDA = re.compile(r"numba\.cuda|numba_cuda|cupy|pynvml|cuda|nvidia|pycuda")
PACKAGES = {"walk 1": 2, "walk 2": 2, "walk 3": 1, "walk 4": 2, "walk 5": 1}  #: that a walk may touch below the command


@functools.cache
def imports(text):
    """Every module that a source imports, wherever in it, also for types alone: by statement, or by a name that is
    given whole (to `import_module`, in a table)."""
    return tuple(_imports(text))


def _imports(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES or CUDA.match(name) else node.module for name in whole)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in MODULES:
            yield node.value


def package(module):
    """The package below `grailbench` that a module is in, or the module there; `__init__` of grailbench itself."""
    return (module.split(".") + ["__init__"])[1]


def allowed():
    """What each row of the page's table allows, in its order; and the modules at the bottom."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .*? \| (.*?) ?\|$", text, re.MULTILINE)
    bottom = re.findall(r"`(\w+)`", re.search(r"^At the bottom are (.*?)\. `__main__`", text, re.S | re.M)[1])
    return {name: cell if cell == "all" else set(re.findall(r"`(\w+)`", cell)) for name, cell in rows}, set(bottom)


def problem(module):
    """The problem that a module belongs to, or None."""
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["problems"] and parts[2:] and parts[2] in PROBLEMS else None


@functools.cache
def ours(name, text):
    """The modules of the package that a module imports. The contract names modules of problems and those above that
    bring implementations, and `grailbench` itself names the library for type checkers; both import them when they are
    asked for, and these are the two places where they may be named."""
    found = {other for other in imports(text) if other in MODULES and other != name}
    if name == "grailbench.problems.contract":
        return {other for other in found if not problem(other) and other not in IMPLEMENTATIONS}
    return {other for other in found if not (name == "grailbench" and package(other) == "api")}


def forbidden(sources):
    """Imports that the page does not allow, and those of a problem by another one, the harness or what reads rows."""
    rows, bottom = allowed()
    for name, text in sources.items():
        one = package(name)
        mine = bottom if one in bottom else bottom | {one} | set(rows.get(one, ()))
        for other in ours(name, text):
            reached = problem(other) not in (None, problem(name))
            strange = reached and (problem(name) or one in ("harness", "compare", "report", "data", "cuda", "graph"))
            if one not in ("cli", "__main__") and (package(other) not in mine or strange):
                yield f"{name} imports {other}"


@pytest.fixture(scope="module")
def sources():
    """The text of every module."""
    return {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}


def test_packages_import_what_the_page_allows(sources):
    assert sorted(forbidden(sources)) == []


def test_the_page_names_every_package_and_no_other_and_tests_that_exist_and_no_row_names_one_above_it():
    rows, bottom = allowed()
    assert not rows.keys() & bottom
    assert {*rows, *bottom, "__main__"} == {package(name) for name in MODULES}
    assert all((ROOT / name).is_file() for name in re.findall(r"`(tests/\w+\.py)`", PAGE.read_text(encoding="utf-8")))
    names = list(rows)
    assert names[0] == "cli"
    for at, name in enumerate(names[1:], 1):
        assert rows[name] <= set(names[at + 1 :]), name


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("harness.plan", "from grailbench.problems.reachability.index import FILTERS"),
        ("harness.plan", "def f():\n    from grailbench.problems.reachability import index"),
        ("harness.plan", "import_module('grailbench.problems.closure.problem')"),
        ("compare.ratios", "from grailbench.problems.closure import bits"),
        ("problems.reachability.index", "import grailbench.harness.plan"),
        ("problems.reachability.index", "from grailbench.problems.closure import bits"),
        ("report.captions", "from grailbench.cli import progress"),
        ("graph.csr", "from grailbench.problems import contract"),
        ("util.words", "from grailbench.graph import csr"),
        ("problems.contract", "from grailbench.harness import rows"),
    ],
)
def test_an_import_against_the_arrows_is_seen(module, line):
    assert len(list(forbidden({f"grailbench.{module}": line}))) == 1


def test_no_modules_import_each_other_in_a_circle(sources):
    found = {name: ours(name, text) for name, text in sources.items()}
    assert "grailbench.graph.generate" in found["grailbench.data.locate"]
    TopologicalSorter(found).prepare()  # raises CycleError, which names the circle


def test_one_module_imports_what_compiles_kernels_and_one_package_all_of_cuda_and_that_only_when_it_is_used(sources):
    found = {name: {other for other in imports(text) if CUDA.match(other)} for name, text in sources.items()}
    assert {name for name, others in found.items() if others} <= {name for name in found if package(name) == "cuda"}
    of_numba = {name for name, others in found.items() if any("numba" in other for other in others)}
    assert of_numba == {"grailbench.cuda.gateway"}
    early = re.compile(r"^(from|import)\s+(cuda|cupy)\b", re.M)
    assert [name for name, text in sources.items() if early.search(text)] == []


# ------------------------------------------------------------------ walks


def walks():
    """The walks of the page: the text of each by 'walk N'."""
    parts = re.split(r"^## (Walk \d): .*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name.lower(): text for name, text in zip(parts[::2], parts[1::2], strict=True)}


def files(text):
    """The files of the package that a text names."""
    return re.findall(r"`([\w/]+\.py)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("walk", PACKAGES)
def test_a_walk_names_files_that_exist_in_few_packages(walk):
    named = [name for name in files(walks()[walk]) if not name.startswith("tests/")]
    assert [name for name in named if not (ROOT / "grailbench" / name).is_file()] == []
    touched = {name.removesuffix(".py").split("/")[0] for name in named} - {"cli"}
    assert 0 < len(touched) <= PACKAGES[walk], touched


def test_the_program_of_walk_2_runs_and_loads_no_other_package(tmp_path):
    (program,) = re.findall(r"```python\n(.*?)```", walks()["walk 2"], re.DOTALL)
    (tmp_path / "graph.gra").write_text("graph_for_greach\n3\n0: 1 #\n1: 2 #\n2: #\n")
    code = f"import os, sys; os.chdir({str(tmp_path)!r})\n{program}\n"
    code += "print(*index.query_batch(dag.component[[0, 2]], dag.component[[2, 0]], NoTimer()))\n"
    code += "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('grailbench.')}))"
    code, out = in_python(code)
    assert code == 0, out
    answers, loaded = out.splitlines()
    assert answers == "True False"
    rows, bottom = allowed()
    assert set(loaded.split()) - bottom == {"graph", "problems"}
