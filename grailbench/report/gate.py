"""The gate of a comparison: what a time may grow by before it is a regression, from a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from grailbench import settings
from grailbench.errors import InputError
from grailbench.words import did_you_mean

KINDS = ("synthetic", "imported")  #: the sets of graphs that are in none of the registry's

Ratio = Annotated[float, Field(gt=1.0, le=1000.0)]
Ms = Annotated[float, Field(ge=0.0, le=1e9)]


class Allowed(BaseModel):
    """What is allowed on the graphs of one set; None is what the gate says for all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ratio: Ratio | None = None
    across: Ratio | None = None
    least_ms: Ms | None = None


def _bare(value):
    return {"ratio": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class Gate(BaseModel):
    """A gate file's keys.

    ratio       new / base that is still no regression, both of one machine
    across      the same for times in units of the reference, when the machines differ or `times` is 'reference'
    least_ms    differences below this are the clock's and the caches', whatever their ratio
    reference   the implementation whose times of the same run are the unit
    metrics     phases that are compared: 'label', or 'label/NAME' for a phase within
    times       'auto': ms on one machine, else by the reference; 'reference': always by it; 'none': counters alone
    require_all whether a cell or counter that only one of the runs has is a regression; else it is listed, and no more
    sets        ratio, across, least_ms by set of graphs (or 'synthetic', 'imported'); a bare number is a ratio
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ratio: Ratio = 1.10
    across: Ratio = 2.0
    least_ms: Ms = 0.05
    reference: str | None = None
    metrics: Annotated[list[str], Field(min_length=1)] = ["label", "query", "ready", "solve"]
    times: Literal["auto", "reference", "none"] = "auto"
    require_all: bool = False
    sets: dict[str, Annotated[Allowed, BeforeValidator(_bare)]] = {}

    def allowed(self, group: str | None) -> Allowed:
        """Ratio, across and least_ms on the graphs of a set."""
        own = self.sets.get(group) if group is not None else None
        chosen = {} if own is None else own.model_dump(exclude_none=True)
        return Allowed(**{"ratio": self.ratio, "across": self.across, "least_ms": self.least_ms, **chosen})


def load_gate(path: str | Path) -> Gate:
    """Read a gate file. Raises InputError naming file and line or key."""
    from grailbench.datasets.registry import sets

    path = Path(path)
    gate = settings.read(path, Gate)
    known = (*sets(), *KINDS)
    for name in gate.sets:
        if name not in known:
            remedy = did_you_mean(name, known, most=1, show=repr)
            raise InputError(f"key 'sets': no set is named {name!r}", path=path, remedy=remedy)
    return gate
