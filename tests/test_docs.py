"""What the documentation shows really runs."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib

import numpy as np
import pytest
import words
import yaml
from commands import NO_GPU, PATIENCE, ROOT, call
from naive import closure

from grailbench import __version__
from grailbench.cli.main import cli
from grailbench.errors import install
from grailbench.errors import page as page_of
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.problems import contract
from grailbench.problems.reachability import index

PAGE = ROOT / "docs" / "how-to" / "adding-an-implementation.md"


@pytest.fixture
def example():
    """The Python block of the page."""
    (block,) = blocks(PAGE, "python")
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


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Path: the folder into which pip installed the package of the page, made of its very texts."""
    folder = tmp_path_factory.mktemp("package")
    (example,), (project,) = blocks(PAGE, "python"), blocks(PAGE, "toml")
    (folder / "bitclosure.py").write_text(example)
    (folder / "pyproject.toml").write_text(project)
    into = folder / "installed"
    words = ["install", "--no-index", "--no-deps", "--no-build-isolation", "--target", into, folder]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return into


@pytest.mark.slow
def test_the_installed_example_is_listed_and_verified_by_the_commands_of_the_page(installed, monkeypatch, capsys):
    monkeypatch.setitem(contract._registry, "reachability", contract.implementations())
    monkeypatch.syspath_prepend(installed)
    monkeypatch.setattr(contract, "_loaded", contract._loaded - {contract.ENTRY_POINTS})
    monkeypatch.delitem(sys.modules, "bitclosure", raising=False)
    lines = [line for block in blocks(PAGE, "sh") for line in block.splitlines() if "bitclosure" in line]
    lines = ["grailbench list implementations", *(line for line in lines if " verify " in line)]
    for line in lines:
        code, out, err = call(capsys, *shlex.split(line.replace("kegg", "kegg-like"))[1:], "--json")
        assert code == 0, err
        rows = [json.loads(text) for text in out.splitlines()]
        assert "bitclosure" in [row.get("name") or row["impl"] for row in rows]
    assert ([row["status"] for row in rows], len(lines)) == (["ok"], 2)


@pytest.mark.processes
@pytest.mark.slow
def test_the_program_of_its_page_is_verified_and_run_as_the_page_says(tmp_path, monkeypatch, capsys, diamond):
    page = "docs/how-to/adding-a-program.md"
    monkeypatch.setattr(contract, "programs", {})
    (code,), (toml,) = blocks(page, "python"), blocks(page, "toml")
    (tmp_path / "reach.py").write_text(code)
    (tmp_path / "reach.toml").write_text(toml)
    monkeypatch.chdir(tmp_path)
    for line in blocks(page, "sh")[0].splitlines():
        words = shlex.split(line.replace("kegg", diamond))
        more = ("--out", tmp_path / "run", "--trials", 2, "--warmup", 0) if "run" in words else ()
        status, out, err = call(capsys, *words[1:], "--json", "--count", 50, "--process", "shared", *more)
        assert status == 0, err
        rows = [json.loads(line) for line in out.splitlines()]
        assert {row["status"] for row in rows if row["impl"] == "program:reach"} == {"ok"}
    assert {row["phase"] for row in rows if row["impl"] == "program:reach"} > {"label", "query", "process"}


#: every page that has commands in blocks
PAGES_OF_COMMANDS = [
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "notes" not in path.parts and re.search(r"^(\$ )?grailbench ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("page", PAGES_OF_COMMANDS)
def test_every_command_shown_is_one_that_parses(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    blocks = [block for language, block in fenced if language in ("", "sh")]
    shown = re.findall(r"^(?:\$ )?grailbench (.+?)(?:  +#.*)?$", "\n".join(blocks), re.MULTILINE)
    assert len(PAGES_OF_COMMANDS) > 10
    for line in shown:
        name, *words = shlex.split(line)
        command = cli.get_command(None, name)
        assert command is not None, line
        command.make_context(name, words)


PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("results/**/README.md")))
]


def prose(path):
    """A page without its code, whose brackets are no links."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them; those of a generated page only `make docs` knows."""
    found = []
    for heading in re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return found


def broken(page):
    """The relative links of a page that lead to no file, or to no heading of one."""
    for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", prose(page)):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        generated = target.is_file() and re.search(r"^::: ", target.read_text("utf-8"), re.MULTILINE)
        if not target.exists() or (anchor and not generated and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_a_file_and_a_heading_of_it(page):
    assert list(broken(ROOT / page)) == []


def test_files_that_pages_name_are_there():
    named = {
        (page.name, path)
        for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))
        if "notes" not in page.parts and page.name != "decisions.md"  # of their day
        for path in re.findall(r"`((?:grailbench|tests|configs|datasets|results)/[\w./-]+)`", page.read_text("utf-8"))
    }
    assert len(named) > 20
    made = ("results/runs/",)
    assert [item for item in sorted(named) if not (ROOT / item[1]).exists() and not item[1].startswith(made)] == []


def test_every_extra_that_an_error_asks_for_is_one_and_stands_on_the_page_of_installing():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "grailbench").rglob("*.py"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = set(re.findall(r"\binstall\('([\w-]+)'\)", code))
    assert {"gpu", "dask"} <= asked <= {*project["optional-dependencies"]}
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert [extra for extra in asked if f"| `{extra}` |" not in page] == []


def test_an_error_asks_for_what_an_extra_brings_and_for_no_grailbench_of_an_index(monkeypatch):
    of_project = ["click>=8", 'numpy<2.5; extra == "gpu"', "cupy>=13 ; extra == 'gpu'", 'dask>=1; extra == "gpu-more"']
    monkeypatch.setattr("importlib.metadata.requires", lambda name: of_project)
    assert install("gpu") == "pip install 'numpy<2.5' 'cupy>=13'"
    monkeypatch.setattr("importlib.metadata.requires", lambda name: None)
    assert install("gpu") == f"install its extra 'gpu', see {page_of('install')}"


def test_pages_that_messages_name_are_in_the_checkout_and_in_the_wheel():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "grailbench").rglob("*.py"))
    named = set(re.findall(r"[{(]page\('([\w/-]+)'\)", code))
    assert len(named) > 2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for name in named:
        path = page_of(name)
        assert path.is_file()
        (source,) = (each for each in shipped if path.is_relative_to(ROOT / each))
        assert shipped[source] == f"grailbench/_shipped/{source}"
    assert "docs/" not in re.sub(r"#.*|\"\"\".*?\"\"\"", "", code, flags=re.DOTALL | re.MULTILINE)


