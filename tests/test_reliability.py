"""docs/reliability.md and the records it is made of: `tests/faults/page.py`, `tests/faults/record.py`."""

import ast
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import ROOT
from stored import HOSTILE

sys.path.insert(0, str(Path(__file__).parent / "faults"))

import night
import page
import record

GOOD = {
    "area": page.AREAS[0], "promise": "Nothing is lost.", "test": "tests/faults/digraphs.py", "figure": "3 of 3",
    "command": "python tests/faults/digraphs.py --cpu --count 3", "date": "2026-11-23", "commit": "0" * 40,
    "machine": "a machine", "kept": True, "seconds": 2.5, "details": {"faults": 0, "seeds": [1, 2]},
}  # fmt: skip


def test_the_page_is_what_its_records_say():
    assert (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8") == page.page(page.records()), (
        "python tests/faults/page.py > docs/reliability.md"
    )


def test_no_record_names_what_is_not_there_or_was_broken():
    assert [fault for name, each in page.records() for fault in page.faults(name, each)] == []


def test_a_sound_record_has_no_fault():
    assert list(page.faults("good", GOOD)) == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("area", "Elsewhere", "no area 'Elsewhere'"),
        ("test", "tests/faults/none.py", "no test tests/faults/none.py"),
        ("test", "grailbench/util/words.py", "no test"),
        ("date", "23/11/2026", "is no date"),
        ("date", "2126-01-01", "after today"),
        ("date", "1969-12-31", "before grailbench"),
        ("seconds", -1.0, "took -1.0 s"),
        ("kept", False, "the promise was broken: 3 of 3"),
        ("details", {"on disks": {"faults": 2}}, "the promise was broken"),
        ("command", "python tests/faults/none.py", "no program"),
        ("command", "python tests/faults/digraphs.py --none 3", "No such option"),
        ("command", "A=1 watch --it python tests/faults/digraphs.py --cuont 3", "No such option"),
        ("command", "python tests/bench_site.py --none 3", "no option --none"),
        ("command", "make none", "no target none"),
        ("command", "pytest tests/test_none.py", "no file tests/test_none.py"),
        ("command", "python -m pytest -n 1", "no file for pytest"),
        ("command", "grailbench nothing", "no command nothing"),
        ("command", "grailbench run --none", "No such option"),
        ("command", "make test && echo done", "no program in 'echo done'"),
    ],
)
def test_a_record_that_is_not_true_is_named(key, value, said):
    (fault,) = page.faults("it", {**GOOD, key: value})
    assert fault.startswith("it: ")
    assert said in fault


@pytest.mark.parametrize(
    "command",
    [
        "NUMBA_BOUNDSCHECK=1 python tests/faults/digraphs.py --cpu --count 3",
        "compute-sanitizer --tool memcheck python tests/faults/kernels.py --out reached.json",
        "python tests/bench_site.py --cells 3", "make test", "python -m pytest tests/test_words.py -n 1",
        "pytest tests/test_words.py::test_x && grailbench run --resume=X", "bash .ci/run",
    ],
)  # fmt: skip
def test_commands_that_are_there_are_known(command):
    assert list(page.faults("it", {**GOOD, "command": command})) == []


def test_a_record_without_a_field_is_named():
    assert list(page.faults("it", {key: GOOD[key] for key in GOOD if key != "machine"})) == ["it: no machine"]


def test_a_broken_promise_is_not_recorded_as_kept_and_stands_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    monkeypatch.setattr(record, "this_machine", lambda: "a machine")
    words = {key: GOOD[key] for key in ("area", "promise", "test", "figure", "command", "seconds")}
    with pytest.raises(ValueError, match="faults: 2"):
        record.write("it", **words, kept=True, details={"faults": 2})
    assert list(tmp_path.iterdir()) == []
    record.write("it", **words, details={"faults": 2}, kept=False)
    ((name, found),) = page.records()
    assert (name, found["kept"]) == ("it", False)
    assert "**broken**: 3 of 3" in page.page([(name, found)])
    record.write("it", **words, kept=True, details={"faults": 0})
    assert "broken**" not in page.page(page.records())


