"""A graph, from any file to CSR arrays."""

from grailbench.util import kernelcache

kernelcache.adopt()
