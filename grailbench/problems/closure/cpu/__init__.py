"""Transitive closures on the CPU."""
