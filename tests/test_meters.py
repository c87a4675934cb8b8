"""The counters of energy that are found on a machine: trees of powercap and drivers of GPUs, made up."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from commands import in_python

from grailbench.cuda import energy
from grailbench.errors import MachineLacks

RANGE = 262_143_328_850


def domain(root, path, name, joules=1_000.0, wraps=RANGE):
    """A folder of powercap, as Linux has them: all of them beside one another."""
    folder = root / path
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{round(joules * 1e6)}\n")
    (folder / "max_energy_range_uj").write_text(f"{wraps}\n")
    return folder


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Two packages, each with cores and memory, the platform, and a second driver that shows the first one again."""
    monkeypatch.setattr(energy, "POWERCAP", root := tmp_path / "powercap")
    (root / "intel-rapl").mkdir(parents=True)  # the type of control, which is no domain
    for at in (0, 1):
        domain(root, f"intel-rapl:{at}", f"package-{at}", 1_000.0 + at)
        domain(root, f"intel-rapl:{at}:0", "core", 600.0)
        domain(root, f"intel-rapl:{at}:1", "dram", 50.0 + at)
    domain(root, "intel-rapl:2", "psys", 9_000.0)
    domain(root, "intel-rapl-mmio:0", "package-0", 7_777.0)
    domain(root, "intel-rapl:3", "package-2-die-0", 3.0)
    (root / "dtpm:0").mkdir()
    (root / "dtpm:0" / "name").write_text("package-9\n")  # limits power, and counts no energy
    return root


@pytest.fixture
def closed(monkeypatch):
    """Makes files unreadable, also for root."""
    names, text = set(), Path.read_text

    def read(path, *more, **named):
        if path in names:
            raise PermissionError(13, "Permission denied", str(path))
        return text(path, *more, **named)

    monkeypatch.setattr(Path, "read_text", read)
    return names


def shown(meter):
    return {counter.name: counter.read() for counter in meter.counters}


def test_packages_are_the_cpu_and_memory_and_platform_stand_beside_it(tree):
    found, unread = energy.find_meters(0)
    assert {meter.name: shown(meter) for meter in found} == {
        "cpu": {"package-0": 1_000.0, "package-1": 1_001.0, "package-2-die-0": 3.0},
        "dram": {"dram of package-0": 50.0, "dram of package-1": 51.0},
        "psys": {"psys": 9_000.0},
    }
    assert unread == {}
    assert {counter.wraps for meter in found for counter in meter.counters} == {RANGE / 1e6}


def test_one_closed_package_closes_the_cpu_and_says_how_to_open_it(tree, closed):
    closed.add(tree / "intel-rapl:1" / "energy_uj")
    found, unread = energy.find_meters(0)
    assert [meter.name for meter in found] == ["dram", "psys"]
    assert [*unread] == ["cpu"]
    for part in (str(tree / "intel-rapl:1" / "energy_uj"), f"sudo chmod a+r {tree}/*:*/energy_uj", "SUBSYSTEM"):
        assert part in unread["cpu"]


def test_without_powercap_or_packages_there_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(energy, "POWERCAP", tmp_path / "none")
    assert "no counter of a package" in energy.find_meters(0)[1]["cpu"]
    domain(tmp_path / "none", "intel-rapl:0", "psys")
    assert energy.find_meters(0)[0] == []


class Lost(Exception):
    """What the made-up driver raises."""


@pytest.fixture
def board(monkeypatch, tmp_path):
    """Two GPUs with a driver whose totals are `mj`; None is what it does not support. No CPU can be read."""
    mj, gpus = {b"GPU-a": 5_000, b"GPU-b": 7_500}, []

    def total(handle):
        if mj[handle] is None:
            raise Lost("Not Supported")
        return mj[handle]

    class Gpu(SimpleNamespace):
        def __enter__(self):
            gpus.append(self.id)

        def __exit__(self, *error): ...

    devices = [Gpu(id=at, uuid=f"GPU-{letter}") for at, letter in enumerate("ab")]
    cuda = SimpleNamespace(gpus=devices, get_current_device=lambda: devices[1], synchronize=lambda: gpus.append("done"))
    gateway = SimpleNamespace(cuda=cuda, require=lambda: None, simulated=False)
    nvml = SimpleNamespace(NVMLError=Lost, nvmlInit=lambda: None, nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
                           nvmlDeviceGetTotalEnergyConsumption=total)  # fmt: skip
    monkeypatch.setitem(sys.modules, "grailbench.cuda.gateway", gateway)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(energy, "POWERCAP", tmp_path / "none")
    return SimpleNamespace(mj=mj, settled=gpus)


def test_a_cell_of_a_gpu_reads_the_current_one_and_one_of_several_reads_each(board):
    ((one,), _), ((two,), unread) = energy.find_meters(1), energy.find_meters(2)
    assert (one.name, shown(one), shown(two)) == ("gpu", {"GPU 1": 7.5}, {"GPU 0": 5.0, "GPU 1": 7.5})
    assert [*unread] == ["cpu"]


def test_a_board_that_tells_no_energy_is_a_reason_and_not_an_error(board, tree):
    board.mj[b"GPU-b"] = None
    found, unread = energy.find_meters(1)
    assert unread == {"gpu": "energy of this GPU cannot be read: Not Supported"}
    assert "cpu" in [meter.name for meter in found]


def test_a_board_that_is_lost_later_says_so_when_it_is_read(board):
    ((meter,), _) = energy.find_meters(1)
    board.mj[b"GPU-b"] = None
    with pytest.raises(MachineLacks, match="Not Supported"):
        shown(meter)


@pytest.mark.parametrize(("devices", "waited"), [(0, []), (1, ["done"]), (2, [0, "done", 1, "done", "done"])])
def test_every_gpu_of_a_cell_is_waited_for(board, devices, waited):
    energy.wait_for_gpus(devices)
    assert board.settled == waited


def test_the_simulator_has_no_energy():
    program = "from grailbench.cuda import energy; print(energy.find_meters(1)[1])"
    code, out = in_python(program, NUMBA_ENABLE_CUDASIM="1")
    assert (code, "the simulator takes no energy of a GPU" in out) == (0, True)
