"""SECURITY.md: each promise names a test that is there, and a few are kept here."""

import ast
import re
import tomllib

import pytest
from commands import ROOT

from grailbench.errors import InputError
from grailbench.graph.readers import read

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
SOURCES = sorted((ROOT / "grailbench").rglob("*.py"))
_PARSING = ("parse", "fromstring", "XML", "iterparse", "XMLParser", "fromstringlist", "XMLID")
CITED = re.compile(r"`(tests/\w+\.py)::(\w+)`")


def missing(page):
    """list[str]: the tests that a page names and that are not there."""
    known = {}
    for file, name in CITED.findall(page):
        if file not in known:
            path = ROOT / file
            tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
            known[file] = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if name not in known[file]:
            yield f"{file}::{name}"


def test_every_promise_names_a_test_that_is_there():
    assert list(missing(PAGE)) == []
    assert len(CITED.findall(PAGE)) > 25
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")][2:]
    assert all(CITED.search(row) for row in rows)


def test_a_test_that_is_gone_is_found():
    assert list(missing("[`tests/test_gone.py::test_it`, `tests/test_security.py::test_gone`]")) == [
        "tests/test_gone.py::test_it",
        "tests/test_security.py::test_gone",
    ]


def test_a_source_tree_is_read_and_not_run(tmp_path):
    tree, trace = tmp_path / "tree", tmp_path / "trace"
    tree.mkdir()
    spring = f"open({str(trace)!r}, 'w')\n"
    (tree / "__init__.py").write_text(spring)
    (tree / "a.py").write_text(spring + "from tree import b\n")
    (tree / "b.py").write_text(spring)
    (tree / "setup.py").write_text(spring)
    (tree / "conftest.py").write_text(spring)
    assert read(tree, "python").graph.vertices >= 3
    (tree / "c.py").write_text("(" * 50_000)
    assert "1 file without edges" in " ".join(read(tree, "python").notes)
    assert not trace.exists()


def parsers(text):
    """list[str]: where a module parses XML: what it calls of ElementTree, and what it imports of other parsers."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            if any(re.match(r"(xml\.(sax|dom|parsers)|lxml|defusedxml|expat)", name) for name in names):
                yield ast.unparse(node)
        elif isinstance(node, ast.Attribute) and node.attr in _PARSING and "ElementTree." in ast.unparse(node):
            yield ast.unparse(node)


def test_one_module_reads_xml_of_others():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in SOURCES}
    found = {path: list(parsers(text)) for path, text in texts.items() if re.search("xml|expat|ElementTree", text)}
    assert {path: uses for path, uses in found.items() if uses} == {
        "grailbench/graph/readers/languages.py": ["ElementTree.parse"],
        "grailbench/report/draw/markup.py": ["ElementTree.fromstring"],  # what matplotlib has just written
    }


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a0 "x">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 11)),
        '<!ENTITY a10 SYSTEM "secret.txt">',
    ],
)
def test_entities_of_graphml_neither_grow_nor_read_files(tmp_path, entities):
    (tmp_path / "secret.txt").write_text("secret")
    path = tmp_path / "g.graphml"
    graph = '<graphml><graph edgedefault="directed"><node id="a"/><desc>&a10;</desc></graph></graphml>'
    path.write_text(f"<!DOCTYPE graphml [{entities}]>{graph}")
    with pytest.raises(InputError, match="a graph in GraphML"):
        read(path)


def test_the_security_rules_hold_and_each_exception_has_its_reason():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert "S" in settings["select"], "`make check` runs ruff with them"
    for path in SOURCES:
        lines = path.read_text(encoding="utf-8").splitlines()
        for at, line in enumerate(lines):
            if re.search(r"# noqa: S\d", line):
                above = lines[at - 1].strip() if at else ""
                said = re.search(r"# noqa: S\d+ - \w", line) or above.startswith("#")
                assert said, f"{path.relative_to(ROOT)}, line {at + 1}: no reason"
    assert not [rule for rule in settings.get("ignore", ()) if rule.startswith("S")]
