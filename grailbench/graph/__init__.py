"""A graph, from any file to CSR arrays. What opens a stored graph and looks its ids up is imported without numba."""
