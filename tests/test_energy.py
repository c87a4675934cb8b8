"""Energy is that of the work alone, by counters that go up in steps; where it cannot be read, rows say why."""

import gc
import sys
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as some
from metered import Device, World
from watchers import Notes

from grailbench.cuda import energy
from grailbench.cuda.energy import Counter, Energy, Reading
from grailbench.errors import MachineLacks
from grailbench.graph.condense import condense
from grailbench.harness import passes
from grailbench.harness.cells import read
from grailbench.harness.energies import Energies, fits
from grailbench.harness.plan import Config, make_plan
from grailbench.harness.runner import run
from grailbench.problems.contract import implementation, problem

# ------------------------------------------------------------------ the measurement


@pytest.mark.parametrize("seconds", [0.015, 3.03])
def test_joules_are_those_of_one_call(seconds):
    found = World(Device(idle=400), seconds=seconds).measured()
    assert found.meters["gpu"].joules == pytest.approx(600 * seconds, rel=0.01)
    assert found.seconds == pytest.approx(seconds, rel=0.01)
    assert found.meters["gpu"].idle_watts == pytest.approx(400, rel=0.02)


@pytest.mark.parametrize(
    ("step", "seconds", "calls"),
    [(1, 0.3, 4), (1, 1.5, 1), (100, 0.3, 34), (100, 12.0, 1), (500, 0.5, 40)],  # at least 1 s, 100 steps, 20 s at most
)
def test_work_is_repeated_until_a_step_is_a_hundredth_of_it(step, seconds, calls):
    world = World(Device(step=step), seconds=seconds)
    found = world.measured()
    assert found.calls == world.calls == calls
    resolution, off = step / 1e3 / (calls * seconds), 0.6 if step == 1 else 0.05
    assert found.meters["gpu"].resolution == pytest.approx(resolution, rel=off)


def test_work_is_not_repeated_beyond_its_time():
    world = World(seconds=0.5)
    assert world.measured(seconds=4.0).calls < 7
    assert world.now < 4.2
    assert World(seconds=5.0).measured(seconds=0.1).calls == 1


def test_meters_are_read_together_and_their_counters_added():
    gpu, one, two = Device(), Device(20, 90, 1, name="package-0"), Device(30, 40, 1, name="package-1")
    world = World(gpu, one, two, seconds=0.02)
    found = world.measured(world.meter("gpu", gpu), world.meter("cpu", one, two))
    assert found.meters["gpu"].joules == pytest.approx(600 * 0.02, rel=0.01)
    assert found.meters["cpu"].joules == pytest.approx(130 * 0.02, rel=0.01)
    assert found.meters["cpu"].idle_watts == pytest.approx(50, rel=0.01)
    assert found.unread == {}


def stands(world):
    world.devices[0].step = 10**12


def goes_backwards(world):
    world.devices[0].seen = world.devices[0].joules = -5e5


@pytest.mark.parametrize(("fault", "reason"), [(stands, "stands at"), (goes_backwards, "went backwards")])
def test_a_counter_that_stands_or_goes_backwards_is_no_measurement_and_others_are(fault, reason):
    gpu, cpu = Device(), Device(20, 90, 1, wraps=262_143.0, name="package-0")
    world = World(gpu, cpu, seconds=0.4)

    def work():
        world.work()
        if world.calls == 2:
            fault(world)

    found = world.measured(world.meter("gpu", gpu), world.meter("cpu", cpu), work=work)
    assert [*found.unread] == ["gpu"]
    assert reason in found.unread["gpu"]
    assert found.meters["cpu"].joules == pytest.approx(36, rel=0.01)


def test_a_counter_that_wraps_and_is_set_back_is_told_from_one_that_began_anew():
    world = World(Device(20, 90, 1, wraps=262_143.0, shown=5e3, name="package-0"), seconds=0.4)

    def work():
        world.work()
        world.devices[0].joules = 100.0

    with pytest.raises(MachineLacks, match="package-0 went backwards"):
        world.measured(work=work)


@given(some.floats(0, 262_143, exclude_max=True), some.floats(0, 999), some.floats(0.001, 250))
def test_the_joules_between_two_readings_do_not_depend_on_where_the_counter_wraps(start, watts, seconds):
    counter = Counter("package-0", lambda: 0.0, 262_143.0)
    taken = watts * seconds
    assert counter.between(start, (start + taken) % 262_143.0, seconds) == pytest.approx(taken, abs=1e-4)


# ------------------------------------------------------------------ in a run


