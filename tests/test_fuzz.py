"""Every reader is fed anything: the kept corpus, and mutations of it; and readers that are broken are found."""

import subprocess
import sys
from pathlib import Path

import boundscheck
import fuzz
import judge as judging
import numpy as np
import own_files
import pytest
import targets
from commands import in_python
from judge import Place, Target, judge

from grailbench.errors import InputError
from grailbench.graph import readers

TARGETS = fuzz.every_target()
SEED = 23
#: inputs at which readers once failed otherwise, and what they say now
MENDED = (
    ("gra", "too_large", "too few for a line of each"),
    ("dot", "quoted", "a non-empty name"), ("config", "list_", "problem"), ("npy-pairs", "torn_header",
        "not a readable array of numpy"),
    ("records", "list_", "neither text nor a number nor null"),
    ("records", "deep", "nested too deep|no JSON"),  # Python 3.13 and newer read on, up to the end that is missing
    ("stalls", "no_id", "no column 'ID'"),
    ("stream", "cut", "cut off or damaged"), ("index-file", "number", "no header of an index"),
    ("index-file", "deep", "no header of an index"), 
    ("config", "unnamed", "input: no implementation is named"), ("dag-file", "endless", r"^.{40,400}$"),
    ("git", "feeds", "line 1: full hashes"), ("index-file", "no_type", "damaged"),
    ("index-file", "shape", "damaged"), ("index-file", "at", "damaged"),
    ("config", "number", r"input, line 2: experiment 1, key 'problem'"), ("dag-file", "size", "damaged"),
    ("index-file", "unknown", "input: no implementation is named"),
    ("sets", "dot", "input: key '0'"),
)  # fmt: skip


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path / "place")


def outcome_of(read, data=b"x", place=None, **about):
    return judge(Target("broken", read, "a broken reader", **about), data, place)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_whatever_a_reader_is_given_it_reads_it_right_or_refuses_it_clearly(name, place, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    target, findings, labels = TARGETS[name], [], set()

    def told(data, outcome):
        labels.add(outcome.label)
        if outcome.finding is not None:
            findings.append((data, outcome.finding.text))

    fuzz.read_corpus(target, place, told)
    with fuzz.limited_memory():
        fuzz.mutate(target, place, SEED, target.few, told)
    assert not findings, f"{len(findings)} findings, the first of {findings[0][0]!r}: {findings[0][1]}"
    assert len(labels) > 1, "nothing of the corpus is read, or nothing is refused"
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(("name", "kept", "said"), MENDED)
def test_what_broke_a_reader_once_is_refused_in_words(name, kept, said, place, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    target = TARGETS[name]
    if target.prepare is not None:
        target.prepare()
    with pytest.raises(InputError, match=said), fuzz.limited_memory():
        target.read((fuzz.CORPUS / name / kept).read_bytes(), place)


def test_the_corpus_is_small_and_every_reader_has_one():
    sizes = {path: path.stat().st_size for path in fuzz.CORPUS.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 300_000
    assert {path.parent.name for path in sizes} == TARGETS.keys()
    assert set(readers.FORMATS) <= TARGETS.keys()


# ------------------------------------------------------------------ readers that are broken


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (InputError("bad"), "not named"),
        (InputError("bad", path="input", line=99), "a line that the file does not have"),
        (InputError("bad" * 2_000, path="input"), "endless"),
        (InputError("too little memory to read it", path="input"), "an allocation failed"),
    ],
)
def test_an_error_that_is_not_clear_is_found(error, fault, place):
    def refuse(data, place):
        raise error

    assert fault in outcome_of(refuse, place=place).finding.text
    clear = InputError("bad", path=place.path, line=1)

    def refuse_clearly(data, place):
        raise clear

    assert outcome_of(refuse_clearly, place=place).finding is None


def test_a_large_allocation_of_a_small_file_is_found(place):
    with fuzz.limited_memory(64 << 20):
        found = outcome_of(lambda data, place: str(np.zeros(1 << 30, np.uint8)[0]), place=place).finding
        assert (found.kind, "test_fuzz.py" in found.text) == ("traceback", True)
        assert outcome_of(lambda data, place: str(np.zeros(1 << 20, np.uint8)[0]), place=place).finding is None


def test_an_input_that_takes_long_and_a_file_left_behind_are_found(place, monkeypatch):
    monkeypatch.setattr(judging, "SLOW_SECONDS", 0.01)
    assert outcome_of(lambda data, place: str(sum(range(3_000_000))), place=place).finding.kind == "slow"
    monkeypatch.undo()
    assert outcome_of(lambda data, place: str(place.write(b"", "other")), place=place).finding.kind == "left behind"
    assert not place.left(())


@pytest.mark.parametrize(
    ("name", "data", "attribute", "change"),
    [
        ("gra", b"2\n0: 1 #\n1: #\n", "targets", lambda ends: 1 - ends),
        ("gra", b"2\n0: 1 #\n1: #\n", "targets", lambda ends: ends[:0]),
        ("edges", b"0 1\n1 0\n", "sources", lambda ends: ends * 0),
        ("edges", b"0 1 3\n1 0 4\n", "weights", lambda weights: weights + 1),
        ("mtx", b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", "targets", lambda ends: ends * 0),
    ],
)
def test_a_reader_that_accepts_a_wrong_edge_is_found(name, data, attribute, change, place, monkeypatch):
    import importlib
    from dataclasses import replace

    module = importlib.import_module(f"grailbench.graph.readers.{readers._FORMATS[name].module}")
    true = getattr(module, f"read_{name}")

    def wrong(*arguments, **options):
        found = true(*arguments, **options)
        return replace(found, graph=replace(found.graph, **{attribute: change(getattr(found.graph, attribute))}))

    assert judge(TARGETS[name], data, place).finding is None
    monkeypatch.setattr(module, f"read_{name}", wrong)
    assert judge(TARGETS[name], data, place).finding is not None


def test_a_reader_that_refuses_a_right_file_is_found(place, monkeypatch):
    def refuse(text):
        raise InputError("no")

    monkeypatch.setattr("grailbench.graph.readers.rows.read_gra", refuse)
    assert "although it is right" in judge(TARGETS["gra"], b"1\n0: #\n", place).finding.text


@pytest.mark.slow
def test_an_index_that_does_not_see_damage_is_found(tmp_path):
    """A changed byte in the file of an index without arrays of its own crashed the process: this one is not that of the
    tests, whose memory it would damage."""
    code, said = in_python(f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(own_files.__file__).parent)!r})
