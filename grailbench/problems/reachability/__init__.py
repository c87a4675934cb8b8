"""Problem 1, reachability: labelings and searches with one common interface."""

from grailbench.util import kernelcache

kernelcache.adopt()
