"""numba's `njit`, once `kernelcache` is in front of its cache: for modules of packages that are imported without numba,
which takes a third of a second to import."""

from numba import njit as njit

from grailbench.util import kernelcache

kernelcache.adopt()
