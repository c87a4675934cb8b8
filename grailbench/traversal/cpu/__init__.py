"""Breadth-first search and shortest paths on the CPU: what the kernels are held against."""
