"""A pack holds a run whole and says what it holds; whatever else is in a file that calls itself one is refused."""

import hashlib
import io
import json
import os
import random
import struct
import tempfile
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from commands import call
from outcomes import succeeds, tells
from stored import ENVIRONMENT, HOSTILE, lost, row, trials

from grailbench import __version__
from grailbench.errors import CheckFailed, InputError
from grailbench.harness import axes, pack, submission
from grailbench.harness import folder as results
from grailbench.harness.cells import load, read
from grailbench.harness.rows import FORMAT, cell_of
from grailbench.util import records

CLEAN = {"commit": "c" * 40, "dirty": False, "code": "0.1.0+aaa"}
SHA = "5" * 64


def sound():
    """Rows that may be packed: two implementations of two graphs, one of another name, and a cell that is skipped."""
    return [
        *trials(checksum="a1", graph_sha256=SHA), *trials(impl="parallel", threads=2, checksum="a1", graph_sha256=SHA),
        *trials(dataset=HOSTILE, kind="imported"), *trials(dataset="kegg-like", stands_for="kegg", seed=2),
        *lost("timeout", "the cell's time limit", dataset="human"),
        *lost("skipped", "/home/somebody/graphs/citeseer.gra: there is no such file", dataset="citeseer"),
    ]  # fmt: skip


def stored(folder, rows, environment=None, planned=None, **plan):
    """Writes a run as a runner does, with checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(records.sealed(each)) + "\n" for each in rows]
    (folder / results.ROWS).write_text("".join(lines))
    results.write_json(folder / results.ENVIRONMENT, {**ENVIRONMENT, **CLEAN, **(environment or {})})
    names = ("problem", "impl", *axes.NAMES, "seed", "query_set")
    planned = rows if planned is None else planned
    cells = [{"dataset": each["stands_for"] or each["dataset"], **{n: each[n] for n in names}} for each in planned]
    results.write_json(folder / results.PLAN, {"format": FORMAT, "name": "mine", "cells": cells, **plan})
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("packed") / "mine", sound())


@pytest.fixture(scope="module")
def data(run):
    """The bytes of the pack of that run."""
    return submission.submit(str(run), run.parent / "mine.pack.zip").path.read_bytes()


@pytest.fixture(scope="module")
def files(run):
    return {name: (run / name).read_bytes() for name in pack.FILES}


def believed(content, folder=None):
    """The files of a pack, if it is taken for one; checks that the folder is gone afterwards."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "x.pack.zip")
        path.write_bytes(content)
        with pack.unpacked(path) as (where, _):
            assert sorted(each.name for each in where.iterdir()) == sorted(pack.FILES)
            found = {name: (where / name).read_bytes() for name in pack.FILES}
        assert not where.parent.exists()
    return found


def refused(content):
    """The message for a file that is no pack, of one line."""
    with pytest.raises(InputError) as caught:
        believed(content)
    said = str(caught.value)
    assert "x.pack.zip: " in said
    assert "\n" not in said
    assert "grailbench-pack-" not in said
    assert caught.value.exit_code == 2
    return said


# ------------------------------------------------------------------ what is packed


def test_cells_of_a_pack_are_those_of_the_run(run, data):
    assert believed(data) == {name: (run / name).read_bytes() for name in pack.FILES}
    one, other = load(run), load(run.parent / "mine.pack.zip")
    assert other.name == one.name == "mine"
    assert other.rows == one.rows
    assert other.environment == one.environment
    assert [vars(cell) for cell in other.cells] == [vars(cell) for cell in one.cells]


def test_the_same_run_gives_the_same_bytes_whoever_packs_it_and_when(run, data, tmp_path, monkeypatch):
    again = stored(tmp_path / "mine", sound())
    for path in again.iterdir():
        path.chmod(0o600)
    monkeypatch.setenv("USER", "another")
    assert submission.submit(str(again), tmp_path / "other").path.read_bytes() == data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    assert [each.filename for each in entries] == list(pack.MEMBERS)
    assert {(each.date_time[:3], each.external_attr, each.extra) for each in entries} == {
        ((1980, 1, 1), 0o600 << 16, b"")
    }


