"""`tests/faults/soak.py` and the verdict of `levels.py`: what grows is a leak, what goes up and down is none."""

import mmap
import os
import sys
import tempfile
import threading
from contextlib import ExitStack

import levels
import numpy as np
import pytest
import soak
import soak_work

from grailbench.cli import main

LEVEL = {name: 5.0 for name in levels.EXACT} | {
    "peak": 350e6, "objects": 4e5, "blocks": 1e6, "maps": 900.0,
}  # fmt: skip


def samples(count=60, **changed):
    """A minute between two; a function of the number of the sample takes the place of a measure."""
    noise = np.random.default_rng(1).normal(0, 1e-3, count)
    return [
        {**{name: value * (1 + noise[at]) if name in levels.VARYING else value for name, value in LEVEL.items()},
         "at": 60.0 * at, **{name: value(at) for name, value in changed.items()}}
        for at in range(count)
    ]  # fmt: skip


def faults(found):
    return [each.fault.split(" ")[0] for each in levels.judge(found) if each.fault]


def test_noise_and_growth_in_the_warm_up_are_level():
    assert faults(samples()) == []
    assert faults(samples(peak=lambda at: 300e6 + 20e6 * min(at, 10), threads=lambda at: 5 + (at > 12))) == []
    assert faults(samples(threads=lambda at: 5 + at % 3, objects=lambda at: 4e5 + 3_000 * (at % 4))) == []


@pytest.mark.parametrize(
    ("name", "grows"),
    [
        ("peak", lambda at: 300e6 * (1 + 0.02 * at / 60)),
        ("objects", lambda at: 4e5 + 200 * at),
        ("descriptors", lambda at: 5 + at // 10),
        ("threads", lambda at: 5 + (at > 40)),
        ("temporary", lambda at: 5 + at),
    ],
)
def test_what_grows_is_named(name, grows):
    found = samples(**{"temporary files" if name == "temporary" else name: grows})
    assert faults(found) == [name]


def test_the_peak_is_that_since_it_was_asked_before():
    levels._peak()
    before = levels._peak()
    held = np.ones(64 << 17)  # 64 MiB
    during = levels._peak()
    del held
    levels._peak()
    assert during > before + (48 << 20) > levels._peak() + (32 << 20)


@pytest.mark.slow
def test_leaks_in_real_work_are_caught(tmp_path, diamond):
    place, kept, handles, end = soak_work.Place(tmp_path / "work", tmp_path / "kept"), [], [], threading.Event()
    try:
        with ExitStack() as stack:
            soak.own_place(stack, tmp_path)
            found = []
            for _ in range(12):
                assert soak_work.round_(place, ("threads",)) == []
                handles.append(tempfile.mkstemp()[0])
                kept.append(mmap.mmap(-1, 8 << 20))  # which takes no memory that was freed before
                kept[-1].write(os.urandom(8 << 20))
                kept.extend([] for _ in range(5_000))
                threading.Thread(target=end.wait, daemon=True).start()
                found.append(levels.sample(tmp_path / "tmp", tmp_path / "cache"))
        named = {each.name for each in levels.judge(found) if each.fault}
        assert named >= {"temporary files", "descriptors", "peak", "objects", "threads"}
        assert not named & {"figures", "children", "signals", "variables", "cached files"}
    finally:
        end.set()
        for handle in handles:
            os.close(handle)


def test_work_that_fails_is_reported_and_the_rest_goes_on(tmp_path, monkeypatch):
    def broken(place):
        raise soak_work.Wrong("no")

    monkeypatch.setitem(soak_work.WORK, "threads", broken)
    place = soak_work.Place(tmp_path / "work", tmp_path / "kept")
    assert soak_work.round_(place, ("threads", "streams")) == ["threads: Wrong: no"]
    assert (place.rounds, place.folder.exists()) == (1, False)


def test_an_interrupt_from_outside_ends_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(main, "main", lambda words: sys.exit(130))
    monkeypatch.setitem(soak_work.WORK, "threads", lambda place: soak_work.command("run"))
    with pytest.raises(KeyboardInterrupt):
        soak_work.round_(soak_work.Place(tmp_path / "work", tmp_path / "kept"), ("threads",))
    assert soak_work.command("run", code=130) == ""


@pytest.mark.slow
def test_some_rounds_of_work_in_short(tmp_path):
    with ExitStack() as stack:
        soak.own_place(stack, tmp_path)
        told = []
        found = soak.soak(0, tmp_path, told.append, ("opened", "streams"), least=2)
    assert found == told
    assert [each["wrong"] for each in found] == [[], []]
    assert found[-1]["temporary files"] == found[0]["temporary files"]
    assert found[-1]["descriptors"] == found[0]["descriptors"]
