"""Finds the counters of energy that this machine lets be read: of its GPUs, and of the packages of its CPU.

GPUs: the driver's total of the whole board, `nvmlDeviceGetTotalEnergyConsumption`. CPUs: Running Average Power Limit
(RAPL), of Intel's and AMD's, as Linux shows it in `POWERCAP`: a folder a domain, with `name`, `energy_uj` and
`max_energy_range_uj`, after which the counter begins anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from grailbench.cuda.energy import Counter, Meter
from grailbench.errors import MachineLacks

POWERCAP = Path("/sys/class/powercap")
_PACKAGE = re.compile(r"package-\d+(-die-\d+)?")  #: cores and uncore are parts of it, and are not added
_HIDDEN = "a virtual machine or a container shows none, and Linux needs its module intel_rapl_msr"
_REMEDY = (
    "root may read it: sudo chmod a+r {pattern}/energy_uj until the next start, or for good a rule of udev, "
    'SUBSYSTEM=="powercap", ACTION=="add", RUN+="/bin/chmod a+r /sys%p/energy_uj"'
)


def found(devices: int) -> tuple[list[Meter], dict[str, str]]:
    """The meters of a cell on so many GPUs, 0 for none, and by name why others cannot be read.

    gpu   those GPUs: the current one, or the first `devices`
    cpu   all packages of the host
    dram  their memory, where the machine counts it: it is no part of `cpu`
    psys  the whole platform, where the machine counts it: `cpu` and `dram` are parts of it
    """
    meters, unread = [], {}
    if devices:
        try:
            meters.append(gpus(devices))
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


def gpus(devices: int) -> Meter:
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


def settle(devices: int) -> None:
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
