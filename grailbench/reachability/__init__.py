"""Problem 1, reachability: labelings and searches behind one small contract."""

from grailbench import kernelcache

kernelcache.adopt()
