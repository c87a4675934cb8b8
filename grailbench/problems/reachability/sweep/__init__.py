"""Batches answered without an index: `sweep`."""
