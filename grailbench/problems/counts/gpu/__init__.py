"""Counts on a GPU."""
