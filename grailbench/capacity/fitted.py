"""The constants that predictions use, and how far off these were: fitted to the recorded runs and kept in a file.

`python -m grailbench.capacity.fitted > grailbench/capacity/fitted.json` makes the file anew, which takes seconds and
needs the recorded runs of the checkout.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grailbench.capacity.model import Model, Part

_FILE = Path(__file__).with_name("fitted.json")


@dataclass(frozen=True)
class Fitted:
    """A model with its constants, and the check of its predictions.

    machine        whose runs it is fitted to
    graphs         of the check, each predicted by the others
    worst, median  absolute errors over the graphs
    """

    model: Model
    constants: tuple[float, ...]
    machine: str
    graphs: int
    worst: float
    median: float


@dataclass(frozen=True)
class Searches:
    """What queries ask of an index, as it was recorded: see `check.measured_searches`.

    easy   of a pair, by name of `Work`: the middle share over graphs where filters decide nearly all
    hard   likewise, the largest shares of random DAGs
    edges  that a pair scans in a random DAG of a million vertices, on the average over all pairs
    power  of the number of vertices with which they grow
    graphs random DAGs that this is fitted to
    worst  factor by which a graph was off, predicted by the others
    """

    easy: dict[str, float]
    hard: dict[str, float]
    edges: float
    power: float
    graphs: int
    worst: float

    def scanned(self, vertices: int) -> float:
        """Edges that a pair of a random DAG scans."""
        return self.edges * (vertices / 1e6) ** self.power


@cache
def _kept() -> dict:
    return json.loads(_FILE.read_text(encoding="utf-8"))


@cache
def model(name: str) -> Fitted:
    """The fitted model of that name in `check.POPULATIONS`."""
    kept = _kept()["models"][name]
    parts = tuple(Part(tuple(part["phases"]), tuple(part["terms"])) for part in kept["parts"])
    rest = {key: kept[key] for key in ("machine", "graphs", "worst", "median")}
    return Fitted(Model(name, parts), tuple(kept["constants"]), **rest)


@cache
def searches(impl: str) -> Searches:
    """Of `parallel` or `gpu-fused`."""
    return Searches(**_kept()["searches"][impl])


def elsewhere() -> float:
    """The largest factor between predicted and measured on a machine that no constant was fitted to."""
    return _kept()["elsewhere"]["factor"]


def made() -> dict:
    """The content of the file, from the recorded runs. Raises NothingMeasured without them."""
    from grailbench.capacity import check

    models = {}
    for name, population in check.POPULATIONS.items():
        errors = sorted(abs(line.error) for line in check.checked() if line.model == name)
        models[name] = {
            "machine": population.machine,
            "parts": [{"phases": part.phases, "terms": part.terms} for part in population.model.parts],
            "constants": [_rounded(each) for each in check.constants(name)],
            "graphs": len(errors),
            "worst": round(errors[-1], 3),
            "median": round(errors[len(errors) // 2], 3),
        }
    factors = [max(1 + line.error, 1 / (1 + line.error)) for line in check.carried()]
    searches = {impl: check.measured_searches(impl) for impl in (check.CPU, check.GPU)}
    elsewhere = {"factor": round(max(factors), 2), "graphs": len(factors), "machine": check.ELSEWHERE[0].machine}
    return {"models": models, "elsewhere": elsewhere, "searches": searches}


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


if __name__ == "__main__":
    print(json.dumps(made(), indent=1))
