"""How wide the label records of `gpu-fused` are, and the salts of its trees; CPU code imports it too."""

from __future__ import annotations

import numpy as np

from grailbench.graph.hashing import draw, stream


def record_width(dim: int) -> int:
    """Returns the lanes per record of `dim` pairs: 2 dim + 3, rounded up so that records cross few cache lines."""
    lanes = 2 * dim + 3
    return 1 << (lanes - 1).bit_length() if lanes <= 16 else -(-lanes // 16) * 16


def salts(seed: int, pairs) -> np.ndarray:
    """Returns salts below 2**32, uint64[2 d]: for pair i the salt of parents is at 2 i, of siblings at 2 i + 1."""
    key = stream(seed, 0x6675736564)
    return np.array([int(draw(key, 2 * p + i)) >> 32 for p in pairs for i in (0, 1)], np.uint64)
