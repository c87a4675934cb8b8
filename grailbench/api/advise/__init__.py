"""Which index to take for a graph: a short tournament, and what follows from its rows."""
