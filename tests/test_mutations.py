"""Whatever becomes of a run's files, no command ends in a traceback: one line, a documented exit code, nothing lost."""

import json
import random
import shutil
import traceback
from contextlib import suppress

import pytest
from commands import call
from planned import ran

from grailbench.harness import folder as results
from grailbench.harness import runner
from grailbench.util import paths
from grailbench.util.records import SUM, sealed

FILES = (results.ROWS, results.ENVIRONMENT, results.PLAN)
DEEP = json.loads("[" * 900 + "]" * 900)
ODD = [
    None, True, 0, -1, 2**31, 2**63, -(2**70), 0.5, 1e308, float("nan"), float("inf"), "", "ok", "wrong", "1", "query",
    "../../x", "a\u0000b", "\ud800", "é" * 300, [], {}, [[]], [None], {"x": None}, {"": {}}, DEEP,
]  # fmt: skip


def odd_json(draw, value):
    """The JSON object with something in it replaced, dropped or renamed."""
    inner = value
    key = draw.choice(list(inner))
    while isinstance(inner[key], dict | list) and inner[key] and draw.random() < 0.8:
        inner = inner[key]
        key = draw.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
    match draw.randrange(4):
        case 0:
            del inner[key]
        case 1 if isinstance(inner, dict):
            inner[f"{key}s"] = inner.pop(key)
        case _:
            inner[key] = draw.choice(ODD)
    return value


def torn(draw, content):
    """Bytes of which some are dropped, repeated or others."""
    at, to = sorted((draw.randrange(len(content) + 1), draw.randrange(len(content) + 1)))
    to = min(to, at + draw.choice([1, 3, 50, 5000]))
    return content[:at] + draw.choice([b"", content[at:to] * 2, draw.randbytes(to - at)]) + content[to:]


def mutate(draw, folder):
    """Changes one of a run's files, half of the time with right checksums; says how."""
    path = folder / draw.choice([results.ROWS, *FILES])
    content = path.read_bytes()
    if draw.random() < 0.3:
        path.write_bytes(torn(draw, content))
        return f"{path.name}: bytes"
    lines = content.splitlines() if path.name == results.ROWS else [content]
    at = draw.randrange(len(lines))
    value = odd_json(draw, json.loads(lines[at]))
    if SUM in value and draw.random() < 0.7:
        with suppress(ValueError, RecursionError):  # nothing that is ever written
            value = sealed(value)
    lines[at] = json.dumps(value).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")
    return f"{path.name}: json"


@pytest.fixture
def stored(toys, diamond, tmp_path, monkeypatch):
    """The results/runs of this test, and whole runs elsewhere: as they are written now, and as before rows had
    checksums."""
    home = tmp_path / "runs"
    monkeypatch.setattr(paths, "runs_dir", lambda: home)
    home.mkdir()
    block = {"datasets": [diamond], "implementations": ["toy:right", "toy:other", "toy:wrong"], "dim": [2, 3],
             "count": 50, "trials": 3}  # fmt: skip
    new = ran(tmp_path / "new", block).folder
    old = tmp_path / "old"
    shutil.copytree(new, old)
    for name in FILES:
        lines = (old / name).read_text().splitlines() if name == results.ROWS else [(old / name).read_text()]
        bare = [{k: v for k, v in json.loads(line).items() if k not in (SUM, "format")} for line in lines]
        (old / name).write_text("".join(json.dumps(each) + "\n" for each in bare))
    return home, new, old


@pytest.mark.slow
def test_no_mutation_of_a_runs_files_ends_in_a_traceback(stored, capsys, monkeypatch):
    """80 of them. What a resumed run would measure is left out: a mutated plan may be a plan of years."""
    home, *whole = stored
    monkeypatch.setattr(runner.Session, "run", lambda *args: None)
    monkeypatch.setattr(results, "recorded_runs", dict)
    draw, name, faults, codes = random.Random(15), "20250101-000000-mutated", [], set()
    for turn in range(80):
        base = whole[turn % 2]
        folder = home / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base, folder)
        how = mutate(draw, folder)
        rest = [["report", "--details"], ["report", "--html", "--counters"], ["info", name], ["compare", name, base],
                ["run", f"--resume={name}", "--no-fetch"], ["report", name, "--json"]]  # fmt: skip
        for words in (["list", "runs"], ["compare", base, name], rest[turn % len(rest)]):
            try:
                code, _, err = call(capsys, *words)
            except BaseException:  # whatever escaped the command
                faults.append(f"{turn}: {how}: {words}\n{traceback.format_exc(limit=-4)}")
                continue
            codes.add(code)
            if code not in (0, 1, 2, 3, 4) or "Traceback" in err or (code == 2 and "error: " not in err):
                faults.append(f"{turn}: {how}: {words}: {code}: {err}")
    assert faults == []
    assert {0, 2} <= codes