import fuzz, own_files
from grailbench.graph import mapped
from judge import Place, judge

target, place = fuzz.every_target()["index-file"], Place(Path({str(tmp_path)!r}) / "place")
own_files.saved()
mapped.Check._compare = lambda self: None
own_files.QUESTIONS = ("ids", "nbytes")
for number in range(400):
    found = judge(target, b"P\\x07" + (number * 7919).to_bytes(3, "little"), place).finding
    if found is not None and "another answer to ids" in found.text:
        print("found", flush=True)
        os._exit(0)  # before the memory of this process fails, which damage has read and written
""")
    assert (code, said) == (0, "found\n")


def test_a_graph_that_is_refused_when_it_was_written_is_found(place, monkeypatch):
    inputs = (b"%d 7\n" % number for number in range(1_000))
    data = next(data for data in inputs if targets.mark(data) // 7 % 32 == 0 and targets.mark(data) // 64 % 64 > 3)
    assert judge(TARGETS["edges"], data, place).finding is None
    monkeypatch.setattr(targets.writers, "write_edges", lambda path, graph, ids: Path(path).write_text("0 1\nx\n"))
    assert "written as edges: refused" in judge(TARGETS["edges"], data, place).finding.text


# ------------------------------------------------------------------ what makes inputs


BROKEN = """
import os, sys
sys.path[:0] = [{faults!r}]
import fuzz
from judge import Target

def read(data, place):
    if data[:1] == b"c":
        os.abort()
    if data[:1] == b"h":
        while True:
            pass
    return str(len(data))

fuzz.HANG_SECONDS = fuzz.FIRST_SECONDS = 0.5
fuzz.CORPUS, fuzz.TOKENS = fuzz.CORPUS / "none", ()
fuzz.every_target = lambda: {{"gra": Target("gra", read, "a broken reader", tokens=(b"c", b"h"), most=2)}}
fuzz.main()
"""


def test_a_reader_that_dies_or_hangs_is_found(tmp_path):
    words = [sys.executable, "-c", BROKEN.format(faults=str(fuzz.CORPUS.parent)), "--target", "gra"]
    words += ["--seconds", "60", "--out", str(tmp_path), "--executions", "24"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WRONG: gra: crash -6" in done.stderr
    assert "WRONG: gra: hang" in done.stderr
    assert "24 of           24" in done.stdout
    kinds = {path.name.split("-")[1]: path.read_bytes()[:1] for path in tmp_path.glob("*.input")}
    assert kinds == {"crash": b"c", "hang": b"h"}


# ------------------------------------------------------------------ kernels with checked indices


def test_indices_are_checked_where_the_variable_is_set_and_nowhere_else(tmp_path):
    for value, code in (("1", 0), ("0", 1)):
        assert in_python(boundscheck.CHECKED, NUMBA_BOUNDSCHECK=value, NUMBA_CACHE_DIR=str(tmp_path))[0] == code
