"""Reports: tables and figures of a run, beside the printed ones, and comparisons of runs."""
