"""Problem 1, reachability: labelings and searches with one common interface."""

from grailbench import kernelcache

kernelcache.adopt()
