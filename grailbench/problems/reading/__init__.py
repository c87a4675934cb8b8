"""Problem 4, reading: converting the text of a graph to edges in memory."""

from grailbench.util import kernelcache

kernelcache.adopt()
