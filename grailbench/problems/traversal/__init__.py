"""Problem 2, traversal: breadth-first search, shortest paths from a source, and between all pairs."""

from grailbench.util import kernelcache

kernelcache.adopt()
