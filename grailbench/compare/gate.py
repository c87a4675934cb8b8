"""The gate of a comparison, from a TOML file: how much a time may grow before it is a regression."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from grailbench.util import settings

Ratio = Annotated[float, Field(gt=1.0, le=1000.0)]
Ms = Annotated[float, Field(ge=0.0, le=1e9)]


class Gate(BaseModel):
    """A gate file's keys.

    ratio       the largest new / base that is not a regression, for two runs on one machine
    across      the same for times in units of the reference, if the machines differ or `times` is 'reference'
    least_ms    a smaller difference is noise of clock and caches, whatever its ratio
    reference   the implementation whose times in the same run are the unit
    metrics     phases to compare: 'label', or 'label/NAME' for a phase within it
    times       'auto': ms on one machine, else the reference; 'reference': always the reference; 'none': only counters
    require_all True if a cell or counter that only one run has is a regression; otherwise it is only listed
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ratio: Ratio = 1.10
    across: Ratio = 2.0
    least_ms: Ms = 0.05
    reference: str | None = None
    metrics: Annotated[list[str], Field(min_length=1)] = ["label", "query", "ready", "solve"]
    times: Literal["auto", "reference", "none"] = "auto"
    require_all: bool = False


def load_gate(path: str | Path) -> Gate:
    """Read a gate file. Raises InputError, with the file and the line or key, if it is invalid."""
    return settings.read(Path(path), Gate)
