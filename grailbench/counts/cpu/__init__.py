"""Counts on the CPU."""
