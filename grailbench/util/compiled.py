"""numba's `njit`, once `kernelcache` is in front of its cache: for modules of packages that are imported without numba,
which takes a third of a second to import."""

from numba import njit as njit

from grailbench.util import kernelcache

kernelcache.adopt()


def njit_later(signature: str):
    """`njit` for one signature, by which a kernel is compiled, or loaded from the cache, when it is first called; numba
    itself does so when the module is imported, also for programs that call none of its kernels."""

    def decorate(function):
        kernel = njit(cache=True)(function)

        def first(*_):
            entry = kernel.compile(signature)
            kernel.disable_compile()
            kernel.__dict__.pop("_compile_for_args", None)  # what numba calls for arguments of other types
            return entry

        kernel._compile_for_args = first
        return kernel

    return decorate
