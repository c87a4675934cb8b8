"""From raw edges in the memory of the host to a DAG renumbered by level, wholly on the device.

Edges travel to the device in pieces (`staging`), are sorted and made unique (`rows`), and walked level by level
(`walk`). Where that leaves vertices, there are cycles: their strong components are contracted (`components`), and the
edges between them are sorted and walked again. The result is that of `graph.condense` and `graph.leveled.by_level`, bit
for bit. Sorting and prefix sums are those of CuPy (CUB), in the simulator those of numpy (`library`).
"""
