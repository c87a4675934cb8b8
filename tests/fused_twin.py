"""The labels of `gpu-fused` in plain numpy, step by step as the page has them; slow, and of one mind."""

import numpy as np

PRIMES = np.array(
    [2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497], np.int64
)


def mixed(vertices, salt):
    """uint64 below 2**32: murmur3's finalizer."""
    low = np.uint64(0xFFFFFFFF)
    x = np.asarray(vertices).astype(np.uint64) ^ np.uint64(salt)
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & low
    x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & low
    return x ^ (x >> np.uint64(16))


def sibling_order(length, h, tile=1024):
    """int64[length]: the elements of a row by their place in the order that hash `h` gives."""
    q, step, shift = np.arange(length), int(PRIMES[h & 7]), h >> 3
    if length < 2 * tile:
        return (q * (step % length) + shift % length) % length
    tiles = length // tile
    other = (q // tile * (step % tiles) + shift % tiles) % tiles
    return np.where(q // tile == tiles, q, other * tile + (q * step + shift + other * 167) % tile)


def tree(graph, salt, order_salt):
    """Parent, size and rank of every vertex: int64[n] each, ranks from 1; the super-root's parent is -1."""
    n = graph.vertex.shape[0]
    ds, dd, rows = graph.deep_sources.astype(np.int64), graph.deep_targets.astype(np.int64), graph.deep_starts
    parent, size, rank = np.full(n, -1), np.ones(n, np.int64), np.zeros(n, np.int64)
    first = np.lexsort((mixed(ds, salt), dd))
    keep = first[np.concatenate([[True], dd[first][1:] != dd[first][:-1]])] if len(first) else first
    parent[dd[keep]] = ds[keep]
    for v in range(n - 1, 0, -1):
        size[parent[v]] += size[v]
    before = np.zeros(n, np.int64)
    for u in range(n):
        length = int(rows[u + 1] - rows[u])
        total = 0
        for place in sibling_order(length, int(mixed(u, order_salt))) if length else ():
            v = dd[rows[u] + place]
            if parent[v] == u:
                before[v] = before[u] + total
                total += size[v]
    rank[:] = before + size
    return parent, size, rank


def records(graph, salts, dim, width):
    """int32[n, width]: the records of `filter.Records`."""
    n = graph.vertex.shape[0]
    lanes = np.zeros((n, width), np.int32)
    for p in range(dim):
        _, size, rank = tree(graph, salts[2 * p], salts[2 * p + 1])
        start, end = rank - size + 1, rank.copy()
        if p == 0:
            lanes[:, 2 * dim + 1], lanes[:, 2 * dim + 2] = start, -rank
        for k in range(len(graph.sources) - 1, -1, -1):
            u, v = graph.sources[k], graph.targets[k]
            start[u], end[u] = min(start[u], start[v]), max(end[u], end[v])
        lanes[:, 2 * p], lanes[:, 2 * p + 1] = start, -end
    lanes[:, 2 * dim] = np.repeat(np.arange(len(graph.level_starts) - 1), np.diff(graph.level_starts))
    return lanes
