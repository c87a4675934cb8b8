"""Warshall's algorithm on packed bits, 64 pivots at a time, in one cooperative launch with one barrier per step.

Step K closes the paths whose inner vertices lie among the 64 pivots K. Let D be the reflexive closure of their own 64 x
64 bits, and R' = D R_K. Every row u becomes R_u or'ed with the rows of R' that are set in word (u, K), whose union is
read from tables of the 16 unions of each 4 pivots (Arlazarov, Dinic, Kronrod and Faradzev, 1970).

Each block computes D, R' and its tables itself, while others may write the same rows: any value between those before
and after the step gives the same result, since D R' = R' and A' R' = A R' for A' = A D.
"""

from functools import cache

from numpy import int64, uint64

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import launch_cooperative

PIVOTS = 64
_AHEAD = 4  #: rows that a thread loads together
_GROUPS, _UNIONS = 16, 16  # of 4 pivots each
TILE = 2 if simulated else 16  #: words of a row that the tables of a block cover
THREADS = 32 if simulated else 512
REGISTERS = 128  #: registers per thread, for one block of 512 threads per multiprocessor


def padded(vertices: int) -> tuple[int, int]:
    """Returns the numbers of rows and of words per row that `close` needs for so many vertices."""
    rows = -(-max(vertices, 1) // PIVOTS) * PIVOTS
    return rows, -(-(rows // 64) // TILE) * TILE


def device_bytes(vertices: int) -> int:
    """Returns the bytes of the matrix on the device."""
    rows, width = padded(vertices)
    return 8 * rows * width


def close(matrix) -> None:
    """Closes a device matrix uint64[`padded`]; vertices on cycles get their diagonal bit. Does not wait."""
    launch_cooperative(_kernel(TILE), (matrix,), THREADS)


@cuda.jit(device=True)
def _close_pivots(matrix, step, pivots, parts):
    """Computes the reflexive closure of the pivots' own bits into pivots, shared uint64[64], by squaring.

    parts: shared uint64[8 * 64], scratch: 8 threads make the union of a row, of 8 pivots each.
    """
    thread = cuda.threadIdx.x
    for k in range(thread, PIVOTS, cuda.blockDim.x):
        pivots[k] = matrix[step * PIVOTS + k, step] | (uint64(1) << uint64(k))
    cuda.syncthreads()
    growing = True
    while growing:  # at most 7 times
        for at in range(thread, 8 * PIVOTS, cuda.blockDim.x):
            chosen = pivots[at % PIVOTS] >> uint64(at // PIVOTS * 8)
            found = uint64(0)
            for k in range(8):
                reached = pivots[at // PIVOTS * 8 + k]  # read before the branch, so that loads do not wait for it
                if (chosen >> uint64(k)) & uint64(1):
                    found |= reached
            parts[at] = found
        cuda.syncthreads()
        changed = 0
        for k in range(thread, PIVOTS, cuda.blockDim.x):
            before = pivots[k]
            found = before
            for part in range(8):
                found |= parts[part * PIVOTS + k]
            if found != before:
                changed = 1
                pivots[k] = found
        growing = cuda.syncthreads_or(changed) != 0


@cache
def _kernel(tile: int):
    table_size, panel_size, columns = _GROUPS * _UNIONS * tile, PIVOTS * tile, _GROUPS * tile
    parts_size = 8 * PIVOTS

    @cuda.jit(device=True)
    def tabulate(table, panel):
        """Fills table, uint64[16 * 16 * tile], with the unions of each 4 rows of panel, uint64[64 * tile]; shared."""
        for at in range(cuda.threadIdx.x, columns, cuda.blockDim.x):
            word, group = at % tile, at // tile
            to = group * _UNIONS * tile + word
            table[to] = 0
            for k in range(4):
                row = panel[(group * 4 + k) * tile + word]
                for entry in range(1 << k):  # the entries so far, each once more with this row
                    table[to + ((1 << k) + entry) * tile] = table[to + entry * tile] | row

    @cuda.jit(device=True)
    def union_of(table, chosen, word):
        """Returns one word of the union of the panel's rows that are set in the 64 bits `chosen`."""
        found = uint64(0)
        for group in range(_GROUPS):
            entry = int64((chosen >> uint64(4 * group)) & uint64(15))
            found |= table[(group * _UNIONS + entry) * tile + word]
        return found

    @cuda.jit(device=True)
    def load(panel, matrix, step, strip):
        """Loads the words of a strip of the pivots' rows."""
        lane = cuda.threadIdx.x % tile
        for k in range(cuda.threadIdx.x // tile, PIVOTS, cuda.blockDim.x // tile):
            panel[k * tile + lane] = matrix[step * PIVOTS + k, strip * tile + lane]

    @cuda.jit(device=True)
    def prepare_tables(table, panel, pivots):
        """Makes the tables of the pivots' rows after the step, R', from the panel of the rows before it."""
        lane, row, rows = cuda.threadIdx.x % tile, cuda.threadIdx.x // tile, cuda.blockDim.x // tile
        tabulate(table, panel)
        cuda.syncthreads()
        for k in range(row, PIVOTS, rows):
            panel[k * tile + lane] = union_of(table, pivots[k], lane)
        cuda.syncthreads()
        tabulate(table, panel)
        cuda.syncthreads()

    @cuda.jit(device=True)
    def apply_tables(matrix, step, word, rows, table):
        """Ors the pivots' rows that are set in word `step` into one word of the matrix rows rows[0]..rows[1] - 1."""
        chosen, before = cuda.local.array(_AHEAD, uint64), cuda.local.array(_AHEAD, uint64)
        lane, stride = cuda.threadIdx.x % tile, cuda.blockDim.x // tile
        u, stop = rows
        u += cuda.threadIdx.x // tile
        while u < stop:
            for k in range(_AHEAD):  # load all before the first is used, so that the loads overlap
                at = u + k * stride
                if at < stop:
                    chosen[k], before[k] = matrix[at, step], matrix[at, word]
                else:
                    chosen[k] = 0
            for k in range(_AHEAD):
                if chosen[k] != 0:
                    found = before[k] | union_of(table, chosen[k], lane)
                    if found != before[k]:
                        matrix[u + k * stride, word] = found
            u += _AHEAD * stride

    @cuda.jit(**({} if simulated else {"max_registers": REGISTERS}))
    def close_bits(matrix):
        """Closes matrix, uint64[64 * steps, multiple of tile]. Cooperative launch, blockDim a multiple of the tile."""
        grid = cuda.cg.this_grid()
        table = cuda.shared.array(table_size, uint64)
        panel = cuda.shared.array(panel_size, uint64)
        pivots = cuda.shared.array(PIVOTS, uint64)
        parts = cuda.shared.array(parts_size, uint64)
        lane = cuda.threadIdx.x % tile
        steps, tiles = matrix.shape[0] // PIVOTS, matrix.shape[1] // tile
        # A unit is 64 rows of one tile; each block processes an equal range of units, tile after tile.
        share = (steps * tiles + cuda.gridDim.x - 1) // cuda.gridDim.x
        first_unit = cuda.blockIdx.x * share
        last_unit = min(first_unit + share, steps * tiles)
        for step in range(steps):
            if first_unit < last_unit:
                load(panel, matrix, step, first_unit // steps)
                _close_pivots(matrix, step, pivots, parts)
            unit = first_unit
            while unit < last_unit:
                strip = unit // steps
                end = min(last_unit, (strip + 1) * steps)
                if unit > first_unit:
                    load(panel, matrix, step, strip)
                    cuda.syncthreads()
                prepare_tables(table, panel, pivots)
                rows = (unit - strip * steps) * PIVOTS, (end - strip * steps) * PIVOTS
                apply_tables(matrix, step, strip * tile + lane, rows, table)
                cuda.syncthreads()
                unit = end
            grid.sync()

    return close_bits


@cuda.jit(cache=True)
def count_and_clear(matrix, vertices, total):
    """Clears the diagonal of uint64[rows, width] and adds the number of set bits to total, int64[1]."""
    found = int64(0)
    width = matrix.shape[1]
    for at in range(cuda.grid(1), vertices * width, cuda.gridsize(1)):
        u, word = at // width, at % width
        bits = matrix[u, word]
        if bits != 0:
            if u >> 6 == word:
                bits &= ~(uint64(1) << uint64(u & 63))
                matrix[u, word] = bits
            found += cuda.popc(bits)
    if found:
        cuda.atomic.add(total, 0, found)
