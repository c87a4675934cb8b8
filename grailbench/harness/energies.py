"""The energy of a cell, by phase and meter: the field `energy` of its rows, of all versions, checked and typed.

{"phases": {PHASE: {"seconds": s, "calls": n, "meters": {METER: READING or {"reason": why it was not read}}}}}, where a
phase may be {"reason": ...} as a whole, and a READING is {"joules": J, "idle_watts": W, "resolution": share}; or
{"reason": ...} where nothing of the cell could be read. Older rows have one phase, the last of the problem, by the
meter of a GPU: {"joules": J, "seconds": s, "calls": n, "idle_watts": W}. All are of one call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grailbench.cuda.energy import Energy, Reading

#: meters, in the order of tables, with what they count; `cuda.energy.find_meters` finds them
METERS = {
    "gpu": "the board of each GPU that is used",
    "cpu": "all packages of the host",
    "dram": "the host's memory",
    "psys": "the whole platform, with packages and memory",
}
SUMMED = ("gpu", "cpu", "dram")  #: those that count nothing twice
_OLD = ("joules", "seconds", "calls", "idle_watts")


@dataclass(frozen=True)
class Energies:
    """The energy of a cell.

    phases   what one call of a phase took, by its name
    reasons  why other phases have none
    reason   why nothing of it was measured, else ''
    """

    phases: Mapping[str, Energy] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""

    @classmethod
    def of(cls, record: Mapping[str, Any], last: str) -> Energies:
        """Those of a field `energy` that `fits`; `last` is the last phase of the problem."""
        if "joules" in record:
            reading = Reading(record["joules"], record["idle_watts"])
            return cls({last: Energy(record["seconds"], record["calls"], {"gpu": reading})})
        found = {phase: each for phase, each in record.get("phases", {}).items() if "reason" not in each}
        reasons = {phase: each["reason"] for phase, each in record.get("phases", {}).items() if "reason" in each}
        return cls({phase: _energy(each) for phase, each in found.items()}, reasons, record.get("reason", ""))

    def joules(self, phase: str, meter: str | None = None) -> float | None:
        """The joules of a phase by a meter, or by all of `SUMMED` that could be read; None without."""
        return self._sum(phase, meter, "joules")

    def idle_watts(self, phase: str, meter: str | None = None) -> float | None:
        """The idle power before a phase, by the same meters."""
        return self._sum(phase, meter, "idle_watts")

    def above_idle(self, phase: str, meter: str | None = None) -> float | None:
        """The joules of a phase without what the same devices take in its time when they are idle."""
        joules, watts = self.joules(phase, meter), self.idle_watts(phase, meter)
        return None if joules is None or watts is None else joules - watts * self.phases[phase].seconds

    def watts(self, phase: str, meter: str | None = None) -> float | None:
        """The mean power in a phase."""
        joules = self.joules(phase, meter)
        seconds = self.phases[phase].seconds if joules is not None else 0
        return joules / seconds if seconds else None

    def meters(self, phase: str) -> tuple[str, ...]:
        """The meters whose joules are added for a phase."""
        read = self.phases[phase].meters if phase in self.phases else ()
        return tuple(meter for meter in SUMMED if meter in read)

    def why(self, phase: str) -> str:
        """Why a phase has no joules, or is without those of a meter; '' if nothing is missing."""
        if phase not in self.phases:
            return self.reasons.get(phase, self.reason)
        unread = self.phases[phase].unread
        return "; ".join(f"without {METERS[meter]}: {unread[meter]}" for meter in ("gpu", "cpu") if meter in unread)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The phases that it says something of."""
        return (*self.phases, *self.reasons)

    def _sum(self, phase: str, meter: str | None, what: str) -> float | None:
        if phase not in self.phases:
            return None
        read = self.phases[phase].meters
        found = [getattr(read[each], what) for each in (SUMMED if meter is None else (meter,)) if each in read]
        return sum(found) if found else None


def _energy(record: Mapping[str, Any]) -> Energy:
    read = {name: Reading(**each) for name, each in record["meters"].items() if "reason" not in each}
    unread = {name: each["reason"] for name, each in record["meters"].items() if "reason" in each}
    return Energy(record["seconds"], record["calls"], read, unread)


def fits(value: Any) -> bool:
    """Whether a value may stand in the field `energy` of a row."""
    if not isinstance(value, dict):
        return False
    if "phases" in value:
        phases = value["phases"]
        return (
            [*value] == ["phases"] and isinstance(phases, dict) and bool(phases) and all(map(_phase, phases.values()))
        )
    return _reason(value) or _numbers(value, _OLD)


def _phase(value: Any) -> bool:
    if _reason(value):
        return True
    if not isinstance(value, dict) or set(value) != {"seconds", "calls", "meters"}:
        return False
    meters = value["meters"]
    known = isinstance(meters, dict) and set(meters) <= set(METERS)
    calls = whole(value["calls"]) and value["calls"] > 0
    return known and calls and not_negative(value["seconds"]) and all(map(_meter, meters.values()))


def _meter(value: Any) -> bool:
    return _reason(value) or _numbers(value, ("joules", "idle_watts", "resolution"))


def _reason(value: Any) -> bool:
    return isinstance(value, dict) and [*value] == ["reason"] and isinstance(value["reason"], str)


def _numbers(value: Any, names: Iterable[str]) -> bool:
    return isinstance(value, dict) and set(value) == {*names} and all(map(not_negative, value.values()))


def number(value: Any) -> bool:
    """Whether a value may stand where rows have a number."""
    return type(value) in (int, float) and abs(value) < 2**63 and math.isfinite(value)


def not_negative(value: Any) -> bool:
    """Whether a value may stand where rows have a time or an amount."""
    return number(value) and value >= 0


def whole(value: Any) -> bool:
    """Whether a value may stand where rows have a count."""
    return type(value) is int and 0 <= value < 2**63
