"""Energy is that of the work alone, by a counter that goes up in steps; where it cannot be read, rows say why."""

import json
import sys

import pytest
from commands import call, in_python
from watchers import Notes

from grailbench.bench import passes, tasks
from grailbench.bench.plan import Config, make_plan
from grailbench.bench.runner import run
from grailbench.contract import problem
from grailbench.device import energy
from grailbench.errors import MachineLacks
from grailbench.runs.cells import read

STEP = 100_000  #: microseconds between two steps of the counter
READ = 1_000  #: microseconds that a look at it takes


class Board:
    """A GPU that takes `idle` watts, and `busy` in `work`, and says how much in steps of 100 ms."""

    def __init__(self, idle=100.0, busy=600.0, seconds=0.015):
        self.idle, self.busy, self.seconds = idle, busy, seconds
        self.us, self.joules, self.shown = 0, 0.0, 0.0
        self.calls = 0

    @property
    def now(self):
        return self.us / 1e6

    def wait(self, seconds, watts=None):
        end = self.us + round(seconds * 1e6)
        while self.us < end:
            part = min(end, self.us // STEP * STEP + STEP) - self.us
            self.us += part
            self.joules += (self.idle if watts is None else watts) * part / 1e6
            if self.us % STEP == 0:
                self.shown = self.joules

    def read(self):
        self.wait(READ / 1e6)
        return self.shown

    def work(self):
        self.calls += 1
        self.wait(self.seconds, self.busy)

    def measured(self):
        return energy.of(self.work, self.read, lambda: self.now, self.wait)


@pytest.mark.parametrize("seconds", [0.015, 0.36, 3.03])
def test_joules_are_those_of_one_call(seconds):
    found = Board(idle=400, seconds=seconds).measured()
    assert found.joules == pytest.approx(600 * seconds, rel=0.02)
    assert found.seconds == pytest.approx(seconds, rel=0.02)
    assert found.idle_watts == pytest.approx(400, rel=0.02)


def test_work_is_repeated_until_a_second_has_passed_and_once_at_least():
    for seconds, calls in ((0.3, 4), (5.0, 1)):
        board = Board(seconds=seconds)
        assert board.measured().calls == board.calls == calls


def test_a_counter_that_stands_is_no_measurement():
    board = Board()
    board.idle = 0.0
    with pytest.raises(MachineLacks, match="stands at 0 J"):
        board.measured()
    assert board.calls == 0


@pytest.fixture
def plan(diamond):
    """The plan of counting on the diamond, with energy."""

    def made(**more):
        block = {"problem": "counts", "datasets": [diamond], "implementations": ["counts"], "trials": 2, "warmup": 0}
        return make_plan(Config.model_validate({"experiment": [block | {"energy": True} | more]}))

    return made


@pytest.fixture
def on_gpu(monkeypatch):
    """Makes `counts` an implementation on a GPU whose energy is that of a `Board`; returns the board."""
    board = Board()
    monkeypatch.setattr(tasks, "on_gpu", lambda cell: True)
    of = energy.of
    monkeypatch.setattr(energy, "counter", lambda: board.read)
    monkeypatch.setattr(
        energy, "of", lambda work: of(lambda: (work(), board.work()), board.read, lambda: board.now, board.wait)
    )
    return board


def test_a_cell_of_a_gpu_has_one_row_of_energy_after_its_trials(plan, on_gpu, tmp_path):
    done = run(plan(), notes := Notes(), fetch=False, out=tmp_path / "run")
    assert [row["trial"] for row in done.rows if row["phase"] == "solve"] == [0, 1]
    assert [row["energy"] is not None for row in done.rows] == [False] * (len(done.rows) - 1) + [True]
    (cell,) = read(tmp_path / "run").cells
    assert cell.energy["joules"] == pytest.approx(9.0, rel=0.02)
    assert cell.energy["calls"] == on_gpu.calls
    assert (cell.status, cell.reason, cell.trials) == ("ok", "", 2)
    assert notes.steps == notes.total == 1 + 2 + 1


def test_resuming_measures_no_energy_twice_and_a_missing_one_alone(plan, on_gpu, tmp_path):
    run(plan(energy=False), Notes(), fetch=False, out=tmp_path / "run")
    assert on_gpu.calls == 0
    run(plan(), Notes(), fetch=False, resume=tmp_path / "run")
    before = on_gpu.calls
    assert before > 0
    run(plan(), Notes(), fetch=False, resume=tmp_path / "run")
    assert on_gpu.calls == before
    assert [cell.trials for cell in read(tmp_path / "run").cells] == [2]


def test_where_it_cannot_be_read_the_row_says_why_and_times_stay(plan, on_gpu, monkeypatch, tmp_path):
    def refuse(cell, data, asked):
        raise MachineLacks("energy of this GPU cannot be read: Not Supported")

    monkeypatch.setattr(passes, "energy", refuse)
    run(plan(), Notes(), fetch=False, out=tmp_path / "run").check()
    (cell,) = read(tmp_path / "run").cells
    assert cell.energy == {"reason": "energy of this GPU cannot be read: Not Supported"}
    assert (cell.status, cell.trials) == ("ok", 2)


@pytest.mark.processes
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cells are forked")
def test_a_cell_with_its_own_process_measures_there(plan, on_gpu, tmp_path):
    done = run(plan(process="own"), Notes(), fetch=False, out=tmp_path / "run")
    assert list(done.rows[-1]["energy"]) == ["reason"]  # there is no GPU there
    assert on_gpu.calls == 0


def test_cells_without_a_gpu_have_none(plan, tmp_path):
    done = run(plan(), Notes(), fetch=False, out=tmp_path / "run")
    assert {row["energy"] for row in done.rows} == {None}


def test_energy_is_no_part_of_a_cell_s_identity(plan):
    assert plan().digest == plan(energy=False).digest


def test_the_simulator_has_no_energy():
    code, out = in_python("from grailbench.device import energy; energy.counter()", NUMBA_ENABLE_CUDASIM="1")
    assert (code, out.splitlines()[-1].partition(": ")[2]) == (1, "the simulator takes no energy of a GPU")


def test_a_problem_without_a_phase_to_repeat_says_so(diamond):
    block = {"problem": "bfs", "datasets": [diamond], "implementations": ["sequential"], "energy": True}
    (cell,) = make_plan(Config.model_validate({"experiment": [block]})).cells
    assert problem("bfs").again(None, None, None, None) is None
    with pytest.raises(MachineLacks, match="bfs has no phase"):
        passes.energy(cell, None, None)


def test_the_plan_shows_it(capsys):
    _, out, _ = call(capsys, "plan", "--dataset", "kegg-like", "--impl", "dfs", "--energy", "--json")
    assert [json.loads(line)["energy"] for line in out.splitlines()] == [True]
