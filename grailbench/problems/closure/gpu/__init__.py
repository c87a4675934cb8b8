"""Transitive closures on a GPU. `catalog` imports no CUDA module; the other modules do."""
