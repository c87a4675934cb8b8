"""Kills, full disks and losses of power, some of each (`tests/faults` tries all); and what the harness says of a
product that writes in place, does not sync, or loses a finished trial."""

import json
from pathlib import Path

import pytest
from commands import python_program

FAULTS = Path(__file__).parent / "faults"

#: in a process of its own, which forks: tries, and the faults that were found, by what was tried
PROGRAM = f"""
import errno, json, sys
sys.path.insert(0, {str(FAULTS)!r})
import disks, kills, powerloss, tasks
from grailbench.util import outputs
from grailbench.distributed import shards
from grailbench.harness import runner

task = {{each.name: each for each in tasks.TASKS}}
stage, found = tasks.Stage(), {{}}

def keep(name, of, attempts, *more, **how):
    if stage.prepared != of:
        stage.prepare(task[of])
    stage.prepared = of
    tally = attempts(stage, task[of], *more, **how)
    found[name] = [tally.tries, tally.faults]

def in_place(path):
    return open(path, "wb")

def forgetful(folder, true=runner.repair):
    rows, damage = true(folder)
    if not rows:
        return rows, damage
    lines = (folder / "trials.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "trials.jsonl").write_bytes(b"".join(lines[:-2]))
    return rows[:-2], damage

stage.prepared = None
try:
    keep("kills of import", "import", kills.kill_all, parts=6)
    keep("full disks of import", "import", disks.fill_all, errno.ENOSPC, 8)
    keep("power of import", "import", powerloss.lose_all, 12)
    true, outputs.sync = outputs.sync, lambda path, whole=False: None
    keep("syncs nothing", "import", powerloss.lose_all, 1000)
    outputs.sync = true
    keep("kills of run", "run", kills.kill_all, part=5, parts=60)
    keep("full disks of run", "run", disks.fill_all, errno.ENOSPC, 60)
    keep("kills of streams to a file", "shards", kills.kill_all, parts=2)
    shards.replaced = in_place
    keep("writes in place", "shards", kills.kill_all)
    runner.repair = forgetful
    keep("loses a trial", "run --resume", kills.kill_all, part=2, parts=1000)
finally:
    stage.close()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def tried():
    """Numbers of tries and faults by what was tried."""
    code, out, err = python_program("-c", PROGRAM)
    assert code == 0, err[-2000:]
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize(
    "what",
    ["kills of import", "kills of run", "kills of streams to a file", "full disks of import", "full disks of run",
     "power of import"],
)  # fmt: skip
def test_a_command_cut_short_ends_as_if_it_had_not_been(tried, what):
    tries, faults = tried[what]
    assert faults == []
    assert tries > 2


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("writes in place", "prints something else than of a whole one"),
        ("syncs nothing", "it had ended, and 1 of 1 reads are refused"),
        ("loses a trial", "rows that were finished, not all are there"),
    ],
)
def test_a_product_that_breaks_its_promise_is_seen(tried, broken, said):
    assert any(said in fault for fault in tried[broken][1])
