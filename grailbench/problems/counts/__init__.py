"""Problem 5: how many vertices each vertex reaches, or is reached by, for all vertices of a graph."""

from grailbench.util import kernelcache

kernelcache.adopt()
