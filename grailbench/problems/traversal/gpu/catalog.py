"""The registered traversals on a GPU. Importing this module imports no CUDA module."""

from importlib import import_module
from typing import ClassVar

from grailbench.problems.traversal.index import Implementation, Network, Params, Solver, Timer, register

REPORT = "Pathak et al., Accelerating large graph algorithms on GPU using CUDA"
FACTORS = (1, 2, 4, 8, 16)


class _OnGpu(Implementation):
    """`where` names the module (in this package) and the class of the solver, `made` its further arguments."""

    needs = ("gpu",)
    where: ClassVar[tuple[str, str]]
    made: ClassVar[dict] = {}

    @classmethod
    def prepare(cls, network: Network, params: Params, timer: Timer, **made) -> Solver:
        """Uploads the network and allocates; `made` here overrides the class's further arguments."""
        cls.require()
        from grailbench.cuda.gateway import cuda

        module, name = cls.where
        solver = getattr(import_module(f"{__package__}.{module}"), name)
        ready = solver(network, **(cls.made | made))
        cuda.synchronize()
        return ready


_PATHS = "edges once for each round in which their source got nearer"  #: the work of the two-phase shortest paths
_LEVELS, _ROUNDS = ("launches", "levels"), ("launches", "rounds")


def _listed(
    problem, name, where, source, cost, counts, what: str, steps: str, rounds: int = 1, varying=(), **made
) -> None:
    """Registers an implementation; its docstring is `what`, a blank line, and `steps`. Several rounds: it is racy."""
    body = {"problem": problem, "name": name, "where": where, "source": source, "cost": cost, "counts": counts}
    body |= {"rounds": rounds, "racy": rounds > 1, "varying": varying}
    body |= {"made": made, "__doc__": f"{what}\n\n{steps}", "__module__": __name__}
    register(type(where[1], (_OnGpu,), body))


_listed(
    "bfs", "level", ("levels", "ByLevel"), f"{REPORT}, algorithms 1-2", "O(n) a level and every edge once", _LEVELS,
    "One thread per vertex, one launch per level.",
    "Each launch looks at every vertex: one whose distance is the current level gives its unreached children the next "
    "distance. The search ends with a level that reaches no vertex.",
)  # fmt: skip
_listed(
    "bfs", "queue", ("levels", "ByQueue"), f"{REPORT}, algorithms 3-4",
    "every edge once, one atomic per vertex reached", (*_LEVELS, "pushed"), "A queue filled by atomics.",
    "One thread per vertex of the frontier looks at its children. The first thread to claim a child, by an atomic "
    "minimum, appends it to the next frontier, at a place that an atomic counter gives. One launch per level.",
)  # fmt: skip
_listed(
    "bfs", "scan", ("levels", "ByScan"), f"{REPORT}, algorithms 5-9",
    "every edge twice, a scan of the frontier per level", (*_LEVELS, "pushed"), "A queue filled through prefix sums.",
    "As `queue`, but Blelloch's scan of how many children each vertex claimed gives the places in the next frontier, "
    "instead of one shared counter. Four launches per level.",
)  # fmt: skip
_listed(
    "bfs", "enterprise", ("levels", "ByEnterprise"), "Liu and Huang 2015", "O(n) a level and every edge once", _LEVELS,
    "Three queues by degree.",
    "The frontier is sorted into queues of few, some and many children. A vertex of the first is expanded by a thread, "
    "of the second by a warp, of the third by a block. It is the frontier of `gpu`.",
)  # fmt: skip
_listed(
    "bfs", "fused", ("fused", "Fused"), "ours, after Beamer et al. 2012",
    "every edge once or less, one barrier per level", (*_LEVELS, "bottom_up", "by_one_block"),
    "Both directions, all levels in one launch.",
    "A cooperative launch keeps a list of ranges of at most 128 edges, into which the rows of hubs are split. While "
    "the frontier is small its edges are pushed; when it has more than a fourteenth of the unexplored edges, "
    "unreached vertices look for a parent in it instead. A barrier of the whole grid ends a level, or of one block "
    "where the frontier is small.",
)  # fmt: skip
_listed(
    "bfs", "fused-many", ("many", "Many"), "ours, after Then et al. 2014 and Liu et al. 2016 (iBFS)",
    "O((n + m) k / 64) words a level at most for k sources, two barriers per level; 3 words a vertex and 64 sources",
    (*_LEVELS, "bottom_up"), "All sources at once, up to 4,096 as bits, all levels in one launch.",
    "The searches that come to a vertex at the same level go on together: its edges are looked at once for all of "
    "them. Where few edges leave a level it is pushed by atomics, else vertices that some source has not reached pull. "
    "What is counted of each search stays on the device; distances are kept only for the check and from edges. As many "
    "sources are searched at a time as half of the free memory has bits for.",
)  # fmt: skip
_listed(
    "sssp", "harish-racy", ("shortest", "TwoPhase"), f"{REPORT}, algorithms 10-12 as printed", _PATHS, _ROUNDS,
    "Loses updates: it is verified ten times, and is right by luck.",
    "Two launches per round, as `harish-atomic`, but a new distance is compared and written in two steps, so that "
    "of two threads the worse may write last. A search that was wrong gets no time.",
    rounds=10, varying=_ROUNDS, atomic=False,
)  # fmt: skip
_listed(
    "sssp", "harish-atomic", ("shortest", "TwoPhase"), f"{REPORT}, algorithms 10-12, corrected", _PATHS, _ROUNDS,
    "Two launches per round, with an atomic minimum.",
    "One thread per vertex that got nearer in the last round offers its children the path through it, by an atomic "
    "minimum on a second array of distances. A second launch copies the distances that became less and marks their "
    "vertices for the next round.",
)  # fmt: skip
for _factor in FACTORS:
    _listed(
        "sssp", f"coarsened-{_factor}", ("shortest", "TwoPhase"), f"{REPORT}, thread coarsening", _PATHS, _ROUNDS,
        f"harish-atomic with {_factor} {'vertex' if _factor == 1 else 'vertices'} per thread.",
        "Fewer threads with more work each; everything else is as in `harish-atomic`.", factor=_factor,
    )  # fmt: skip
