"""The gate of a comparison: what a time may grow by before it is a regression, from a TOML file."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from grailbench.errors import InputError
from grailbench.files import read_text

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
    try:
        raw = tomllib.loads(read_text(path))
    except FileNotFoundError:
        raise InputError("there is no such gate file", path=path) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        raise InputError(f"not TOML: {error}", path=path, line=int(at[1]) if at else None) from None
    try:
        gate = Gate.model_validate(raw)
    except ValidationError as error:
        raise InputError(_explain(error), path=path) from None
    known = (*sets(), *KINDS)
    for name in gate.sets:
        if name not in known:
            raise InputError(f"key 'sets': no set is named {name!r}", path=path, remedy=_near(name, known))
    return gate


def _explain(error: ValidationError) -> str:
    """The first problem, unknown keys before others, in words that name the key."""
    first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = Gate.model_fields if len(first["loc"]) == 1 else Allowed.model_fields
        return f"key {key!r}: unknown; {_near(str(first['loc'][-1]), known)}"
    return f"key {key!r}: {first['msg']}, got {first['input']!r}"


def _near(name: str, known) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
