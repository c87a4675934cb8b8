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


def _file(name: str, source: str, doc: str) -> type[Implementation]:
    body = {"name": name, "source": source, "__doc__": doc, "__module__": __name__}
    return register(type("".join(part.title() for part in name.split("-")), (_OnGpu,), body))


for _name, _section, _doc in (
    ("matmul", "3.2", "Powers of the matrix, with early stop (the report's kernel 1)."),
    ("naive", "3.3", "Floyd-Warshall, a launch a pivot, a thread an entry (kernel 2)."),
    ("pinned", "3.4", "As naive, from and to pinned host memory (kernel 3)."),
    ("zero-copy", "3.5", "As naive, on host memory that is mapped into the device (kernel 4)."),
    ("pitched", "3.6", "As naive, on rows with a pitch (kernel 5)."),
    ("pitched-2d", "3.7", "As pitched, with two-dimensional blocks (kernel 6)."),
    ("tiled", "3.8", "Katz and Kider's tiles of 16 x 16 in three phases (kernel 7)."),
    ("sssp-each", "3.10", "A search from every vertex (kernel 9)."),
):
    _file(_name, f"Fenz et al. 2022, section {_section}", _doc)

_file(
    "warshall-bits-gpu",
    "Warshall 1962; Arlazarov, Dinic, Kronrod and Faradzev 1970; ours",
    "Warshall on packed bits, 64 pivots a step, one cooperative launch.",
)
_file(
    "condense-bits-gpu",
    "Purdom 1970; ours",
    "Strong components on the host, bit sets by levels on the device.",
)


@register
class Managed(_OnGpu):
    """As naive, in memory that CuPy owns, in the place of Thrust (kernel 8)."""

    name = "managed"
    needs = ("gpu", "cupy")
    source = "Fenz et al. 2022, section 3.9"

    @classmethod
    def require(cls) -> None:
        """Raise MachineLacks without a GPU or CuPy."""
        super().require()
        from grailbench.device.arrays import require_library

        require_library()
