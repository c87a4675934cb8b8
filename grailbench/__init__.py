"""grailbench: benchmarks of graph reachability, every answer checked."""

__version__ = "0.1.0"
