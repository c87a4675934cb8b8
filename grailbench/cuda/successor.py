"""Repairs of numba-cuda-mlir, seen with 0.6.0."""

from __future__ import annotations

from grailbench.util import kernelcache


def repair() -> None:
    """Makes its disk cache keep that a kernel is cooperative, and use the folder of this package's kernels.

    Otherwise a kernel with barriers of the whole grid that comes from the cache is launched without them being
    possible, and hangs or fails.
    """
    from numba_cuda_mlir.caching import MLIRCacheImpl

    reduce, rebuild = MLIRCacheImpl.reduce, MLIRCacheImpl.rebuild

    def reduce_all(self, compiled):
        return reduce(self, compiled) | {"use_cooperative": compiled.metadata.get("use_cooperative", False)}

    def rebuild_all(self, target_context, payload):
        compiled = rebuild(self, target_context, payload)
        compiled.metadata["use_cooperative"] = payload["use_cooperative"]
        return compiled

    MLIRCacheImpl.reduce, MLIRCacheImpl.rebuild = reduce_all, rebuild_all
    kernelcache.adopt(MLIRCacheImpl, "mlir")
