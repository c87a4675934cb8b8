"""GRAIL on a GPU. `index`, `path` and `thesis` import no CUDA module; their `build` imports the others."""
