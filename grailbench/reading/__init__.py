"""Problem 4, reading: converting the text of a graph to edges in memory."""

from grailbench import kernelcache

kernelcache.adopt()
