"""A graph, from any file to CSR arrays."""

from grailbench import kernelcache

kernelcache.adopt()
