"""A graph, from any file to CSR arrays."""
