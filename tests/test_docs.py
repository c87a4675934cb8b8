"""What the documentation shows really runs."""

import json
import os
import re
import shlex

import numpy as np
import pytest
from commands import ROOT, call_apart
from naive import closure

from grailbench import contract
from grailbench.cli.main import cli
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.reachability import index

PAGE = ROOT / "docs" / "adding-an-implementation.md"


@pytest.fixture
def example():
    """The Python block of the page."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return block


def test_example_answers_as_the_oracle_does(example, monkeypatch):
    monkeypatch.setitem(contract._registry, "reachability", {})
    exec(compile(example, str(PAGE), "exec"), {})
    found = contract._registry["reachability"]["bitclosure"]
    edges = [(0, 1), (1, 2), (2, 1), (3, 1), (2, 4), (5, 4), (6, 6)]
    graph = Graph.from_edges(7, *np.array(edges).T)
    dag = condense(graph)
    u, v = (grid.ravel() for grid in np.meshgrid(np.arange(7), np.arange(7), indexing="ij"))
    built = found.build(dag, index.Params(), index.NoTimer())
    answers = built.query_batch(dag.component[u], dag.component[v], index.NoTimer())
    reach = closure(7, edges)
    assert answers.tolist() == [b in reach[a] for a, b in zip(u, v, strict=True)]
    assert built.index_bytes > 0


def test_example_is_short(example):
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 30


def test_example_is_found_through_its_entry_point(example, tmp_path):
    (tmp_path / "bitclosure.py").write_text(example)
    info = tmp_path / "bitclosure-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bitclosure\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[grailbench.implementations]\nbitclosure = bitclosure:BitClosure\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    code, out, err = call_apart("list", "implementations", "--json", PYTHONPATH=path)
    assert code == 0, err
    assert "bitclosure" in [json.loads(line)["name"] for line in out.splitlines()]


@pytest.mark.parametrize("page", ["README.md", "docs/adding-an-implementation.md"])
def test_every_command_shown_is_one_that_parses(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    blocks = [block for language, block in fenced if language in ("", "sh")]
    shown = re.findall(r"^(?:\$ )?grailbench (.+?)(?:  +#.*)?$", "\n".join(blocks), re.MULTILINE)
    assert len(shown) >= 3
    for line in shown:
        name, *words = shlex.split(line)
        command = cli.get_command(None, name)
        assert command is not None, line
        command.make_context(name, words)


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_readme_names_every_extra_that_an_error_asks_for():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "grailbench").rglob("*.py"))
    asked = set(re.findall(r"grailbench\[(\w+)\]", code))
    shown = re.findall(r"pip install -e '\.\[([\w,]+)\]'", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {"gpu", "cupy"} <= asked <= {extra for extras in shown for extra in extras.split(",")}
