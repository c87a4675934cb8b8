"""Closures on the CPU."""
