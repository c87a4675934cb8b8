"""docs/explanation/reliability.md and the records it is made of: `tests/faults/page.py`, `tests/faults/record.py`."""

import json

import click
import night
import page
import pytest
import record
import tiny_cells
from click.testing import CliRunner
from commands import ROOT
from tiny_cells import Took

GOOD = {
    "area": page.AREAS[0], "promise": "Nothing is lost.", "test": "tests/faults/digraphs.py", "figure": "3 of 3",
    "command": "python tests/faults/digraphs.py --cpu --count 3", "date": "2026-11-23", "commit": "0" * 40,
    "machine": "a machine", "kept": True, "seconds": 2.5, "details": {"faults": 0, "seeds": [1, 2]},
}  # fmt: skip


def test_the_page_is_what_its_records_say():
    written = (ROOT / "docs" / "explanation" / "reliability.md").read_text(encoding="utf-8")
    assert written == page.page(page.records()), "python tests/faults/page.py > docs/explanation/reliability.md"


def test_no_record_names_what_is_not_there_or_was_broken():
    assert [fault for name, each in page.records() for fault in page.faults(name, each)] == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("area", "Elsewhere", "no area 'Elsewhere'"),
        ("test", "tests/faults/none.py", "no test tests/faults/none.py"),
        ("kept", False, "the promise was broken: 3 of 3"),
        ("details", {"on disks": {"faults": 2}}, "the promise was broken"),
        ("command", "python tests/faults/none.py", "no program"),
        ("command", "python tests/faults/digraphs.py --none 3", "No such option"),
    ],
)
def test_a_record_that_is_not_true_is_named(key, value, said):
    (fault,) = page.faults("it", {**GOOD, key: value})
    assert fault.startswith("it: ")
    assert said in fault


def test_the_record_of_a_program_that_is_gone_links_the_test_that_holds_its_promise():
    found = {**GOOD, "test": "tests/faults/supply.py", "command": "python tests/faults/supply.py --only types"}
    assert list(page.faults("it", found)) == []
    assert "`test_locks.py`" in page.page([("it", found)])
    assert all((ROOT / test).is_file() for test in page.GONE.values())


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


def test_a_program_runs_says_its_figure_and_writes_its_record_with_the_command_that_was_given(tmp_path, monkeypatch):
    def work(count, names, out, nightly):
        return record.Found(f"{count} tried", ["no"] * (count > 2), {"count": count})

    monkeypatch.setattr(record, "FOLDER", tmp_path)
    work = click.option("--out", type=click.Path())(click.option("--name", "names", multiple=True)(work))
    program = record.program(page.AREAS[0], "Nothing is lost.", night="Long.")(click.option("--count", type=int)(work))
    done = CliRunner().invoke(program, ["--count", "2", "--name", "a b", "--out", "x", "--nightly", "--record", "it"])
    assert (done.exit_code, done.output.partition(",")[0]) == (0, "2 tried")
    found = json.loads((tmp_path / "it.json").read_text())
    assert found["command"] == "python tests/faults/test_reliability.py --nightly --record it --count 2 --name 'a b'"
    assert (found["figure"], found["kept"], found["details"]) == ("2 tried", True, {"count": 2})
    assert CliRunner().invoke(program, ["--count", "3", "--record", "it"]).exit_code == 1
    assert json.loads((tmp_path / "it.json").read_text())["kept"] is False


@pytest.mark.processes
def test_a_night_runs_all_programs_and_tells_of_each_how_it_ended(tmp_path):
    ends = {"a.py": 0, "b.py": 1, "c.py": 4}
    for name, code in ends.items():
        text = f"'''python {name} --record it\n@record.program(night='Long.')\n'''\nimport sys\n"
        (tmp_path / name).write_text(f"{text}print(sys.argv[1:])\nsys.exit({code})\n")
    (tmp_path / "other.py").write_text("1 / 0\n")
    assert [path.name for path in night.programs(tmp_path)] == [*ends]
    for path in night.programs(tmp_path):
        code, text = night.ran(path, True)
        assert (code, text.splitlines()[1:]) == (ends[path.name], ["['--nightly', '--record', 'it']"])
    assert night.words(night.HERE / "soak.py", True) == ["--nightly"]
    assert night.words(night.HERE / "kills.py", False) == ["--nightly"]


def test_make_faults_runs_every_program_that_needs_no_gpu_and_no_other_programs():
    others = {"digraphs.py", "exhaust.py", "lost.py", "other_programs.py"}
    programs = [path for path in night.HERE.glob("*.py") if "@record.program(" in path.read_text()]
    assert {path.name for path in programs} - {path.name for path in night.programs()} == others


@pytest.mark.parametrize("text", ["a | b", "**a**", "[a](b)", "`a`", "a\n\n## b", "<b>"])
def test_text_of_records_stays_text(text):
    each = {**GOOD, "promise": text, "figure": text, "machine": text, "details": {text: text}}
    plain = page.page([("it", {**GOOD, "promise": "a"})])
    made = page.page([("it", each)])
    assert len(made.splitlines()) == len(plain.splitlines())
    for line, other in zip(made.splitlines()[-3:], plain.splitlines()[-3:], strict=True):
        assert line.replace("\\|", "").count("|") == other.count("|")
    assert page.escaped("<b> & [x](y) | `c`") == "&lt;b&gt; &amp; \\[x\\](y) \\| \\`c\\`"


# ------------------------------------------------------------------ tests/faults/tiny_cells.py


FOUND = {
    "cells": 400, "graphs": 2, "trials_s": 0.1, "start": {"wall": 1.0, "processor": 1.0, "peak": 1 << 27},
    "run": {"wall": 3.0, "processor": 2.0, "peak": 1 << 28}, "harness_wall_ms": 5.0,
    "reading": {"report": {"wall": 2.0, "processor": 1.5, "peak": 1 << 28}},
}  # fmt: skip


@pytest.mark.parametrize(("ms", "code", "kept"), [(2.9, 0, True), (3.1, 1, False)])
def test_more_than_the_limit_is_a_broken_promise(ms, code, kept, tmp_path, monkeypatch):
    monkeypatch.setattr(tiny_cells, "measured", lambda cells, folder: {**FOUND, "harness_ms": ms})
    written = []
    monkeypatch.setattr(record, "write", lambda name, **fields: written.append((name, fields)))
    done = CliRunner().invoke(tiny_cells.main, ["--cells", "400", "--record", "cost"])
    assert (done.exit_code, [(name, fields["kept"]) for name, fields in written]) == (code, [("cost", kept)])
    assert f"400 cells on 2 graphs: {ms:.2f} ms" in done.output


@pytest.mark.processes
def test_the_cost_is_what_is_left_of_the_whole_command(tmp_path, monkeypatch):
    true = tiny_cells.timed

    def counted(*words, **env):
        if "--config" in words and words[-1].name == "run":
            true(*words, **env)
            return Took(9.0, 5.0, 1)
        return Took(1.0, 1.0, 1)  # a start, and what compiles

    monkeypatch.setattr(tiny_cells, "timed", counted)
    found = tiny_cells.measured(tiny_cells.EACH, tmp_path, short=True)
    assert (found["cells"], found["graphs"], found["reading"]) == (tiny_cells.EACH, 1, {})
    assert 0 < found["trials_s"] < 4
    assert found["harness_ms"] == pytest.approx(1000 * (5.0 - 1.0 - found["trials_s"]) / tiny_cells.EACH)
