"""Closures on a GPU by name. No CUDA module is imported here but in what is called."""

from __future__ import annotations

from grailbench.closure.index import Implementation, Params, Relation, Solver, Timer, register


class _OnGpu(Implementation):
    needs = ("gpu",)

    @classmethod
    def require(cls) -> None:
        """Raise MachineLacks without a GPU, its driver or the extra; the simulator will do."""
        from grailbench.device.gateway import require

        require()

    @classmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        """Allocate on both sides. Raises MachineLacks when the device has too little memory."""
        cls.require()
        from grailbench.closure.gpu import solvers

        return solvers.SOLVERS[cls.name](relation)


_CUBIC = "O(n^3), n launches; 4 n^2 bytes"


def _file(name: str, source: str, cost: str, doc: str, counts: tuple[str, ...] = ("launches",)) -> None:
    """File an implementation under its name; `doc` is its docstring."""
    body = {"name": name, "source": source, "cost": cost, "counts": counts, "__doc__": doc, "__module__": __name__}
    register(type("".join(part.title() for part in name.split("-")), (_OnGpu,), body))


for _name, _section, _cost, _doc in (
    (
        "matmul",
        "3.2",
        "O(n^3) a product, about one for each edge of the longest shortest path",
        """Powers of the matrix, with early stop (the report's kernel 1).

    A, A^2, A^3, ... by logical products, or'ed together, until a power equals the one before.""",
    ),
    (
        "naive",
        "3.3",
        _CUBIC,
        """Floyd-Warshall, a launch a pivot, a thread an entry (kernel 2).

    In the launch of pivot k the thread of entry (i, j) sets it where (i, k) and (k, j) are set.""",
    ),
    (
        "pinned",
        "3.4",
        _CUBIC,
        """As naive, from and to pinned host memory (kernel 3).

    Copies do not pass through a buffer of the driver.""",
    ),
    (
        "zero-copy",
        "3.5",
        _CUBIC,
        """As naive, on host memory that is mapped into the device (kernel 4).

    Nothing is copied: the kernel reads and writes the host's memory over the bus.""",
    ),
    (
        "pitched",
        "3.6",
        _CUBIC,
        """As naive, on rows with a pitch (kernel 5).

    Rows begin at multiples of 512 bytes and are copied as such.""",
    ),
    (
        "pitched-2d",
        "3.7",
        _CUBIC,
        """As pitched, with two-dimensional blocks (kernel 6).

    A block is a square of entries instead of a run of a row.""",
    ),
    (
        "tiled",
        "3.8",
        "O(n^3), 3 n / 16 launches; 4 n^2 bytes",
        """Katz and Kider's tiles of 16 x 16 in three phases (kernel 7).

    16 pivots at a time: the tile on the diagonal by itself, then those in its row and column, then all others, each in
    shared memory.""",
    ),
    (
        "sssp-each",
        "3.10",
        "O(n (n + m)), a launch a level of each search",
        """A search from every vertex (kernel 9).

    Breadth first, a thread a vertex and a launch a level; each row is copied out when its search has ended.""",
    ),
):
    _counts = {"matmul": ("launches", "products"), "sssp-each": ()}.get(_name, ("launches",))
    _file(_name, f"Fenz et al. 2022, section {_section}", _cost, _doc, _counts)

_file(
    "warshall-bits-gpu",
    "Warshall 1962; Arlazarov, Dinic, Kronrod and Faradzev 1970; ours",
    "O(n^3 / 256) words, a barrier each 64 pivots; n^2 / 8 bytes",
    """Warshall on packed bits, 64 pivots a step, one cooperative launch.

    Every block closes the pivots' rows and makes tables of unions of each 4 pivots, of its own columns; then the rows
    are dealt out in equal runs, and each gets the union that one word of it names. A barrier ends the step.""",
    ("launches", "steps"),
)
_file(
    "condense-bits-gpu",
    "Purdom 1970; ours",
    "O(n^2 / 64 + n) words on the host, O(n / 64) an edge between components on the device",
    """Strong components on the host, bit sets by levels on the device.

    The host condenses as `condense-bits` does; one cooperative launch then takes the components level by level from the
    sinks up, a thread a word of a set.""",
    ("launches", "levels", "components", "component_edges"),
)


@register
class Managed(_OnGpu):
    """As naive, in memory that CuPy owns, in the place of Thrust (kernel 8).

    The library allocates and copies; the kernel is that of `naive`.
    """

    name = "managed"
    needs = ("gpu", "cupy")
    source = "Fenz et al. 2022, section 3.9"
    cost = _CUBIC
    counts = ("launches",)

    @classmethod
    def require(cls) -> None:
        """Raise MachineLacks without a GPU or CuPy."""
        super().require()
        from grailbench.device.arrays import require_library

        require_library()
