"""Papers and their tables and figures, made from the cells of a run."""
