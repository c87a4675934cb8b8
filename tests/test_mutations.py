"""Whatever becomes of a run's files, no command ends in a traceback: one line, a documented exit code, nothing lost."""

import json
import random
import shutil
import traceback

import pytest
from commands import call
from stored import row, store

from grailbench.harness import folder as results
from grailbench.harness import runner
from grailbench.harness.plan import Config, make_plan
from grailbench.util import paths
from grailbench.util.records import SUM, sealed

FILES = (results.ROWS, results.ENVIRONMENT, results.PLAN)
ODD = [
    None, True, False, 0, -1, 1, 2, 2**31, 2**63, 2**70, -(2**70), 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "x", "ok", "wrong", "1", "label", "query", "reachability", "../../x", "a\\u0000b", "a\u0000b",
    "\ud800", "é" * 300, [], {}, [[]], [None], ["x", 1], {"x": None}, {"": {}}, [{}],
]  # fmt: skip


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def places(value, at=()):
    """The path of every value within a JSON value."""
    yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*at, key))


def odd_json(draw, value):
    """The JSON value with something in it replaced, dropped, renamed or wrapped."""
    value = json.loads(json.dumps(value))
    at = draw.choice([place for place in places(value) if place] or [()])
    if not at:
        return draw.choice(ODD)
    inner = value
    for key in at[:-1]:
        inner = inner[key]
    match draw.randrange(5):
        case 0 | 1:
            inner[at[-1]] = draw.choice(ODD)
        case 2:
            del inner[at[-1]]
        case 3:
            own = inner[at[-1]]
            inner[at[-1]] = draw.choice([[own], {"of": own}, deep(20), deep(40), deep(900), str(own)])
        case 4:
            if isinstance(inner, dict):
                inner[f"{at[-1]}s"] = inner.pop(at[-1])
            else:
                inner.append(inner[at[-1]])
    return value


def torn(draw, content):
    """Bytes with some flipped, dropped, repeated or put in, or cut off."""
    at, to = sorted((draw.randrange(len(content) + 1), draw.randrange(len(content) + 1)))
    to = min(to, at + draw.choice([1, 3, 50, 5000]))
    match draw.randrange(5):
        case 0:
            flipped = bytes(byte ^ 1 << draw.randrange(8) for byte in content[at : at + 1])
            return content[:at] + flipped + content[at + 1 :]
        case 1:
            return content[:at] + content[to:]
        case 2:
            return content[:to] + content[at:]
        case 3:
            return content[:at] + draw.randbytes(to - at) + content[at:]
        case _:
            return content[:at]


def shuffled(draw, content):
    """Lines of a file dropped, repeated or exchanged."""
    lines = content.splitlines(keepends=True)
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(3):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case _:
            lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def is_json(text):
    try:
        return json.loads(text) is not None
    except (ValueError, RecursionError):  # an earlier mutation
        return False


def dump(value):
    try:
        return json.dumps(value).encode()
    except ValueError:  # a number of more digits than Python writes
        return b'{"key": 1' + b"0" * 5000 + b"}"


def mutate(draw, folder):
    """Change one of a run's files; says how."""
    path = folder / draw.choice([results.ROWS, results.ROWS, *FILES])
    content = path.read_bytes()
    how = draw.choice(["bytes", "json", "json", "json", "lines"])
    lines = (content.splitlines() if path.name == results.ROWS else [content]) or [b""]
    at = draw.randrange(len(lines))
    if how == "json" and is_json(lines[at]):
        value = odd_json(draw, json.loads(lines[at]))
        if isinstance(value, dict) and SUM in value and draw.random() < 0.7:
            try:
                value = sealed(value)
                how = "json, its checksum made anew"
            except (ValueError, RecursionError):  # nothing that is ever written
                pass
        lines[at] = dump(value)
        content = b"\n".join(lines) + b"\n"
    else:
        content = shuffled(draw, content) if how == "lines" and content else torn(draw, content)
    path.write_bytes(content)
    return f"{path.name}: {how}"


@pytest.fixture
def stored(toys, diamond, tmp_path, monkeypatch):
    """The results/runs of this test, and whole runs elsewhere: as they are written now, as before rows had checksums,
    and of other problems."""
    from watchers import Notes

    home = tmp_path / "runs"
    monkeypatch.setattr(paths, "runs_dir", lambda: home)
    home.mkdir()
    block = {"datasets": [diamond], "implementations": ["toy:right", "toy:other", "toy:wrong"], "dim": [2, 3],
             "count": 50, "trials": 3}  # fmt: skip
    plan = make_plan(Config.model_validate({"experiment": [block]}))
    new = runner.run(plan, Notes(), fetch=False, out=tmp_path / "new").folder
    old = tmp_path / "old"
    shutil.copytree(new, old)
    for name in FILES:
        lines = (old / name).read_text().splitlines() if name == results.ROWS else [(old / name).read_text()]
        bare = [{k: v for k, v in json.loads(line).items() if k not in (SUM, "format")} for line in lines]
        (old / name).write_text("".join(json.dumps(each) + "\n" for each in bare))
    of = {"search": None, "filters": None, "dim": None, "queries": 4, "query_set": "random-4-s1"}
    others = [
        row(problem=problem, phase="solve", trial=trial, ms=1.0 + trial, rate=1e6, counters={"levels": 9}, **of)
        for problem in ("closure", "bfs", "sssp") for trial in range(2)
    ]  # fmt: skip
    return home, new, old, store(tmp_path / "others", others)


@pytest.mark.slow
def test_no_mutation_of_a_runs_files_ends_in_a_traceback(stored, capsys, monkeypatch):
    """60 of them. What a resumed run would measure is left out: a mutated plan may be a plan of years."""
    home, *whole = stored
    monkeypatch.setattr(runner.Session, "run", lambda *args: None)
    draw, name, faults = random.Random(15), "20250101-000000-mutated", []
    codes = []
    for turn in range(60):
        base = whole[turn % 3]
        folder = home / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base, folder)
        how = mutate(draw, folder)
        if turn % 5 == 0:
            how += "; " + mutate(draw, folder)
        rest = [["report", "--details"], ["report", "--html", "--counters"], ["compare", name, base],
                ["run", f"--resume={name}", "--no-fetch"], ["report", name, "--json"]]  # fmt: skip
        commands = [["list", "runs"], ["info", name], ["compare", base, name], rest[turn % len(rest)]]
        commands += [["plot", name, "--format", "csv"]] if turn % 10 == 3 else []
        for words in commands:
            try:
                code, _, err = call(capsys, *words)
            except BaseException:  # whatever escaped the command
                faults.append(f"{turn}: {how}: {words}\n{traceback.format_exc(limit=-4)}")
                continue
            codes.append(code)
            if code not in (0, 1, 2, 3, 4) or "Traceback" in err:
                faults.append(f"{turn}: {how}: {words}: {code}: {err}")
            if code == 2 and "error: " not in err:
                faults.append(f"{turn}: {how}: {words}: says nothing: {err}")
    by_kind = {fault.strip().splitlines()[-1]: fault for fault in faults}
    assert faults == [], f"{len(faults)} of {len(codes)}:\n" + "\n".join(by_kind.values())
    assert {0, 2} <= set(codes)
