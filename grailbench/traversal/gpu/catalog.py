"""Traversals on a GPU by name. No CUDA module is imported here but in what `prepare` calls."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from grailbench.traversal.index import Implementation, Network, Params, Solver, Timer, register

REPORT = "Pathak et al., Accelerating large graph algorithms on GPU using CUDA"
FACTORS = (1, 2, 4, 8, 16)


class _OnGpu(Implementation):
    """`where` names the module (in this package) and the class of the solver, `made` what else it is made with."""

    needs = ("gpu",)
    where: ClassVar[tuple[str, str]]
    made: ClassVar[dict] = {}

    @classmethod
    def require(cls) -> None:
        """Raise MachineLacks without a GPU, its driver or the extra; the simulator will do."""
        from grailbench.device.gateway import require

        require()

    @classmethod
    def prepare(cls, network: Network, params: Params, timer: Timer, **made) -> Solver:
        """Upload the network and allocate; `made` replaces what the solver is made with."""
        cls.require()
        from grailbench.device.gateway import cuda

        module, name = cls.where
        solver = getattr(import_module(f"{__package__}.{module}"), name)
        ready = solver(network, **(cls.made | made))
        cuda.synchronize()
        return ready


_PATHS = "edges once for each round in which their source got nearer"  #: the work of the two-phase shortest paths


def _listed(
    problem: str,
    name: str,
    where: tuple[str, str],
    source: str,
    text: str,
    cost: str,
    counts: tuple[str, ...] = ("launches",),
    rounds: int = 1,
    **made,
) -> None:
    """File an implementation under its name; `text` is its docstring."""
    body = {"problem": problem, "name": name, "where": where, "source": source, "cost": cost, "counts": counts}
    body |= {"rounds": rounds, "made": made, "__doc__": text, "__module__": __name__}
    register(type(where[1], (_OnGpu,), body))


_listed(
    "bfs",
    "level",
    ("levels", "ByLevel"),
    f"{REPORT}, algorithms 1-2",
    """A thread a vertex, a launch a level.

    In each launch every vertex is looked at: one whose distance is the current level gives its unreached children the
    next. The search ends with a level that reached nobody.""",
    "O(n) a level and every edge once",
    ("launches", "levels"),
)
_listed(
    "bfs",
    "queue",
    ("levels", "ByQueue"),
    f"{REPORT}, algorithms 3-4",
    """A queue filled by atomics.

    A thread a vertex of the frontier looks at its children; who claims one first, by an atomic exchange, appends it to
    the next frontier, at a place that an atomic counter gives. A launch a level.""",
    "every edge once, an atomic a vertex reached",
    ("launches", "levels", "pushed"),
)
_listed(
    "bfs",
    "scan",
    ("scanned", "ByScan"),
    f"{REPORT}, algorithms 5-9",
    """A queue filled through prefix sums.

    As `queue`, but places in the next frontier come from Blelloch's scan of how many children each vertex claimed,
    instead of from a counter that all share. Four launches a level.""",
    "every edge twice, a scan of the frontier a level",
    ("launches", "levels", "pushed"),
)
_listed(
    "bfs",
    "enterprise",
    ("enterprise", "ByEnterprise"),
    "Liu and Huang 2015",
    """Three queues by degree.

    The frontier is sorted into queues of few, some and many children, which a thread, a warp and a block a vertex work
    off. It is the frontier of `gpu`.""",
    "O(n) a level and every edge once",
    ("launches", "levels"),
)
_listed(
    "bfs",
    "fused",
    ("fused", "Fused"),
    "ours, after Beamer et al. 2012",
    """Both directions, all levels in one launch.

    A cooperative launch keeps a list of edge ranges of at most 128 edges, so that a hub is many. While the frontier is
    small its edges are pushed; when it has more than a fourteenth of the unexplored edges, unreached vertices look for
    a parent in it instead. A barrier of the whole grid ends a level, or of one block where the frontier is small.""",
    "every edge once or less, a barrier a level",
    ("launches", "levels", "bottom_up", "by_one_block"),
)
_listed(
    "sssp",
    "harish-racy",
    ("shortest", "TwoPhase"),
    f"{REPORT}, algorithms 10-12 as printed",
    """Loses updates: it is verified ten times, and is right by luck.

    Two launches a round, as `harish-atomic`, but to compare a new distance with the best and to write it are not one
    step, so that of two threads the worse may write last. Where a search was wrong it has no time.""",
    _PATHS,
    ("launches", "rounds"),
    rounds=10,
    atomic=False,
)
_listed(
    "sssp",
    "harish-atomic",
    ("shortest", "TwoPhase"),
    f"{REPORT}, algorithms 10-12, corrected",
    """Two launches a round, with an atomic minimum.

    A thread a vertex that got nearer in the last round offers its children the way through it, by an atomic minimum on
    a second array of distances; a second launch takes over what became less and marks it for the next round.""",
    _PATHS,
    ("launches", "rounds"),
)
for _factor in FACTORS:
    _listed(
        "sssp",
        f"coarsened-{_factor}",
        ("shortest", "TwoPhase"),
        f"{REPORT}, thread coarsening",
        f"""harish-atomic with {_factor} {"vertex" if _factor == 1 else "vertices"} a thread.

    Fewer threads with more work each; everything else is as in `harish-atomic`.""",
        _PATHS,
        ("launches", "rounds"),
        factor=_factor,
    )
_listed(
    "sssp",
    "near-far",
    ("nearfar", "NearFar"),
    "ours, after Davidson et al. 2014",
    """Near and far piles, one launch.

    Distances are settled in bands: vertices nearer than the band's end are worked off round by round, others wait on
    the far pile, from which the next band is dealt. One cooperative launch, with the list of edge ranges of the BFS
    `fused`; a band is 32 mean weights over the mean degree.""",
    "every edge a few times, a barrier a round",
    ("launches", "rounds", "bands", "by_one_block"),
)
_listed(
    "apsp",
    "sssp-each",
    ("shortest", "FromEach"),
    f"{REPORT}, algorithm 13",
    """harish-atomic from every vertex.

    One search after the other; the rows of the matrix are filled on the device.""",
    f"n searches of `harish-atomic`: {_PATHS}",
    ("launches", "rounds"),
)
_listed(
    "apsp",
    "floyd-warshall",
    ("allpairs", "FloydWarshall"),
    f"{REPORT}, Floyd-Warshall",
    """A thread a pair, a launch a pivot.

    For each pivot k every pair (i, j) takes the way i, k, j where that is shorter.""",
    "O(n^3), n launches; 4 n^2 bytes",
)
_listed(
    "apsp",
    "floyd-warshall-blocked",
    ("allpairs", "Blocked"),
    f"{REPORT}, tiling",
    """Three phases a tile.

    As `floyd-warshall`, 32 pivots at a time: the tile on the diagonal by itself, then those in its row and column, then
    all others, each in shared memory. Three launches a tile of the diagonal.""",
    "O(n^3), 3 n / 32 launches; 4 n^2 bytes",
)
