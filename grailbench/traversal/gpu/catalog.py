"""Traversals on a GPU by name. No CUDA module is imported here but in what `prepare` calls."""