def test_a_pack_takes_the_place_of_a_run_and_gets_nothing_beside_it(run, data, tmp_path, capsys):
    mine = tmp_path / "sent.pack.zip"
    mine.write_bytes(data)
    assert succeeds(capsys, "report", mine)[1] == ""
    assert call(capsys, "report", mine, "--out", tmp_path / "report")[0] == 0
    assert "Run sent" in (tmp_path / "report" / "report.md").read_text()
    assert "COMPARE" in call(capsys, "compare", run, mine)[1].upper()
    assert {path.name for path in tmp_path.iterdir()} == {"sent.pack.zip", "report"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "no complete trials"),
        (trials()[:-1], "no complete trials"),
        (trials(status="wrong"), "wrong"),
        (lost("failed", "x"), "failed"),
        ([*trials(graph_sha256=SHA), *trials(dim=3, graph_sha256="6" * 64)], "two graphs of the name 'kegg'"),
    ],
    ids=["none", "torn", "wrong", "failed", "two graphs"],
)
def test_a_run_that_is_not_whole_and_sound_is_not_packed(tmp_path, capsys, rows, said):
    tells(capsys, 2, said, "pack", stored(tmp_path / "run", rows), "--out", tmp_path / "pack")
    assert not (tmp_path / "pack").exists()


def test_a_cell_that_was_asked_the_first_pairs_of_its_set_is_of_the_plan(tmp_path):
    whole, part = trials(), trials(query_set="random-100000-s1-first-1000")
    assert part[0]["query_set"].startswith(whole[0]["query_set"]), "the set of the plan is another one"
    (cell,) = submission.submit(str(stored(tmp_path / "run", part, planned=whole)), tmp_path / "pack").run.cells
    assert (cell.whole_set, cell.part) == ("random-100000-s1", 1000)


def test_another_file_is_not_overwritten(run, tmp_path, capsys):
    (tmp_path / "pack").write_text("thesis")
    tells(capsys, 2, "another file", "pack", run, "--out", tmp_path / "pack")
    assert (tmp_path / "pack").read_text() == "thesis"


# ------------------------------------------------------------------ what it says of who packed it


