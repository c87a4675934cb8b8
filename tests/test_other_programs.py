"""Files of the tests give the edges that graphviz, scipy, networkit and obonet read in them; see
`tests/faults/other_programs.py`, which takes folders of any files."""

from pathlib import Path

import other_programs
import pytest
from commands import python_program
from test_more_formats import WRITTEN

from grailbench.graph.readers import guess_format


@pytest.mark.parametrize("format", other_programs.PROGRAMS)
def test_files_of_the_tests_are_read_as_by_another_program(format, tmp_path):
    if program := other_programs.missing(format):
        pytest.skip(f"{program} is not installed: {format} is not compared")
    for number, (name, text, *_) in enumerate(WRITTEN.values()):
        if (path := Path(name)).suffix in other_programs.ENDINGS:
            (tmp_path / f"{number}{path.suffix}").write_text(text, encoding="utf-8")
    found = [each for folder in (other_programs.CORPUS, tmp_path) for each in other_programs.files_of(folder)]
    judged = {path: other_programs.judged(path, format) for path, its in found if its == format}
    assert {path: why for path, (what, why) in judged.items() if what == other_programs.DIFFERENT} == {}
    assert sum(what == other_programs.EQUAL for what, _ in judged.values()) >= 2


@pytest.mark.parametrize(
    ("read", "what"),
    [({("1", "2")}, "equal"), ({("2", "1")}, "WRONG"), (None, "read here alone"), (OSError("torn"), "read here alone")],
)
def test_other_edges_there_are_found_and_a_crash_there_is_none_here(tmp_path, monkeypatch, read, what):
    def there(path):
        if read is None:
            path.unlink()
            raise SystemExit(139)
        if isinstance(read, Exception):
            raise read
        return read

    monkeypatch.setitem(other_programs.PROGRAMS, "mtx", ("another", there))
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    assert guess_format(tmp_path / "g.mtx") == "mtx"
    assert other_programs.judged(tmp_path / "g.mtx", "mtx")[0] == what


def test_a_format_whose_program_is_not_installed_is_said_not_to_be_compared(tmp_path):
    (tmp_path / "g.dot").write_text("digraph { a -> b }")
    code, out, _ = python_program(other_programs.__file__, "--folder", tmp_path, PATH="/nowhere")
    assert (code, out.splitlines()[0]) == (0, "NOT COMPARED: dot, as gvpr of graphviz is not installed")
