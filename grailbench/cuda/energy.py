"""Measures the energy that work takes, in joules, by the counters of a GPU's driver and of a CPU's packages.

The counters go up in steps, some 1 ms apart (a CPU) or 20 to 100 ms (a GPU), and count whoever uses the device. So work
is repeated until a step is a hundredth of it, and the idle power just before stands beside it. GPUs:
`nvmlDeviceGetTotalEnergyConsumption`, of the whole board. CPUs: Running Average Power Limit (RAPL) in `POWERCAP`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

from grailbench.errors import MachineLacks

LEAST_SECONDS = 1.0  #: for which work is repeated, at least
RESOLUTION = 0.01  #: the most that one step of a counter may be of the time for which work is repeated
MOST_SECONDS = 20.0  #: after which work is not repeated again, also where a counter has longer steps than that
IDLE_SECONDS = 0.5  #: for which the devices are left alone, to know their idle power
STALLED_SECONDS = 1.0  #: after which a counter without a step is broken
POLL_SECONDS = 0.0005  #: between two looks at counters whose steps are waited for, so that waiting takes little energy
MOST_WATTS = 1_000.0  #: more than any package of a CPU takes; what counts faster went backwards or around


@dataclass(frozen=True)
class Counter:
    """A counter of energy.

    name   in messages
    read   returns what it shows, in joules; raises MachineLacks where it cannot be read
    wraps  the joules after which it begins anew; None if it never does
    """

    name: str
    read: Callable[[], float]
    wraps: float | None = None

    def between(self, before: float, after: float, seconds: float) -> float:
        """The joules from one reading to another, so many seconds later.

        Raises MachineLacks if it went backwards, or if it may have begun anew more than once.
        """
        found, most = after - before, seconds * MOST_WATTS
        if self.wraps is not None and most >= self.wraps:
            raise MachineLacks(
                f"the counter of {self.name} begins anew after {self.wraps:,.0f} J, perhaps several times in "
                f"{seconds:,.0f} s"
            )
        if found < 0 and (self.wraps is None or found + self.wraps > most):
            raise MachineLacks(f"the counter of {self.name} went backwards, from {before:,.0f} J to {after:,.0f} J")
        return found % self.wraps if found < 0 else found


@dataclass(frozen=True)
class Meter:
    """Counters that are read together and added: those of all GPUs of a cell, or of all packages of the host.

    name  'gpu', 'cpu', 'dram' or 'psys', as in rows
    """

    name: str
    counters: tuple[Counter, ...]


@dataclass(frozen=True)
class Reading:
    """What one call took by one meter.

    joules      while the work went on, the idle power included
    idle_watts  just before it
    resolution  the largest step of a counter, as a share of the time measured; None in rows that do not have it
    """

    joules: float
    idle_watts: float
    resolution: float | None = None


@dataclass(frozen=True)
class Energy:
    """What one call of some work took.

    seconds  of the call, by the host's clock
    calls    over which all are means
    meters   the readings by the name of the meter
    unread   why other meters have none
    """

    seconds: float
    calls: int
    meters: Mapping[str, Reading]
    unread: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> dict:
        """The fields as rows have them, rounded to nJ and ns; a meter without a reading has its reason there."""
        read = {
            name: {key: round(value, 9) for key, value in vars(reading).items() if value is not None}
            for name, reading in self.meters.items()
        }
        unread = {name: {"reason": reason} for name, reason in self.unread.items()}
        return {"seconds": round(self.seconds, 9), "calls": self.calls, "meters": read | unread}


def reasons(unread: Mapping[str, str]) -> str:
    """Why meters have no reading, in one line."""
    return "; ".join(dict.fromkeys(unread.values()))


class _Look(NamedTuple):
    """When a counter was looked at, and what it then showed."""

    at: float
    joules: float = 0.0


def of(
    work: Callable[[], object], meters: Iterable[Meter], seconds: float | None = None,
    settle: Callable[[], None] = lambda: None, clock: Callable[[], float] = perf_counter,
    wait: Callable[[float], None] = sleep,
) -> Energy:  # fmt: skip
    """Calls `work` until its energy is known, and returns what one call took.

    It is called for `LEAST_SECONDS`, and until a step of every counter is `RESOLUTION` of that time, or `MOST_SECONDS`
    have passed, or the next call would not end within `seconds`. `settle`, called before and after, waits until devices
    have nothing left to do. A meter that cannot be read, stands still or goes backwards is `unread`. Raises
    MachineLacks where none can be read, and what `work` raises.
    """
    meters = tuple(meters)
    watch = _Watch([counter for meter in meters for counter in meter.counters], clock, wait)
    opened = clock()
    settle()
    first = watch.steps()
    watch.steps()  # one more, for the time between two steps
    wait(IDLE_SECONDS)
    idle = watch.steps()
    start, calls, enough = clock(), 0, min(MOST_SECONDS, max(LEAST_SECONDS, watch.longest / RESOLUTION))
    while watch.able:
        work()
        calls += 1
        passed = clock() - start
        if passed >= enough or (seconds is not None and clock() - opened + passed / calls > seconds):
            break
    settle()
    done = clock()
    last = watch.steps()

    def joules(counter: Counter) -> tuple[float, float]:
        """What the counter says of all calls, and idle watts."""
        if counter in watch.faults:
            raise MachineLacks(watch.faults[counter])
        one, two, three = first[counter], idle[counter], last[counter]
        watts = counter.between(one.joules, two.joules, two.at - one.at) / (two.at - one.at)
        whole = counter.between(two.joules, three.joules, three.at - two.at)
        found = whole - watts * (start - two.at + three.at - done)  # it idled from its step on, and up to its last
        if found < 0:
            raise MachineLacks(f"{counter.name} took less at work than idle, so another program used it before")
        return found, watts

    read, unread = {}, {}
    for meter in meters:
        try:
            found = [joules(counter) for counter in meter.counters]
        except MachineLacks as error:
            unread[meter.name] = str(error)
            continue
        share = max(watch.period[counter] for counter in meter.counters) / (done - start)
        read[meter.name] = Reading(sum(each for each, _ in found) / calls, sum(watts for _, watts in found), share)
    if not read:
        raise MachineLacks(reasons(unread) or "no meter of energy")
    return Energy((done - start) / calls, calls, read, unread)


class _Watch:
    """Waits for the steps of counters; one that fails once is left alone.

    faults  why counters cannot be read
    period  seconds between two steps in a row
    """

    def __init__(self, counters: Iterable[Counter], clock: Callable[[], float], wait: Callable[[float], None]):
        self._counters, self._clock, self._wait = tuple(counters), clock, wait
        self._seen: dict[Counter, _Look] = {}
        self.faults: dict[Counter, str] = {}
        self.period: dict[Counter, float] = {}

    @property
    def able(self) -> list[Counter]:
        """The counters that could be read so far."""
        return [counter for counter in self._counters if counter not in self.faults]

    @property
    def longest(self) -> float:
        """The longest time between two steps of a counter."""
        return max((self.period[counter] for counter in self.able), default=0.0)

    def steps(self) -> dict[Counter, _Look]:
        """Waits until each counter goes up; returns when that was, and what it shows."""
        began, found = self._clock(), {}
        before = {counter: self._look(counter) for counter in self.able}
        while left := [counter for counter in self.able if counter not in found]:
            for counter in left:
                look = self._look(counter)
                if look.joules != before[counter].joules:
                    found[counter] = look
                elif look.at - began > STALLED_SECONDS:
                    self.faults[counter] = f"the counter of {counter.name} stands at {look.joules:,.0f} J"
            if any(counter not in found for counter in self.able):
                self._wait(POLL_SECONDS)
        for counter, look in found.items():
            if counter in self._seen:
                self.period.setdefault(counter, look.at - self._seen[counter].at)
        self._seen |= found
        return found

    def _look(self, counter: Counter) -> _Look:
        now = self._clock()
        try:
            return _Look(now, counter.read())
        except MachineLacks as error:
            self.faults.setdefault(counter, str(error))
            return _Look(now)


POWERCAP = Path("/sys/class/powercap")
_PACKAGE = re.compile(r"package-\d+(-die-\d+)?")  #: cores and uncore are parts of it, and are not added
_HIDDEN = "a virtual machine or a container shows none, and Linux needs its module intel_rapl_msr"
_REMEDY = (
    "root may read it: sudo chmod a+r {pattern}/energy_uj until the next start, or for good a rule of udev, "
    'SUBSYSTEM=="powercap", ACTION=="add", RUN+="/bin/chmod a+r /sys%p/energy_uj"'
)


def find_meters(devices: int) -> tuple[list[Meter], dict[str, str]]:
    """The meters of a cell on so many GPUs, 0 for none, and by name why others cannot be read.

    gpu   those GPUs: the current one, or the first `devices`
    cpu   all packages of the host
    dram  their memory, where the machine counts it: it is no part of `cpu`
    psys  the whole platform, where the machine counts it: `cpu` and `dram` are parts of it
    """
    meters, unread = [], {}
    if devices:
        try:
            meters.append(gpu_meter(devices))
        except MachineLacks as error:
            unread["gpu"] = str(error)
    try:
        domains = _domains(POWERCAP)
    except MachineLacks as error:
        return meters, {**unread, "cpu": str(error)}
    for name, folders in domains.items():
        try:
            meters.append(Meter(name, tuple(_counter(title, folder) for title, folder in folders.items())))
        except MachineLacks as error:
            unread[name] = str(error)
    return meters, unread


def gpu_meter(devices: int) -> Meter:
    """The meter of the current GPU, or of the first `devices`. Raises MachineLacks, which says why, without one."""
    from grailbench.cuda.gateway import cuda, require, simulated

    if simulated:
        raise MachineLacks("the simulator takes no energy of a GPU")
    require()
    try:
        import pynvml
    except ImportError as error:
        raise MachineLacks(f"energy of a GPU cannot be read: {error} (pip install nvidia-ml-py)") from error
    chosen = [cuda.get_current_device()] if devices == 1 else [cuda.gpus[at] for at in range(devices)]
    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByUUID(str(each.uuid).encode()) for each in chosen]
    except pynvml.NVMLError as error:
        raise MachineLacks(f"energy of this GPU cannot be read: {error}") from error

    def reader(handle) -> Callable[[], float]:
        def read() -> float:
            try:
                return pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3
            except pynvml.NVMLError as error:
                raise MachineLacks(f"energy of this GPU cannot be read: {error}") from error

        return read

    counters = tuple(Counter(f"GPU {each.id}", reader(handle)) for each, handle in zip(chosen, handles, strict=True))
    for counter in counters:
        counter.read()
    return Meter("gpu", counters)


def wait_for_gpus(devices: int) -> None:
    """Waits until the GPUs of a cell, as of `found`, have nothing left to do."""
    if devices == 0:
        return
    from grailbench.cuda.gateway import cuda

    for at in range(devices) if devices > 1 else ():
        with cuda.gpus[at]:
            cuda.synchronize()
    cuda.synchronize()


def _domains(root: Path) -> dict[str, dict[str, Path]]:
    """The folders of domains by meter and by their own names, each domain once, though two drivers may show it.

    Raises MachineLacks if there is no package.
    """
    packages, drams, psys = {}, {}, {}
    folders = {each.name: each for each in root.glob("*:*")}
    for name in sorted(folders, key=lambda name: name.split(":")):  # intel-rapl goes before intel-rapl-mmio
        title, parent = _title(folders[name]), folders.get(name.rpartition(":")[0])
        if _PACKAGE.fullmatch(title) and parent is None:
            packages.setdefault(title, folders[name])
        elif title == "psys" and parent is None:
            psys.setdefault(title, folders[name])
        elif title == "dram" and parent is not None:
            drams.setdefault(f"dram of {_title(parent)}", folders[name])
    if not packages:
        raise MachineLacks(f"energy of this CPU cannot be read: no counter of a package in {root} ({_HIDDEN})")
    return {name: each for name, each in (("cpu", packages), ("dram", drams), ("psys", psys)) if each}


def _title(folder: Path) -> str:
    """The name of a domain; '' if it shows none, or no energy."""
    try:
        return (folder / "name").read_text().strip() if (folder / "energy_uj").exists() else ""
    except OSError:
        return ""


def _counter(title: str, folder: Path) -> Counter:
    """The counter of a domain. Raises MachineLacks if it cannot be read."""
    path = folder / "energy_uj"

    def joules(file: Path) -> float:
        try:
            return int(file.read_text()) / 1e6
        except PermissionError:
            remedy = _REMEDY.format(pattern=folder.parent / "*:*")
            raise MachineLacks(f"energy of this CPU cannot be read: {file} is closed to this user ({remedy})") from None
        except (OSError, ValueError) as error:
            raise MachineLacks(f"energy of this CPU cannot be read: {file}: {error}") from None

    joules(path)
    return Counter(title, lambda: joules(path), joules(folder / "max_energy_range_uj") or None)
