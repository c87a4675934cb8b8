"""Where tests of implementations on workers of dask must not be skipped."""

from importlib.util import find_spec

from grailbench.cuda.installed import gpus
from grailbench.distributed import connection


def has_workers(name: str) -> bool:
    """Whether an implementation asks workers, and this machine has all that they need: it lacks nothing then."""
    has_its_machine = connection.usable_cores() >= 2 and (name == "dask" or bool(gpus()))
    return name.startswith("dask") and find_spec("distributed") is not None and has_its_machine
