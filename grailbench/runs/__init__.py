"""Runs on disk and in memory: folders, rows, cells and statistics."""
