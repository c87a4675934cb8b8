"""Problem 2, traversal: breadth-first search, shortest paths from a source, and between all pairs."""

from grailbench import kernelcache

kernelcache.adopt()
