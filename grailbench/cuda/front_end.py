"""Which package compiles kernels, found without importing it, and how its kernels take an array."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version

from grailbench.cuda import simulator
from grailbench.errors import InputError

NUMBA_CUDA, MLIR = "numba-cuda", "numba-cuda-mlir"


def named() -> str:
    """Returns what GRAILBENCH_CUDA says, '' where it is not set."""
    return os.environ.get("GRAILBENCH_CUDA", "")


def chosen() -> str:
    """Returns the package whose CUDA module kernels are compiled by.

    It is what GRAILBENCH_CUDA names, else numba-cuda: the other one compiles some kernels wrongly (docs/notebook.md).
    The simulator is always numba-cuda's. Raises InputError if the name is neither.
    """
    if simulator.asked_for():
        return NUMBA_CUDA
    wanted = named()
    if wanted in (NUMBA_CUDA, MLIR):
        return wanted
    if wanted:
        raise InputError(f"GRAILBENCH_CUDA is {wanted}", remedy=f"{NUMBA_CUDA} or {MLIR}")
    return NUMBA_CUDA


def of_numba_cuda(address: int, size: int, width: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the words of a contiguous array, of one or two dimensions, in the arguments of a kernel: two that are not
    used, its size, the bytes of an element, its address, its shape and its strides in bytes."""
    place = address if size else 0
    if len(shape) == 1:
        return 0, 0, size, width, place, size, width
    rows, columns = shape
    return 0, 0, size, width, place, rows, columns, columns * width, width


def of_mlir(address: int, size: int, width: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same for numba-cuda-mlir, whose arrays are memrefs: the address twice, where the elements begin there, the
    shape and the strides in elements."""
    place = address if size else 0
    if len(shape) == 1:
        return place, place, 0, size, 1
    rows, columns = shape
    return place, place, 0, rows, columns, columns, 1


def described() -> str:
    """Returns the name and version of the package that compiles kernels, or of numba, which has a CUDA target."""
    try:
        return f"{chosen()} {version(chosen())}"
    except PackageNotFoundError:
        return f"numba {version('numba')} (its own CUDA target)"
