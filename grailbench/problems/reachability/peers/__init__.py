"""Adapters of indexes from other projects."""
