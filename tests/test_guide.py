"""The walk of the guide from a table to an answer is true, and so is what it says of git repositories."""

import re
import subprocess

import numpy as np
import pytest
from commands import ROOT, call

from grailbench.data.imported import import_graph


def section(heading, page="ask"):
    """The blocks of a section of a how-to page: language and text."""
    text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    found = text.partition(f"# {heading}\n")[2]
    return re.findall(r"^```(\w*)\n(.*?)^```$", re.split(r"^##+ ", found, maxsplit=1, flags=re.M)[0], re.M | re.S)


@pytest.mark.parametrize(
    ("heading", "read", "written"),
    [
        ("From a table to an answer", ["parts.csv", "orders.csv"], "parts.index"),
        ("Kinds of edges", ["needs.csv"], None),
        ("Graphs that change", [], "changed.index"),
    ],
)
def test_files_commands_and_the_program_of_a_section_print_what_it_says(
    heading, read, written, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    blocks = section(heading)
    for name, text in zip(read, (text for language, text in blocks if language == "csv"), strict=True):
        (tmp_path / name).write_text(text)
    *shell, printed = (text for language, text in blocks if language == "")
    (program,) = (text for language, text in blocks if language == "python")
    for command, shown in re.findall(r"^\$ grailbench (.*)\n((?:[^$].*\n)*)", "".join(shell), re.M):
        code, out, _ = call(capsys, *command.split())
        assert code == 0
        assert shown in ("...\n", out)
    assert len(program.strip().splitlines()) < 10
    exec(compile(program, "docs/how-to/ask.md", "exec"), {})
    assert capsys.readouterr().out == printed
    assert written is None or (tmp_path / written).exists()


def test_what_a_change_affects(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ((_, commands),) = section("What a change affects")
    given = [line.split(" | ")[-1].partition(" #")[0].split()[1:] for line in commands.splitlines()[1:]]
    (tmp_path / "uses.csv").write_text("app,lib\nlib,util\nlib,net\n")
    (tmp_path / "changed.txt").write_text("util\nnet\n")
    said = [call(capsys, *(tmp_path / "changed.txt" if word == "-" else word for word in words)) for words in given]
    assert [(code, out) for code, out, _ in said[1:]] == [(0, "lib\t1\n"), (0, "app\nlib\n"), (0, "app\tnet\t1\n")]
    assert said[0][0] == 0


def test_a_script_learns_the_answer_by_the_exit_code(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uses.csv").write_text("app,lib\nlib,util\nlib,net\n")
    import_graph("uses.csv", "uses")
    ((_, commands),) = section("In a script")
    shown = [re.fullmatch(r"grailbench (.*?) +# (\d): .*", line).groups() for line in commands.splitlines()]
    assert [call(capsys, *words.split())[0] for words, _ in shown] == [int(code) for _, code in shown] == [0, 1, 2]


def test_an_index_that_others_replace(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (_, program), (_, printed) = section("An index that others replace")
    exec(compile(program, "docs/how-to/ask.md", "exec"), {})
    assert capsys.readouterr().out == printed


def test_names_and_files(tmp_path, monkeypatch, capsys, cache):
    monkeypatch.chdir(tmp_path)
    for folder, edge in (("new", "flour,bread"), ("old", "bread,flour")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "parts.csv").write_text(f"source,target\n{edge}\n")
    ((_, shell),) = section("Names and files", "graphs")
    for command, shown in re.findall(r"^\$ grailbench (.*)\n((?:[^$].*\n)*)", shell, re.M):
        code, out, err = call(capsys, *command.split())
        assert code == 0
        assert shown in ("...\n", (err + out).replace(str(tmp_path), "/home/ann"))


@pytest.mark.slow
def test_ask_agrees_with_git_on_this_repositorys_history(tmp_path, capsys):
    def git_commits(*words):
        found = subprocess.run(["git", "-C", str(ROOT), "rev-list", *words], capture_output=True, text=True, check=True)
        return found.stdout.split()

    import_graph(str(ROOT), "history", "git")
    commits, rng = git_commits("--all"), np.random.default_rng(2_000)
    pairs, expected = [], []
    for u in rng.choice(commits, 20):
        ancestors = {*git_commits(u)}
        chosen = rng.choice(commits, 50)
        pairs += [f"{u} {v}\n" for v in chosen]
        expected += [f"{u}\t{v}\t{int(v in ancestors)}" for v in chosen]
    (tmp_path / "pairs.txt").write_text("".join(pairs))
    code, out, _ = call(capsys, "ask", "history", "--pairs", tmp_path / "pairs.txt")
    assert code == 0
    assert out.splitlines() == expected
    assert len(commits) < 10 or len({line[-1] for line in expected}) == 2
    code, out, _ = call(capsys, "ask", "history", "HEAD", "HEAD")
    assert (code, out.split("\t")[-1]) == (0, "1\n")
