"""The gate of a comparison, from a TOML file: how much a time may grow before it is a regression."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from grailbench.errors import InputError
from grailbench.util import settings
from grailbench.util.words import did_you_mean

KINDS = ("synthetic", "imported")  #: names of the sets of graphs that are not in the registry

Ratio = Annotated[float, Field(gt=1.0, le=1000.0)]
Ms = Annotated[float, Field(ge=0.0, le=1e9)]


class Allowed(BaseModel):
    """Limits for the graphs of one set; None stands for the gate's own limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ratio: Ratio | None = None
    across: Ratio | None = None
    least_ms: Ms | None = None


def _bare(value):
    return {"ratio": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class Gate(BaseModel):
    """A gate file's keys.

    ratio       the largest new / base that is not a regression, for two runs on one machine
    across      the same for times in units of the reference, if the machines differ or `times` is 'reference'
    least_ms    a smaller difference is noise of clock and caches, whatever its ratio
    reference   the implementation whose times in the same run are the unit
    metrics     phases to compare: 'label', or 'label/NAME' for a phase within it
    times       'auto': ms on one machine, else the reference; 'reference': always the reference; 'none': only counters
    require_all True if a cell or counter that only one run has is a regression; otherwise it is only listed
    sets        ratio, across and least_ms by set of graphs (or 'synthetic', 'imported'); a number alone is the ratio
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
    """Read a gate file. Raises InputError, with the file and the line or key, if it is invalid."""
    from grailbench.data.registry import sets

    path = Path(path)
    gate = settings.read(path, Gate)
    known = (*sets(), *KINDS)
    for name in gate.sets:
        if name not in known:
            remedy = did_you_mean(name, known, most=1, show=repr)
            raise InputError(f"key 'sets': no set is named {name!r}", path=path, remedy=remedy)
    return gate