def test_redact_leaves_out_folders_and_names_and_keeps_rows_with_times_byte_for_byte(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setattr(submission.platform, "node", lambda: "sombra")
    monkeypatch.setattr(submission.getpass, "getuser", lambda: "somebody")
    command = ["grailbench", "run", "--out=/home/somebody/my runs/x", "--scheduler", "tcp://10.0.0.7:8786", "~/g.gra"]
    config = {
        "experiment": [{"queries": ["/home/somebody/thesis/pairs.txt"], "implementations": ["C:\\Users\\s\\p.toml"]}]
    }
    folder = stored(tmp_path / "run", sound(), {"command": command, "host": "on sombra"}, config=config)
    plain, _ = succeeds(capsys, "pack", folder, "--out", tmp_path / "plain")
    assert "has the command: grailbench run --out=/home/somebody/my runs/x" in plain
    assert "trials.jsonl names '/home/somebody', the home folder" in plain
    assert "share it" not in succeeds(capsys, "pack", folder, "--redact", "--out", tmp_path / "less")[0]
    with pack.unpacked(tmp_path / "less") as (where, manifest):
        text = b"".join((where / name).read_bytes() for name in pack.FILES)
        for word in (b"somebody", b"sombra", b"10.0.0.7", b"Users"):
            assert word not in text
        assert b"pairs.txt" in text
        before, after = ((each / results.ROWS).read_bytes().splitlines() for each in (folder, where))
        changed = [json.loads(one) for one, other in zip(before, after, strict=True) if one != other]
        assert [each["dataset"] for each in changed] == ["citeseer"]
        assert [vars(c) for c in read(where).cells[:-1]] == [vars(c) for c in read(folder).cells[:-1]]
        assert manifest.redacted == [
            "environment.json: command", "environment.json: host", "plan.json: config",
            "trials.jsonl: reasons of 1 row without times",
        ]  # fmt: skip


# ------------------------------------------------------------------ what is refused


def sealed(files, /, **lies):
    """The members of a pack, with what its manifest says replaced."""
    listed = {name: {"bytes": len(each), "sha256": hashlib.sha256(each).hexdigest()} for name, each in files.items()}
    cells = len({repr(key) for key in map(_cell, files[results.ROWS].splitlines())})
    said = {"format": pack.FORMAT, "grailbench": __version__, "clean": True, "cells": cells, "redacted": []}
    manifest = (json.dumps(records.sealed(said | {"files": listed} | lies), indent=1) + "\n").encode()
    return [(pack.MANIFEST, manifest), *files.items()]


def _cell(line):
    try:
        return cell_of(json.loads(line))
    except (ValueError, KeyError):
        return line


def archived(members):
    """A zip file of (name, content), as packs are."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")  # of two members of one name
        for name, content in members:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)
    return out.getvalue()


def test_the_archives_of_these_tests_are_packs_but_for_what_they_change(files, data):
    assert archived(sealed(files)) == data


@pytest.mark.parametrize(
    "name", ["../trials.jsonl", "/etc/passwd", "C:\\x", "./plan.json", "Plan.json", "p\u202e.json"]
)
def test_a_member_of_another_name_is_refused(files, name):
    manifest, one, two, three = sealed(files)
    assert "its members are not" in refused(archived([manifest, one, (name, two[1]), three]))
    assert "its members are not" in refused(archived([manifest, one, two, three, (name, b"x")]))


def test_members_twice_missing_in_another_order_or_beyond_the_manifest_are_refused(files):
    manifest, one, two, three = whole = sealed(files)
    for members in (
        [manifest, one, one, two, three], [manifest, one, one, three], [*whole, three], [manifest, one, three],
        [manifest, two, one, three], [one, manifest, two, three], [],
    ):  # fmt: skip
        refused(archived(members))
    refused(archived(sealed({**files, "extra.json": b"{}"})))


@pytest.mark.parametrize(
    "lie",
    [
        {"cells": 3}, {"clean": False}, {"format": 1}, {"format": "2"}, {"cells": True}, {"more": 1}, {"files": {}},
        {"redacted": ["x"] * 101}, {"redacted": "x"}, {"grailbench": 7}, {"cells": 10**30}, {"cells": -1},
        {"files": {"trials.jsonl": {"bytes": 1, "sha256": "x"}}},
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_that_lies_is_refused(files, lie):
    assert "manifest" in refused(archived(sealed(files, **lie))) or lie == {"format": 1}


def test_a_wrong_checksum_or_size_is_refused(files):
    for name in pack.FILES:
        members = dict(sealed(files))
        for changed in (members[name][:-1] + b" ", members[name] + b" ", members[name][:-1]):
            refused(archived([*{**members, name: changed}.items()]))
    (name, manifest), *rest = sealed(files)
    assert "checksum" in refused(archived([(name, manifest.replace(b'"cells": ', b'"cells": 1')), *rest]))
    said = {key: value for key, value in json.loads(manifest).items() if key != "sum"}
    assert "manifest.json has no checksum" in refused(archived([(name, json.dumps(said).encode()), *rest]))


def test_rows_that_contradict_their_plan_or_hold_another_row_are_refused(files, tmp_path):
    other = stored(tmp_path / "a", [*sound(), *trials(impl="bfs")], planned=sound())
    said = refused(archived(sealed({name: (other / name).read_bytes() for name in pack.FILES})))
    assert f"trials.jsonl, line {len(sound()) + 1}: is of a cell that the plan" in said
    changed = files[results.ROWS].replace(b'"ms": 2.0', b'"ms": 0.2', 1)
    assert changed != files[results.ROWS]
    assert "line 2" in refused(archived(sealed({**files, results.ROWS: changed})))
    for name, content in (
        (results.PLAN, b"[]"), (results.PLAN, b"{}"), (results.PLAN, b'{"cells": 7}'),
        (results.PLAN, b'{"cells": [7]}'),
        (results.ROWS, b""), (results.ROWS, b"{}\n"), (results.ENVIRONMENT, b'{"gpus": 3}'),
        (results.ENVIRONMENT, b'{"earlier": ' + b"[" * 5000), (results.ROWS, files[results.ROWS][:-1]),
        (results.ROWS, json.dumps(row(problem="chess")).encode() + b"\n"),
    ):  # fmt: skip
        refused(archived(sealed({**files, name: content})))


def test_failed_and_wrong_cells_are_refused_though_the_pack_is_whole(tmp_path):
    for rows in (trials(status="wrong"), lost("failed", "x")):
        other = stored(tmp_path / rows[0]["status"], rows)
        assert "has cells that are" in refused(archived(sealed({n: (other / n).read_bytes() for n in pack.FILES})))


def test_a_pack_that_is_cut_off_is_refused(data):
    for size in (*range(0, len(data), len(data) // 8), len(data) - 1):
        assert "is not a complete pack" in refused(data[:size])


def test_flipped_bits_are_never_believed(data):
    """Whatever bit is flipped, the file is refused, or (a bit that nothing reads, as of a time) it is the same run."""
    draw, right = random.Random(1), believed(data)
    for at in [*range(12), *draw.sample(range(12, len(data) - 8), 40), *range(len(data) - 22, len(data))]:
        broken = bytearray(data)
        broken[at] ^= 1 << draw.randrange(8)
        found = None
        with suppress(InputError):
            found = believed(bytes(broken))
        assert found in (None, right)


# ------------------------------------------------------------------ bounds


def declared(data, name, size):
    """A pack whose directory says another size of a member."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        right = archive.getinfo(name).file_size
    start = data.rindex(b"PK\1\2", 0, data.rindex(name.encode()))
    return data[: start + 24] + data[start + 24 :].replace(struct.pack("<L", right), struct.pack("<L", size), 1)


def test_what_is_larger_than_is_read_is_refused_before_it_is_read(files, data):
    assert believed(declared(data, results.ROWS, len(files[results.ROWS])))
    for name in pack.MEMBERS:
        assert "more than the" in refused(declared(data, name, pack.MOST[name] + 1))
    assert "too many for its size" in refused(declared(data, results.PLAN, pack.MOST[results.PLAN]))


@pytest.mark.slow
def test_a_bomb_that_says_nothing_of_its_size_is_not_unpacked(files, monkeypatch):
    bomb = archived(sealed({**files, results.PLAN: bytes(64 << 20)}))
    lying = declared(bomb, results.PLAN, len(files[results.PLAN]))
    tracemalloc.start()
    assert "is not a complete pack" in refused(lying)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
    assert "too many for its size" in refused(bomb)


def test_a_folder_a_pipe_and_nothing_are_no_packs(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("", "pipe", "none"):
        with pytest.raises(InputError), pack.unpacked(tmp_path / name):
            pass


# ------------------------------------------------------------------ --check


def test_check_says_what_is_in_a_pack(data, run, capsys):
    path = run.parent / "mine.pack.zip"
    code, out, _ = call(capsys, "pack", "--check", path)
    assert code == 1  # kegg's checksum is made up
    assert "a whole pack" in out
    assert "4 ok, 1 timeout, 1 skipped" in out
    _, out, _ = call(capsys, "pack", "--check", path, "--json")
    found = json.loads(out)
    assert found["graphs"] == {"kegg": submission.WRONG, HOSTILE: "not registered", "kegg-like": "generated",
                               "human": "not known", "citeseer": "not known"}  # fmt: skip
    assert (found["clean"], found["verified"]) == (True, {"closure": 4})
    assert found["faults"] == ["not the registered file of the name: kegg"]
    tells(capsys, 2, "goes without", "pack", "--check", path, "--out", "x")
    (run.parent / "cut").write_bytes(data[:-5])
    tells(capsys, 2, "is not a complete pack of a run", "pack", "--check", run.parent / "cut")


def test_a_pack_says_how_many_cells_have_unstable_times_or_too_few_trials(tmp_path, capsys):
    rows = [*trials(others=3.0), *trials(impl="parallel", threads=2, others=0.0)]
    path = tmp_path / "pack"
    packed = succeeds(capsys, "pack", stored(tmp_path / "run", rows), "--out", path)[0]
    checked, reported = call(capsys, "pack", "--check", path)[1], succeeds(capsys, "report", path)[0]
    for mark, said in (("†", "UNSTABLE TIMES"), ("‡", "TOO FEW TRIALS to tell")):
        assert f"{said} in 1 cell: {mark} stands after their numbers" in packed
        assert f"{said} in 1 cell: {mark} stands after their numbers" in checked
        assert mark in reported
    succeeds(capsys, "pack", stored(tmp_path / "quiet", rows[len(rows) // 2 :]), "--out", tmp_path / "stable")
    assert "UNSTABLE" not in call(capsys, "pack", "--check", tmp_path / "stable")[1]


def test_check_finds_unlike_answers_to_the_same_questions(tmp_path):
    rows = [*trials(checksum="a1"), *trials(impl="parallel", threads=2, checksum="b2")]
    submission.submit(str(stored(tmp_path / "run", rows)), tmp_path / "pack")
    found = submission.judge(tmp_path / "pack")
    assert found.unlike == ["kegg random-100000-s1"]
    with pytest.raises(CheckFailed):
        found.check()


@pytest.mark.slow
def test_a_site_takes_a_pack_and_says_that_it_was_submitted(run, tmp_path, capsys):
    file = tmp_path / "sent.pack.zip"
    assert call(capsys, "pack", run, "--out", file)[0] == 0
    succeeds(capsys, "site", tmp_path / "out", file)
    assert "submitted" in (tmp_path / "out" / "runs" / "index.html").read_text()
    assert "grailbench run" in (tmp_path / "out" / "runs" / "sent.html").read_text()
    damaged = tmp_path / "damaged.pack.zip"
    damaged.write_bytes(file.read_bytes()[:-20])
    tells(capsys, 2, str(damaged), "site", tmp_path / "out", file, damaged)
    assert "submitted" in (tmp_path / "out" / "runs" / "index.html").read_text(), "the site stays"
