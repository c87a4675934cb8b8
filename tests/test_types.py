"""mypy: strict on what users import, and on programs of users, in which every wrong type is found."""

import doctest
import re
import subprocess
import sys
import tomllib

import pytest
from commands import ROOT

from grailbench import api

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow

_SAID = re.compile(r"^(?:.*/)?(\w+)\.py:(\d+): error: .*\[([a-z-]+)\]$", re.MULTILINE)

PLUG_IN = """
import networkx as nx
import numpy as np

import grailbench as gb
from grailbench.api import nx as nx_backend
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer, register


class BitsIndex(Index):
    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        return np.zeros(sources.shape[0], np.bool_)

    def check_labels(self, dag: Dag) -> str | None:
        return None

    @property
    def index_bytes(self) -> int:
        return 0


@register
class Bits(Implementation):
    name = "bits"
    source = "a sweep from the leaves"

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> BitsIndex:
        with timer.phase("sweep"):
            return BitsIndex()


graph: nx.DiGraph[str] = nx.DiGraph([("flour", "dough"), ("dough", "bread")])
answer: bool = nx.has_path(nx_backend.convert(graph), "flour", "bread")
try:
    built: gb.Index = gb.build(gb.Graph.from_networkx(graph), "core", threads=1)
except (gb.InputError, gb.MachineLacks) as error:
    word: str = str(error)
count: np.ndarray = built.count_descendants(["flour"])
path: list[str] | None = built.path("flour", "bread")
"""

#: each line is wrong, as the code after it says
WRONG = """
import grailbench as gb
from grailbench.problems.reachability.index import Index, NoTimer, Params

gb.build("edges.txt", d="two")  # call-overload
gb.build("edges.txt", search="sideways")  # call-overload
gb.build("edges.txt", pears=3)  # call-overload
gb.Graph.from_edges([0, 1])  # call-arg
index = gb.load("letters.index")
index.reaches("a")  # call-arg
index.reaches_many("a", 1)  # arg-type
index.reach("a", "b")  # attr-defined
word: str = index.reaches("a", "b")  # assignment
index.path("a", "b")[0]  # index
gb.InputError("no such file", row=3)  # call-arg
Params(dim="2")  # arg-type
with NoTimer().phase(3):  # arg-type
    pass


class Half(Index):
    def query_batch(self, sources: str, targets: str) -> bool:  # override
        return True


Half()  # abstract
"""


def examples() -> str:
    """The examples of the library's docstrings as one program, behind the graph of docs/reference/library.md."""
    finder, shown = doctest.DocTestFinder(recurse=True), {getattr(api, name) for name in api.__all__}
    tests = [test for each in shown for test in finder.find(each)]
    found = [example.source for test in tests for example in test.examples]
    assert len(found) > 30
    page = (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return "".join([program, "import numpy as np\n", *found])


def wrong(text, file):
    """{(file, line, code)}: where WRONG says that it is wrong."""
    marked = (re.search(r"  # ([a-z-]+)$", line) for line in text.splitlines())
    return {(file, str(at), found[1]) for at, found in enumerate(marked, 1) if found}


def test_what_users_import_is_strictly_typed_and_every_wrong_type_of_their_programs_is_found(tmp_path):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    for name, text in (("examples", examples()), ("plug_in", PLUG_IN), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-color-output", "--no-error-summary", "--hide-error-context",
         "--cache-dir", tmp_path / "cache", *settings["files"], *sorted(tmp_path.glob("*.py"))],
        cwd=ROOT, capture_output=True, text=True, timeout=800, check=False,
    )  # fmt: skip
    assert {found.groups() for found in _SAID.finditer(done.stdout)} == wrong(WRONG, "wrong"), done.stdout
    assert (done.returncode, done.stderr) == (1, "")
