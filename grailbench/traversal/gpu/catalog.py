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


def _listed(problem: str, name: str, where: tuple[str, str], source: str, text: str, rounds: int = 1, **made) -> None:
    body = {"problem": problem, "name": name, "where": where, "source": source, "rounds": rounds, "made": made}
    register(type(where[1], (_OnGpu,), {**body, "__doc__": text, "__module__": __name__}))


_listed("bfs", "level", ("levels", "ByLevel"), f"{REPORT}, algorithms 1-2", "A thread a vertex, a launch a level.")
_listed("bfs", "queue", ("levels", "ByQueue"), f"{REPORT}, algorithms 3-4", "A queue filled by atomics.")
_listed("bfs", "scan", ("scanned", "ByScan"), f"{REPORT}, algorithms 5-9", "A queue filled through prefix sums.")
_listed("bfs", "enterprise", ("enterprise", "ByEnterprise"), "Liu and Huang 2015", "Three queues by degree.")
_listed(
    "bfs", "fused", ("fused", "Fused"), "ours, after Beamer et al. 2012", "Both directions, all levels in one launch."
)
_listed(
    "sssp",
    "harish-racy",
    ("shortest", "TwoPhase"),
    f"{REPORT}, algorithms 10-12 as printed",
    "Loses updates: it is verified ten times, and is right by luck.",
    rounds=10,
    atomic=False,
)
_listed("sssp", "harish-atomic", ("shortest", "TwoPhase"), f"{REPORT}, algorithms 10-12, corrected", "Atomic minimum.")
for _factor in FACTORS:
    _listed(
        "sssp",
        f"coarsened-{_factor}",
        ("shortest", "TwoPhase"),
        f"{REPORT}, thread coarsening",
        f"harish-atomic with {_factor} vertices a thread.",
        factor=_factor,
    )
_listed(
    "sssp", "near-far", ("nearfar", "NearFar"), "ours, after Davidson et al. 2014", "Near and far piles, one launch."
)
_listed("apsp", "sssp-each", ("shortest", "FromEach"), f"{REPORT}, algorithm 13", "harish-atomic from every vertex.")
_listed(
    "apsp", "floyd-warshall", ("allpairs", "FloydWarshall"), f"{REPORT}, Floyd-Warshall", "A thread a pair and pivot."
)
_listed("apsp", "floyd-warshall-blocked", ("allpairs", "Blocked"), f"{REPORT}, tiling", "Three phases a tile.")
