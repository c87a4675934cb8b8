"""grailbench: benchmarks of graph reachability, every answer checked."""

from grailbench import kernelcache

__version__ = "0.1.0"

kernelcache.choose()
