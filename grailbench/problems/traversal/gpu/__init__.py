"""Breadth-first search and shortest paths on a GPU. Only `catalog` may be imported where there is no CUDA."""
