"""`gpu-fused`: our own pipeline. `index` has the index for the harness, `replicas` runs it on one GPU or several."""

#: edges from which on the device renumbers a condensed graph; with fewer, the host is ready before
FEWEST = 1 << 17


def small_below(fewest: int = FEWEST) -> tuple[int, int]:
    """Returns the vertices and edges below which the host numbers a graph that is not condensed: 1,500 levels take the
    device 5 ms, so the edges are more than `fewest`."""
    return fewest, fewest * 11 // 8
