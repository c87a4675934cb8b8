"""What of CUDA is installed here, found without importing a CUDA module: the GPUs, by the driver; the package that
compiles kernels, and how its kernels take an array.
"""

from importlib.metadata import PackageNotFoundError, version

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


def described_compiler() -> str:
    """Returns the name and version of the package that compiles kernels, or of numba, which has a CUDA target."""
    try:
        return f"numba-cuda {version('numba-cuda')}"
    except PackageNotFoundError:
        return f"numba {version('numba')} (its own CUDA target)"
