"""Which package compiles kernels, found without importing it."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from grailbench.device import simulator
from grailbench.errors import InputError

NUMBA_CUDA, MLIR = "numba-cuda", "numba-cuda-mlir"


def chosen() -> str:
    """Returns the package whose CUDA module kernels are compiled by.

    It is what GRAILBENCH_CUDA names, else numba-cuda unless only numba-cuda-mlir is installed. The simulator is always
    numba-cuda's. Raises InputError if the name is neither.
    """
    if simulator.asked_for():
        return NUMBA_CUDA
    wanted = os.environ.get("GRAILBENCH_CUDA")
    if wanted in (NUMBA_CUDA, MLIR):
        return wanted
    if wanted:
        raise InputError(f"GRAILBENCH_CUDA is {wanted}", remedy=f"{NUMBA_CUDA} or {MLIR}")
    return MLIR if find_spec("numba_cuda_mlir") and not find_spec("numba_cuda") else NUMBA_CUDA


def described() -> str:
    """Returns the name and version of the package that compiles kernels, or of numba, which has a CUDA target."""
    try:
        return f"{chosen()} {version(chosen())}"
    except PackageNotFoundError:
        return f"numba {version('numba')} (its own CUDA target)"
