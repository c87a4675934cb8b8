"""Datasets: finding, fetching, checking and opening graphs by name."""