def test_no_address_of_the_documentation_is_promised_before_it_is_published():
    files = [
        "mkdocs.yml",
        "pyproject.toml",
        "CITATION.cff",
        *(each.relative_to(ROOT) for each in ROOT.glob("docs/**/*.md")),
    ]
    assert [name for name in files if "github.io" in (ROOT / name).read_text(encoding="utf-8")] == []


def test_the_citation_names_this_version_and_the_works_that_are_reproduced():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (found["cff-version"], found["type"], found["title"]) == ("1.2.0", "software", "grailbench")
    assert found["version"] == __version__
    assert found["message"]
    assert found["license"] == "MIT"
    assert found["authors"]
    first = {work["authors"][0]["family-names"] for work in found["references"]}
    assert first == {"Caiazza", "Quer", "Naumov", "Fenz", "Pathak"}
    for work in found["references"]:
        assert set(work) >= {"type", "title", "authors", "keywords"}


def blocks(page, language):
    """The code blocks of a page in a language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def gated(installed, tmp_path):
    """A function that runs the gate of docs/how-to/ci.md in a project with its files; exit code and the verdict."""
    project = tmp_path / "project"
    (project / "benchmarks").mkdir(parents=True)
    bench, gate = blocks("docs/how-to/ci.md", "toml")
    (script,) = blocks("docs/how-to/ci.md", "bash")
    bench = bench.replace("trials = 15", "trials = 5")  # the least that is compared
    for name, text in {"bench.toml": bench, "gate.toml": gate, "gate.sh": script}.items():
        (project / "benchmarks" / name).write_text(text)
    launcher = tmp_path / "grailbench"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grailbench "$@"\n')
    launcher.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    package = shutil.copytree(installed, tmp_path / "package")
    env = {**os.environ, **NO_GPU, "PATH": path, "PYTHONPATH": os.pathsep.join([str(package), str(ROOT)])}

    def run(*command):
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=PATIENCE)
        verdict = project / "verdict.md"
        return done.returncode, done.stdout + done.stderr, verdict.read_text() if verdict.exists() else ""

    (baseline,) = (line for line in blocks("docs/how-to/ci.md", "sh") if line.startswith("grailbench run"))
    code, said, _ = run(*shlex.split(baseline))
    assert code == 0, said
    return project, run


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.processes
@pytest.mark.slow
def test_the_gate_of_the_ci_page_passes_the_same_code_and_fails_a_wrong_answer(gated, tmp_path):
    project, run = gated
    gate = project / "benchmarks" / "gate.toml"
    gate.write_text(gate.read_text().replace("1.6 ", "1000 ").replace("2.5 ", "1000 "))  # no test depends on a time
    code, said, verdict = run("bash", "benchmarks/gate.sh")
    assert code == 0, said
    assert "no regression" in verdict
    mine = tmp_path / "package" / "bitclosure.py"
    mine.write_text(mine.read_text().replace(">> v & 1 for", ">> v & 1 ^ (u % 7 == 0) for"))
    code, said, _ = run("bash", "benchmarks/gate.sh")
    assert code == 1
    assert "answers are wrong" in said


def test_the_workflow_of_the_ci_page_is_yaml_that_runs_the_gate():
    (text,) = blocks("docs/how-to/ci.md", "yaml")
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    assert "bash benchmarks/gate.sh" in [step.get("run") for step in steps]


def test_the_documentation_is_short_and_so_are_its_sentences_and_paragraphs():
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in words.pages()}
    assert len(texts) > 50
    assert sum(map(words.count, texts.values())) <= words.MOST
    assert [(str(path), fault) for path, text in texts.items() for fault in words.long(text)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("word " * 40 + ".", 0), ("word " * 41 + ".", 1), ("Word. " * 121, 1),
        ("Word. " * 60 + "\n\n" + "Word. " * 61, 0),
        ("- " + "Word. " * 61 + "\n- " + "Word. " * 61, 0), ("```\n" + "word " * 41 + "\n```", 0),
        ("| " + "word " * 41 + "|", 0), ("A. \n\n    " + "word " * 41 + "\n", 0),
        ("<!-- grailbench x -->\n" + "word " * 41 + "\n<!-- end -->", 1),
    ],
)  # fmt: skip
def test_what_is_too_long_is_found(text, found):
    assert len(list(words.long(text))) == found


@pytest.mark.parametrize("page", ["first-answer"])
def test_the_program_of_a_tutorial_prints_what_it_says(page, capsys):
    path = ROOT / "docs" / "tutorials" / f"{page}.md"
    (_, program), (_, printed) = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S)
    exec(compile(program, str(path), "exec"), {})
    assert capsys.readouterr().out == printed


def test_no_page_has_marks_of_a_merge():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "Makefile"]
    assert len(pages) > 20
    marked = [(page.name, line) for page in pages for line in page.read_text("utf-8").splitlines()
              if line.startswith(("<<<<<<< ", ">>>>>>> "))]  # fmt: skip
    assert marked == []
