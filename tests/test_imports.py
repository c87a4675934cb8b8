"""Who imports whom in the package: no circle, imports inside functions counted."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "grailbench").rglob("*.py")
}


def imported(path):
    """The modules of the package that a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            whole = (f"{node.module}.{alias.name}" for alias in node.names)
            names |= {name if name in MODULES else node.module for name in whole}
    return names & MODULES.keys()


def test_no_modules_import_each_other_in_a_circle():
    found = {name: imported(path) for name, path in MODULES.items()}
    assert "grailbench.graph.generate" in found["grailbench.datasets.library"]
    TopologicalSorter(found).prepare()  # raises CycleError, which names the circle
