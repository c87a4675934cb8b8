"""GRAIL on a GPU. Only `thesis` may be imported where there is no CUDA; the rest is imported by its `build`."""
