"""The Floyd-Warshall algorithm on a matrix of all pairs over any semiring: in tiles of shared memory (Katz and Kider
2008, `run_tiles`), and in tiles whose entries stay in registers (`Closing`).

The device function `join(found, first, second)` computes a new entry: min(found, first + second), or found | (first &
second).

A step of `Closing` takes the next P pivots K. `pivots` replaces their own entries A_KK by their closure D (one block),
`panel` their rows R by R' = min(R, D R), and `rest` every other row A_u by min(A_u, A_uK R'), in which an entry is
loaded once a step. `rest` writes columns of pivots while other blocks read them: what is read lies between A_uK and
A_uK D, and A_uK R' = A_uK D R'.
"""

from dataclasses import dataclass
from functools import cache
from math import lcm

import numpy as np
from numpy import int32, uint64

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, Shape, kernel_of


@cache
def _tile_kernels(join, tile: int):
    """The kernels of the three phases of step t. They take (matrix, t) with matrix int32[N, N], N a multiple of the
    tile's side, in blocks of tile x tile threads."""

    @cuda.jit(cache=True)
    def diagonal(matrix, t):
        """Phase 1: updates the tile on the diagonal; one block."""
        own = cuda.shared.array((tile, tile), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        i, j = t * tile + y, t * tile + x
        found = matrix[i, j]
        own[y, x] = found
        cuda.syncthreads()
        for k in range(tile):
            better = join(found, own[y, k], own[k, x])
            if better != found:
                own[y, x] = found = better
            cuda.syncthreads()
        matrix[i, j] = found

    @cuda.jit(cache=True)
    def cross(matrix, t):
        """Phase 2: updates the tiles in the rows (blockIdx.y 0) and columns (1) of the pivots by the diagonal tile."""
        pivots = cuda.shared.array((tile, tile), int32)
        own = cuda.shared.array((tile, tile), int32)
        x, y, other = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.x
        if other == t:
            return
        in_row = cuda.blockIdx.y == 0
        i, j = (t if in_row else other) * tile + y, (other if in_row else t) * tile + x
        pivots[y, x] = matrix[t * tile + y, t * tile + x]
        found = matrix[i, j]
        own[y, x] = found
        cuda.syncthreads()
        for k in range(tile):
            better = join(found, pivots[y, k], own[k, x]) if in_row else join(found, own[y, k], pivots[k, x])
            if better != found:
                own[y, x] = found = better
            cuda.syncthreads()
        matrix[i, j] = found

    @cuda.jit(cache=True)
    def rest(matrix, t):
        """Phase 3: updates every other tile by the tiles in the pivots' column and row; no barriers in its loop."""
        column = cuda.shared.array((tile, tile), int32)
        row = cuda.shared.array((tile, tile), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        if cuda.blockIdx.x == t or cuda.blockIdx.y == t:
            return
        i, j = cuda.blockIdx.y * tile + y, cuda.blockIdx.x * tile + x
        column[y, x] = matrix[i, t * tile + x]
        row[y, x] = matrix[t * tile + y, j]
        found = matrix[i, j]
        cuda.syncthreads()
        for k in range(tile):
            found = join(found, column[y, k], row[k, x])
        matrix[i, j] = found

    return diagonal, cross, rest


def run_tiles(join, matrix, tile: int) -> int:
    """Launches all steps on int32[N, N], N a multiple of the tile's side. Does not wait. Returns how many launches."""
    diagonal, cross, rest = _tile_kernels(join, tile)
    tiles, block = matrix.shape[0] // tile, (tile, tile)
    for t in range(tiles):
        diagonal[1, block](matrix, t)
        if tiles > 1:
            cross[(tiles, 2), block](matrix, t)
            rest[(tiles, tiles), block](matrix, t)
    return 3 * tiles if tiles > 1 else 1


VECTOR = 4  #: pivots that a thread takes together; with 4 one load of 128 bits gives a row's entries for all of them


@dataclass(frozen=True)
class Tile:
    """How a block of threads divides a tile: `lanes` threads lie side by side, and each has rows x columns entries.

    `warps` rows of threads lie one below the other. A thread's rows are adjacent, its columns `lanes` apart.
    """

    warps: int
    lanes: int
    rows: int
    columns: int
    registers: int | None = None

    @property
    def height(self) -> int:
        """Rows of the tile."""
        return self.warps * self.rows

    @property
    def width(self) -> int:
        """Columns of the tile."""
        return self.lanes * self.columns

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return self.warps * self.lanes


@dataclass(frozen=True)
class Tiles:
    """The tiles of the three kernels.

    The height of `pivots` is the number of pivots of a step. `pivots` is square, `panel` as high and not wider, and the
    sides of `rest` are multiples of that. `depth` pivots are staged in shared memory together; it divides their number,
    and `VECTOR`, the warps and the lanes of `panel` and `rest` divide it.
    """

    pivots: Tile
    panel: Tile
    rest: Tile
    depth: int

    @property
    def side(self) -> int:
        """Numbers of rows and columns of matrices are multiples of this."""
        return lcm(self.rest.height, self.rest.width)


TILES = (
    Tiles(Tile(2, 2, 2, 2), Tile(2, 2, 2, 1), Tile(2, 2, 2, 2), 4)
    if simulated
    else Tiles(Tile(8, 32, 8, 2), Tile(8, 32, 8, 1, 64), Tile(4, 32, 16, 4, 128), 32)
)


@cache
def _pivots(join, tile: Tile):
    """Step 1, one block: a row and a column of pivots at a time go through shared memory, one barrier each."""
    side, rows, columns, lanes = tile.height, tile.rows, tile.columns, tile.lanes
    entries = rows * columns

    @kernel_of(tile.registers)
    def pivots(matrix, step):
        """Closes the next pivots' own entries of matrix, int32[N, N], and counts the step in step, int32[1]."""
        row = cuda.shared.array((2, side), int32)
        column = cuda.shared.array((2, side), int32)
        own = cuda.local.array(entries, int32)
        across = cuda.local.array(columns, int32)
        lane, top = cuda.threadIdx.x % lanes, cuda.threadIdx.x // lanes * rows
        t = step[0]
        i, j = t * side + top, t * side + lane
        for r in range(rows):
            for c in range(columns):
                own[r * columns + c] = matrix[uint64(i + r), uint64(j + c * lanes)]
        for k in range(side):
            # Neither changes in its own step. Two buffers make one barrier enough.
            turn = k & 1
            for r in range(rows):
                if top + r == k:
                    for c in range(columns):
                        row[turn, lane + c * lanes] = own[r * columns + c]
            for c in range(columns):
                if lane + c * lanes == k:
                    for r in range(rows):
                        column[turn, top + r] = own[r * columns + c]
            cuda.syncthreads()
            for c in range(columns):
                across[c] = row[turn, lane + c * lanes]
            for r in range(rows):
                down = column[turn, top + r]
                for c in range(columns):
                    own[r * columns + c] = join(own[r * columns + c], down, across[c])
        for r in range(rows):
            for c in range(columns):
                matrix[uint64(i + r), uint64(j + c * lanes)] = own[r * columns + c]
        if cuda.threadIdx.x == 0:
            step[0] = t + 1

    return pivots


@cache
def _product(join, tile: Tile, pivots: int, depth: int, of_pivots: bool):
    """Step 2, for the rows `of_pivots`, or 3, for all others; one block for each tile."""
    rows, columns, lanes, warps = tile.rows, tile.columns, tile.lanes, tile.warps
    height, width = tile.height, tile.width
    entries, several = rows * columns, VECTOR * columns
    pitch = depth + VECTOR  # rows of a thread's neighbours lie in other banks
    skips = height == pivots  # otherwise the pivots' rows come out as they were

    @kernel_of(tile.registers)
    def product(matrix, step):
        """Joins matrix, int32[N, N], with the product of the last pivots' columns and their rows."""
        left = cuda.shared.array((height, pitch), int32)
        right = cuda.shared.array((depth, width), int32)
        own = cuda.local.array(entries, int32)
        across = cuda.local.array(several, int32)
        down = cuda.local.array(VECTOR, int32)
        lane, warp = cuda.threadIdx.x % lanes, cuda.threadIdx.x // lanes
        top = warp * rows
        t = step[0] - 1
        strips = matrix.shape[1] // width
        first_row, first_column = cuda.blockIdx.x // strips, cuda.blockIdx.x % strips
        if of_pivots:
            if first_column * width // pivots == t:  # D
                return
            first_row = t
        elif skips and first_row >= t:
            first_row += 1
        first_row *= height
        first_column *= width
        i, j = first_row + top, first_column + lane
        for r in range(rows):
            for c in range(columns):
                own[r * columns + c] = matrix[uint64(i + r), uint64(j + c * lanes)]
        for first in range(t * pivots, (t + 1) * pivots, depth):
            if first > t * pivots:
                cuda.syncthreads()
            for part in range(rows):
                y = warp + part * warps
                for x in range(0, depth, lanes):
                    left[uint64(y), uint64(x + lane)] = matrix[uint64(first_row + y), uint64(first + x + lane)]
            for part in range(depth // warps):
                y = warp + part * warps
                for c in range(columns):
                    right[uint64(y), uint64(lane + c * lanes)] = matrix[uint64(first + y), uint64(j + c * lanes)]
            cuda.syncthreads()
            for k in range(0, depth, VECTOR):
                for v in range(VECTOR):
                    for c in range(columns):
                        across[v * columns + c] = right[uint64(k + v), uint64(lane + c * lanes)]
                for r in range(rows):
                    for v in range(VECTOR):
                        down[v] = left[uint64(top + r), uint64(k + v)]
                    for v in range(VECTOR):
                        for c in range(columns):
                            own[r * columns + c] = join(own[r * columns + c], down[v], across[v * columns + c])
        for r in range(rows):
            for c in range(columns):
                matrix[uint64(i + r), uint64(j + c * lanes)] = own[r * columns + c]

    return product


@cuda.jit(cache=True)
def _restart(step):
    step[0] = 0


class Closing:
    """Closes a matrix on the device, by launches that are prepared once.

    `join(found, first, second)`, a device function, computes a new int32 entry of three. matrix: int32[N, N], N a
    multiple of `tiles.side`.
    """

    def __init__(self, join, matrix, tiles: Tiles = TILES):
        size, pivots = matrix.shape[0], tiles.pivots.height
        self._steps, step = size // pivots, cuda.to_device(np.zeros(1, np.int32))
        self._held = matrix, step  # prepared launches hold addresses alone
        rows = size // tiles.rest.height - (tiles.rest.height == pivots)
        kernels = (
            (_pivots(join, tiles.pivots), 1, tiles.pivots),
            (_product(join, tiles.panel, pivots, tiles.depth, True), size // tiles.panel.width, tiles.panel),
            (_product(join, tiles.rest, pivots, tiles.depth, False), rows * (size // tiles.rest.width), tiles.rest),
        )
        self._begin = Prepared(_restart, (step,), Shape(1, 1))
        self._each = [
            Prepared(kernel, (matrix, step), Shape(blocks, tile.threads))
            for kernel, blocks, tile in kernels[: 3 if self._steps > 1 else 1]
        ]

    def run(self) -> int:
        """Launches all steps and does not wait. Returns how many launches."""
        self._begin.launch()
        for _ in range(self._steps):
            for each in self._each:
                each.launch()
        return 1 + self._steps * len(self._each)
