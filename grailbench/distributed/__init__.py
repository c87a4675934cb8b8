"""Workers of dask: connecting to them, starting some on this machine, what each has, and its share of the cores.

Nothing here knows what the workers are for. `connection` imports dask when it is asked for.
"""