def test_areas_come_in_their_order_and_empty_ones_not_at_all():
    found = [("b", {**GOOD, "area": page.AREAS[2]}), ("a", GOOD)]
    headings = [line for line in page.page(found).splitlines() if line.startswith("## ")]
    assert headings == [f"## {page.AREAS[0]}", f"## {page.AREAS[2]}"]


def areas_of(program: str) -> set[str]:
    """The areas that records of a program have, as its text says."""
    given = (word.value for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)
             for word in node.keywords if word.arg == "area")  # fmt: skip
    return {text.value for each in given for text in ast.walk(each) if isinstance(text, ast.Constant)}


def test_the_page_has_the_area_of_every_program():
    found = {path.name: areas_of(path.read_text()) for path in (ROOT / "tests" / "faults").glob("*.py")}
    named = set().union(*found.values())
    assert named == set(page.AREAS)
    assert areas_of("write(area='A' if gpu else 'B')") == {"A", "B"}


def left_out(tries: list[Path]) -> list[str]:
    """Programs that write a record and are not run by `make faults`, which looks for the option."""
    return [path.name for path in tries if "--record" in (text := path.read_text()) and '"--nightly"' not in text]


@pytest.mark.processes
def test_a_night_runs_all_programs_and_tells_of_each_how_it_ended(tmp_path):
    ends = {"a.py": 0, "b.py": 1, "c.py": 4}
    for name, code in ends.items():
        text = f"'python {name} --record it'\nimport sys\nprint(sys.argv[1:])\nsys.exit({code})\noption = "
        (tmp_path / name).write_text(text + '"--nightly"\n')
    (tmp_path / "other.py").write_text("1 / 0\n")
    assert [path.name for path in night.programs(tmp_path)] == [*ends]
    found = {path.name: (code, said) for path, code, said, _ in night.ran(night.programs(tmp_path), 2, True)}
    assert found == {name: (code, "['--nightly', '--record', 'it']\n") for name, code in ends.items()}
    assert night.words(night.HERE / "soak.py", True) == ["--nightly"]
    assert night.words(night.HERE / "kills.py", False) == ["--nightly"]
    ended = CliRunner().invoke(night.main, ["--only", "kill.py"])
    assert (ended.exit_code, "kill.py" in ended.output) == (2, True)


def test_make_faults_runs_every_program_that_needs_no_gpu(tmp_path):
    gpu = {"digraphs.py", "exhaust.py", "kernels.py", "lost.py", "sanitizers.py", "together.py"}
    programs = sorted((ROOT / "tests" / "faults").glob("*.py"))
    own = [path for path in programs if "@click.command" in path.read_text() and path.name not in gpu]
    assert left_out(own) == ["supply.py"]
    (tmp_path / "other.py").write_text('option("--record")')
    assert left_out([*own, tmp_path / "other.py"]) == ["supply.py", "other.py"]


@pytest.mark.parametrize("text", [*HOSTILE, "a | b", "**a**", "[a](b)", "`a`", "a\n\n## b", "\u202eabc", "a\u200bb"])
def test_text_of_records_stays_text(text):
    each = {**GOOD, "promise": text, "figure": text, "command": text, "machine": text, "details": {text: text}}
    plain = page.page([("it", {**GOOD, "promise": "a"})])
    made = page.page([("it", each)])
    assert len(made.splitlines()) == len(plain.splitlines())
    assert not set(made) & set("\u202e\u202b\u200b\u200f\x1b\x07")
    for line, other in zip(made.splitlines()[-6:], plain.splitlines()[-6:], strict=True):
        bars = line.replace("\\\\", "").replace("\\|", "").count("|")
        assert bars == other.count("|")
    assert page.escaped("<b> & [x](y) | `c`") == "&lt;b&gt; &amp; \\[x\\](y) \\| \\`c\\`"


def test_a_code_cell_holds_any_command():
    assert page.code("a `b` | c") == "`` a `b` \\| c ``"


def test_records_are_what_programs_write(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    words = {key: GOOD[key] for key in ("area", "promise", "test", "figure", "command", "seconds")}
    path = record.write("it", **words, kept=True)
    found = json.loads(path.read_text())
    assert set(found) == {*record.KEYS, "kept"}
    assert list(page.faults("it", found)) == []
