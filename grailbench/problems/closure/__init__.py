"""Problem 3: the transitive closure of a directed graph, on the CPU and on the GPU."""

from grailbench.util import kernelcache

kernelcache.adopt()
