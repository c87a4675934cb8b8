"""Workers of dask: connecting to them, starting some on this machine, what each has, and its share of the cores; and
what they do: run the cells of a plan (`runner`), and hold an index that answers pairs (`spread`).

dask is imported when a client is made.
"""
