"""What of CUDA is installed here, found without importing a CUDA module: the GPUs, by the driver; the package that
compiles kernels, and how its kernels take an array.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version

from grailbench.cuda import simulator
from grailbench.errors import InputError
from grailbench.util.commands import output

_COMMAND_SECONDS = 5


def gpus() -> list[dict]:
    """Name, memory in bytes and driver of each NVIDIA GPU, by nvidia-ml-py or nvidia-smi; [] if there is none."""
    try:
        import pynvml
    except ImportError:
        return _gpus_from_nvidia_smi()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [
            {
                "name": _text(pynvml.nvmlDeviceGetName(handle)),
                "memory_bytes": int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
                "driver": driver,
            }
            for handle in handles
        ]
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()


def _gpus_from_nvidia_smi() -> list[dict]:
    query = "--query-gpu=name,memory.total,driver_version"
    text = output(["nvidia-smi", query, "--format=csv,noheader,nounits"], _COMMAND_SECONDS)
    found = []
    for line in (text or "").splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 3 and fields[1].isdigit():
            found.append({"name": fields[0], "memory_bytes": int(fields[1]) << 20, "driver": fields[2]})
    return found


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


NUMBA_CUDA, MLIR = "numba-cuda", "numba-cuda-mlir"


def named_compiler() -> str:
    """Returns what GRAILBENCH_CUDA says, '' where it is not set."""
    return os.environ.get("GRAILBENCH_CUDA", "")


def chosen_compiler() -> str:
    """Returns the package whose CUDA module kernels are compiled by.

    It is what GRAILBENCH_CUDA names, else numba-cuda: the other one compiles some kernels wrongly (docs/notebook.md).
    The simulator is always numba-cuda's. Raises InputError if the name is neither.
    """
    if simulator.asked_for():
        return NUMBA_CUDA
    wanted = named_compiler()
    if wanted in (NUMBA_CUDA, MLIR):
        return wanted
    if wanted:
        raise InputError(f"GRAILBENCH_CUDA is {wanted}", remedy=f"{NUMBA_CUDA} or {MLIR}")
    return NUMBA_CUDA


def words_of_numba_cuda(address: int, size: int, width: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the words of a contiguous array, of one or two dimensions, in the arguments of a kernel: two that are not
    used, its size, the bytes of an element, its address, its shape and its strides in bytes."""
    place = address if size else 0
    if len(shape) == 1:
        return 0, 0, size, width, place, size, width
    rows, columns = shape
    return 0, 0, size, width, place, rows, columns, columns * width, width


def words_of_mlir(address: int, size: int, width: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same for numba-cuda-mlir, whose arrays are memrefs: the address twice, where the elements begin there, the
    shape and the strides in elements."""
    place = address if size else 0
    if len(shape) == 1:
        return place, place, 0, size, 1
    rows, columns = shape
    return place, place, 0, rows, columns, columns, 1


def described_compiler() -> str:
    """Returns the name and version of the package that compiles kernels, or of numba, which has a CUDA target."""
    try:
        return f"{chosen_compiler()} {version(chosen_compiler())}"
    except PackageNotFoundError:
        return f"numba {version('numba')} (its own CUDA target)"
