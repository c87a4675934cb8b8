"""Problem 4, reading: from the text of a graph to its edges in memory."""

from grailbench import kernelcache

kernelcache.adopt()
