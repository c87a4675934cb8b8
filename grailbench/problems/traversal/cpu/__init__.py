"""Breadth-first search and shortest paths on the CPU, the baselines of the GPU implementations."""
