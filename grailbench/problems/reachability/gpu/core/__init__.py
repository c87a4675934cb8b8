"""`core-gpu`: peeling, closure of the core and queries on the GPU."""