_listed(
    "sssp",
    "near-far",
    ("nearfar", "NearFar"),
    "ours, after Davidson et al. 2014",
    "every edge a few times, a barrier per band and one of a block per step",
    (*_ROUNDS, "bands", "by_blocks"),
    "Near and far piles, one launch.",
    "Distances are settled in bands: vertices nearer than the band's end are expanded, others wait on the far pile, "
    "from which the next band is taken. One cooperative launch; while bands are thin, each block expands its share "
    "and what that leads to by itself, else all share the list of edge ranges of the BFS `fused`, round by round. The "
    "width of a band is 32 mean weights over the mean degree.",
    varying=("rounds", "bands", "by_blocks"),  # a distance that is read late costs another round, and no answer
)
_listed(
    "apsp", "sssp-each", ("shortest", "FromEach"), f"{REPORT}, algorithm 13",
    f"n searches of `harish-atomic`: {_PATHS}", _ROUNDS, "harish-atomic from every vertex.",
    "One search after the other; the rows of the matrix are filled on the device.",
)  # fmt: skip
_listed(
    "apsp", "floyd-warshall", ("shortest", "FloydWarshall"), f"{REPORT}, Floyd-Warshall",
    "O(n^3), n launches; 4 n^2 bytes", ("launches",), "One thread per pair, one launch per pivot.",
    "For each pivot k every pair (i, j) takes the path over k where that is shorter.",
)  # fmt: skip
_listed(
    "apsp", "floyd-warshall-blocked", ("shortest", "Blocked"), f"{REPORT}, tiling",
    "O(n^3), 3 n / 32 launches; 4 n^2 bytes", ("launches",), "Three phases per tile.",
    "As `floyd-warshall`, 32 pivots at a time: the tile on the diagonal by itself, then those in its row and column, "
    "then all others, each in shared memory. Three launches per diagonal tile.",
)  # fmt: skip
_listed(
    "apsp", "floyd-warshall-registers", ("shortest", "InRegisters"), "ours, after Katz and Kider 2008",
    "O(n^3), 3 n / 64 launches; 4 n^2 bytes", ("launches",), "Tiles that stay in registers, 64 pivots a step.",
    "As `floyd-warshall-blocked`, but a thread has 16 rows of 4 entries each, which it loads once a step and keeps in "
    "registers; pivots' rows and columns come from shared memory, 32 pivots at a time. The pivots' rows are multiplied "
    "by the closed tile on the diagonal, and all other rows by them: products, which need no barrier per pivot.",
)  # fmt: skip
