"""mypy: strict on what users import, and on programs of users, in which every wrong type is found.

The programs import grailbench as it is installed here, from a folder of their own, with what `py.typed` promises.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys

import pytest
from commands import ROOT

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow

_SAID = re.compile(r"^(\w+)\.py:(\d+): error: .*\[([a-z-]+)\]$", re.MULTILINE)

PLUG_IN = """
from collections.abc import Sequence

import networkx as nx
import numpy as np

import grailbench as gb
from grailbench.api import nx as nx_backend
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer, register


class BitsIndex(Index):
    def __init__(self, reach: Sequence[int]) -> None:
        self.reach = reach

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        return np.array([self.reach[u] >> v & 1 for u, v in zip(sources.tolist(), targets.tolist())], np.bool_)

    def check_labels(self, dag: Dag) -> str | None:
        return None

    @property
    def index_bytes(self) -> int:
        return sum(bits.bit_length() // 8 + 1 for bits in self.reach)


@register
class Bits(Implementation):
    name = "bits"
    source = "a sweep from the leaves"

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> BitsIndex:
        reach = [1 << u for u in range(dag.vertices)]
        with timer.phase("sweep"):
            for u in dag.order[::-1].tolist():
                for v in dag.children[dag.offsets[u] : dag.offsets[u + 1]].tolist():
                    reach[u] |= reach[v]
        return BitsIndex(reach)


def names(index: gb.Index, source: str) -> list[str]:
    try:
        return [str(each) for each in index.descendants(source)]
    except (gb.InputError, gb.MachineLacks) as error:
        return [str(error)]


graph: nx.DiGraph[str] = nx.DiGraph([("flour", "dough"), ("dough", "bread")])
answer: bool = nx.has_path(nx_backend.convert(graph), "flour", "bread")
built: gb.Index = gb.build(gb.Graph.from_networkx(graph), "core", threads=1)
count: np.ndarray = built.count_descendants(["flour"])
path: list[str] | None = built.path("flour", "bread")
"""

#: each line is wrong, as the code after it says
WRONG = """
import grailbench as gb
from grailbench.problems.reachability.index import Implementation, Index, NoTimer, Params

gb.build("edges.txt", d="two")  # arg-type
gb.build("edges.txt", search="sideways")  # arg-type
gb.build("edges.txt", pears=3)  # call-arg
gb.build(7)  # arg-type
gb.Graph.from_edges([0, 1])  # call-arg
gb.Graph.from_edges(0, 1)  # arg-type
index = gb.load("letters.index")
index.reaches("a")  # call-arg
index.reaches_many("a", 1)  # arg-type
index.reach("a", "b")  # attr-defined
number: int = index.reaches("a", "b").bit_count() + index.path("a", "b")  # operator
word: str = index.reaches("a", "b")  # assignment
index.path("a", "b")[0]  # index
gb.nonsense  # attr-defined
gb.InputError("no such file", row=3)  # call-arg
Params(dim="2")  # arg-type
with NoTimer().phase(3):  # arg-type
    pass


class Half(Index):
    def query_batch(self, sources: str, targets: str) -> bool:  # override
        return True


Half()  # abstract


class Other(Implementation):
    problem = 3  # assignment
"""


def examples() -> str:
    """The examples of docs/library.md as one program."""
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    found = [example.source for example in doctest.DocTestParser().get_examples(text)]
    assert len(found) > 30
    return "".join(["import grailbench as gb\n", "import numpy as np\n", *found])


def wrong(text, file):
    """{(file, line, code)}: where WRONG says that it is wrong."""
    marked = (re.search(r"  # ([a-z-]+)$", line) for line in text.splitlines())
    return {(file, str(at), found[1]) for at, found in enumerate(marked, 1) if found}


def checked(folder, *words):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-color-output", "--no-error-summary", "--hide-error-context", *words],
        cwd=folder, capture_output=True, text=True, timeout=800,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("mypy"))


def test_what_users_import_is_strictly_typed(cache):
    assert checked(ROOT, "--cache-dir", cache) == (0, "")


def test_programs_of_users_are_typed_and_every_wrong_type_is_found(cache, tmp_path):
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n[mypy-scipy.*]\nignore_missing_imports = true\n")
    for name, text in (("examples", examples()), ("plug_in", PLUG_IN), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(text)
    code, said = checked(tmp_path, "--cache-dir", cache, "examples.py", "plug_in.py", "wrong.py")
    assert {found.groups() for found in _SAID.finditer(said)} == wrong(WRONG, "wrong"), said
    assert code == 1
