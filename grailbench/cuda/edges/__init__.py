"""From raw edges in the memory of the host to a DAG renumbered by level, wholly on the device, as `graph.condense` and
`graph.leveled.by_level` make it, bit for bit.

Edges travel in pieces (`staging`), are sorted and made unique (`rows`) and walked level by level (`walk`); where cycles
are left, their strong components are contracted, and the rest walked again (`build`). `library` sorts and sums.
"""
