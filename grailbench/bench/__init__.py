"""Running a matrix of cells, verified before timed, and keeping the rows."""
