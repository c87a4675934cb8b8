"""What a run is, on disk and in memory: rows, cells, statistics, folders."""
