"""The harness: runs a matrix of cells, verifies each before it is timed, and stores the rows."""
