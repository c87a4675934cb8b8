"""splitmix64 as a counter-based generator: every random number is a pure function of (seed, stream, counter).

Source: Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014, figure 17. The values do
not depend on the order of evaluation or the number of threads. All constants and arguments are uint64, because numba
converts mixed signed and unsigned arithmetic to float64.
"""

import numpy as np

from grailbench.util.compiled import njit

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)
_1, _27, _30, _31, _32 = (np.uint64(v) for v in (1, 27, 30, 31, 32))


@njit(cache=True, inline="always")
def mix64(x):
    """The finalizer of splitmix64, a bijection. `x`: uint64. Returns uint64."""
    x = (x ^ (x >> _30)) * _M1
    x = (x ^ (x >> _27)) * _M2
    return x ^ (x >> _31)


@njit(cache=True, inline="always")
def draw(key, counter):
    """The random number with index `counter` (an integer from 0) of the stream `key` (uint64). Returns uint64."""
    return mix64(key + (np.uint64(counter) + _1) * GAMMA)


@njit(cache=True, inline="always")
def below(h, n):
    """Maps a uint64 to [0, n), 0 < n < 2**32, by a 64-bit multiply-high (bias below n / 2**64). Returns int64."""
    n = np.uint64(n)
    return np.int64(((h >> _32) * n + (((h & _LOW) * n) >> _32)) >> _32)


@njit(cache=True)
def _stream(seed, number):
    return mix64(draw(mix64(seed + GAMMA), number))


def stream(seed: int, number: int) -> np.uint64:
    """The key of stream `number` (0 <= number < 2**63) of `seed` (0 <= seed < 2**64)."""
    return np.uint64(_stream(np.uint64(seed), number))


@njit(cache=True, nogil=True)
def shuffle(values, key):
    """Shuffles an array in place (Fisher-Yates in Durstenfeld's form)."""
    for i in range(values.shape[0] - 1, 0, -1):
        j = below(draw(key, i), i + 1)
        values[i], values[j] = values[j], values[i]


def permutation(n: int, key: np.uint64) -> np.ndarray:
    """A uniform random permutation of 0..n-1, int32[n]."""
    out = np.arange(n, dtype=np.int32)
    shuffle(out, key)
    return out


_M32, _N32 = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
_M32_INVERSE, _N32_INVERSE = (np.uint64(pow(int(m), -1, 2**32)) for m in (_M32, _N32))
_13, _16, _26 = (np.uint64(v) for v in (13, 16, 26))


@njit(cache=True, inline="always")
def mixed(vertex, salt):
    """Returns a bijection of 32 bits (murmur3's finalizer) of vertex ^ salt, as uint64. salt: uint64 below 2**32."""
    x = np.uint64(vertex) ^ salt
    x = ((x ^ (x >> _16)) * _M32) & _LOW
    x = ((x ^ (x >> _13)) * _N32) & _LOW
    return x ^ (x >> _16)


@njit(cache=True, inline="always")
def unmixed(value, salt):
    """Returns the vertex of which `mixed` makes a value, uint64 both."""
    x = value
    x = ((x ^ (x >> _16)) * _N32_INVERSE) & _LOW
    x = ((x ^ (x >> _13) ^ (x >> _26)) * _M32_INVERSE) & _LOW
    return (x ^ (x >> _16)) ^ salt