@pytest.fixture
def plan(diamond):
    """The plan of a problem on the diamond, with energy."""

    def made(**more):
        block = {"datasets": [diamond], "implementations": ["sequential"], "trials": 2, "warmup": 0, "count": 20}
        return make_plan(Config.model_validate({"experiment": [block | {"energy": True} | more]}))

    return made


@pytest.fixture
def world(monkeypatch):
    """The only meters of this machine: a package of 90 W at work, whose clock stands still but for phases and waits."""
    world = World(Device(20, 90, 1, name="package-0"))
    of = energy.of

    def measured(work, found, seconds, settle):
        settle()
        return of(lambda: (work(), world.work()), found, seconds, clock=lambda: world.now, wait=world.wait)

    monkeypatch.setattr(energy, "find_meters", lambda devices: ([world.meter("cpu")], {}))
    monkeypatch.setattr(energy, "of", measured)
    return world


def test_a_cell_has_one_row_of_the_energy_of_its_phases_after_its_trials(plan, world, tmp_path):
    done = run(plan(from_edges=True), notes := Notes(), fetch=False, out=tmp_path / "run")
    assert [row["trial"] for row in done.rows if row["phase"] == "query"] == [0, 1]
    assert [row["energy"] is not None for row in done.rows] == [False] * (len(done.rows) - 1) + [True]
    (cell,) = read(tmp_path / "run").cells
    for phase in ("label", "query", "ready"):
        assert cell.joules(phase) == cell.joules(phase, "cpu") == pytest.approx(90 * world.seconds, rel=0.02)
        assert cell.joules(phase, "gpu") is None
        assert cell.energies.phases[phase].calls == pytest.approx(1 / world.seconds, abs=2)
    assert sum(each.calls for each in cell.energies.phases.values()) == world.calls
    assert (cell.status, cell.reason, cell.trials) == ("ok", "", 2)
    assert notes.steps == notes.total == 1 + 2 + 1


@pytest.mark.parametrize(
    ("of", "phases"),
    [({"problem": "counts", "implementations": ["counts"], "count": 1, "from_edges": True}, ["solve"]),
     ({"problem": "closure", "implementations": ["condense-bits"], "count": 1}, ["solve"])],
)  # fmt: skip
def test_the_phases_are_those_that_the_cell_has_and_its_problem_repeats(plan, world, tmp_path, of, phases):
    run(plan(**of, trials=1), Notes(), fetch=False, out=tmp_path / "run")
    (cell,) = read(tmp_path / "run").cells
    assert [*cell.energies.phases] == phases


def test_resuming_measures_no_energy_twice_and_a_missing_one_alone(plan, world, monkeypatch, tmp_path):
    attempt, attempts = passes.attempt, []
    monkeypatch.setattr(passes, "attempt", lambda *of: attempts.append(of) or attempt(*of))
    run(plan(energy=False), Notes(), fetch=False, out=tmp_path / "run")
    assert world.calls == 0
    run(plan(), Notes(), fetch=False, resume=tmp_path / "run")
    before = world.calls
    assert before > 0
    run(plan(), Notes(), fetch=False, resume=tmp_path / "run")
    assert len(attempts) == 2  # the cell was complete
    run(plan(trials=3), Notes(), fetch=False, resume=tmp_path / "run")
    assert world.calls == before
    assert [cell.trials for cell in read(tmp_path / "run").cells] == [3]


def test_where_it_cannot_be_read_the_row_says_why_and_times_stay(plan, monkeypatch, tmp_path):
    monkeypatch.setattr(
        energy, "find_meters", lambda devices: ([], {"cpu": "closed to this user", "gpu": "Not Supported"})
    )
    run(plan(), notes := Notes(), fetch=False, out=tmp_path / "run").check()
    (cell,) = read(tmp_path / "run").cells
    assert cell.energy == {"reason": "closed to this user; Not Supported"}
    assert (cell.status, cell.trials, cell.joules("query")) == ("ok", 2, None)
    assert [note for note in notes.notes if "closed to this user" in note]


@pytest.mark.parametrize("fault", [ValueError("no"), MemoryError("an array")])
def test_a_phase_that_fails_when_it_is_repeated_loses_nothing_else(plan, world, monkeypatch, tmp_path, fault):
    reachability = problem("reachability")
    again = reachability.again

    def failing(impl, params, data, asked, phase, edges=None):
        def raising():
            raise fault

        return raising if phase == "label" else again(impl, params, data, asked, phase, edges)

    monkeypatch.setattr(reachability, "again", failing, raising=False)
    run(plan(), Notes(), fetch=False, out=tmp_path / "run").check()
    (cell,) = read(tmp_path / "run").cells
    assert str(fault) in cell.energies.reasons["label"]
    assert str(fault) in cell.energies.why("label")
    assert cell.joules("query") is not None
    assert cell.joules("label") is None
    assert (cell.status, cell.trials) == ("ok", 2)


