"""`supports`: records of labels and supportive vertices, and a search from both ends, for graphs that need an index."""
