"""GRAIL on one core and on many."""