@pytest.mark.processes
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cells are forked")
def test_a_cell_with_its_own_process_measures_there(plan, world, monkeypatch, tmp_path):
    done = run(plan(process="own", from_edges=True, time_limit=100), Notes(), fetch=False, out=tmp_path / "run")
    found = done.rows[-1]["energy"]
    assert [*found] == ["reason"] or [*found["phases"]] == ["label", "query", "ready"]  # by the machine's own meters
    assert world.calls == 0


@pytest.mark.parametrize("name", ["sequential", "dfs", "core"])
def test_builds_that_are_repeated_begin_with_the_same_input_and_leave_nothing(name, monkeypatch):
    from strategies import graph_of

    impl, reachability = implementation(name), problem("reachability")
    raw = graph_of(7, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 4)])
    dag, made, given = condense(raw), weakref.WeakSet(), []
    build = impl.build

    def kept(graph, *rest):
        index = build(graph, *rest)
        made.add(index)
        given.append(graph)
        return index

    monkeypatch.setattr(impl, "build", kept)
    pairs = dag.component[[0, 1]], dag.component[[5, 6]]
    params = reachability.params(threads=1)
    gc.disable()
    try:
        for phase in ("label", "ready"):
            work = reachability.again(impl, params, dag, pairs, phase, raw)
            for _ in range(3):
                work()
                assert not made  # freed without the garbage collector
        ask = reachability.again(impl, params, dag, pairs, "query", raw)
        assert [ask().tolist() for _ in range(3)] == [[True, False]] * 3
        assert len(made) == 1
    finally:
        gc.enable()
    assert [graph is dag for graph in given] == [True] * 3 + [False] * 3 + [True]


# ------------------------------------------------------------------ rows

READING = {"joules": 0.5, "idle_watts": 80.0, "resolution": 0.009}
NEW = {"phases": {"query": {"seconds": 0.01, "calls": 99, "meters": {"gpu": READING, "cpu": {"reason": "closed"}}},
                  "label": {"reason": "no memory"}}}  # fmt: skip
OLD = {"joules": 12.5, "seconds": 0.13, "calls": 8, "idle_watts": 81.2}


def test_rows_of_both_forms_are_read():
    old, new, none = (Energies.of(each, "query") for each in (OLD, NEW, {"reason": "Not Supported"}))
    assert all(map(fits, (OLD, NEW, {"reason": "Not Supported"})))
    assert (old.joules("query"), old.joules("query", "gpu"), old.joules("label")) == (12.5, 12.5, None)
    assert old.phases["query"] == Energy(0.13, 8, {"gpu": Reading(12.5, 81.2)})
    assert (new.joules("query"), new.joules("query", "cpu"), new.meters("query")) == (0.5, None, ("gpu",))
    assert new.why("query") == "without all packages of the host: closed"
    assert (new.why("label"), none.why("query"), old.why("query")) == ("no memory", "Not Supported", "")
    assert new.above_idle("query") == pytest.approx(0.5 - 0.8)


def test_the_platform_is_not_added_to_its_parts():
    found = {name: Reading(joules, 1.0) for name, joules in (("psys", 100), ("cpu", 40), ("dram", 5), ("gpu", 7))}
    known = Energies({"query": Energy(1.0, 1, found)})
    assert (known.joules("query"), known.joules("query", "psys")) == (52, 100)
    assert known.meters("query") == ("gpu", "cpu", "dram")


@pytest.mark.parametrize(
    "wrong",
    [
        [], {}, {"reason": 5}, {"reason": "x", "joules": 1}, {**OLD, "joules": "12"}, {**OLD, "more": 1},
        {"phases": {}}, {**NEW, "joules": 1}, {"phases": {"query": {}}},
        {"phases": {"query": {**NEW["phases"]["query"], "calls": 0}}},
        {"phases": {"query": {**NEW["phases"]["query"], "meters": {"wind": READING}}}},
        {"phases": {"query": {**NEW["phases"]["query"], "meters": {"gpu": {**READING, "joules": -1}}}}},
        {"phases": {"query": {**NEW["phases"]["query"], "meters": {"gpu": {**READING, "joules": float("nan")}}}}},
    ],
)  # fmt: skip
def test_rows_of_no_form_are_refused(wrong):
    assert not fits(wrong)
