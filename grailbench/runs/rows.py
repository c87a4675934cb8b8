"""What a measurement row is: its fields and their types, its checksum, and what rows of one cell must agree on.

A row that was written since format 2 carries `sum`, a hash of all its other fields, so that a changed character shows.
Rows of older runs have none and are read unchecked, but for what contradicts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from grailbench.contract import PROBLEMS, USUAL, Problem, problem
from grailbench.errors import InputError
from grailbench.records import opened
from grailbench.runs import axes

FORMAT = 2  #: of a run, in its plan; 1, which is not written down, is that of runs whose rows have no checksums
MEMORY = ("host_peak_bytes", "device_peak_bytes")

_EARLY, _LATE = (tuple(axis.name for axis in axes.AXES if axis.late == late) for late in (False, True))
_CELL = ("dataset", "impl", *_EARLY, "seed", "query_set")  # what rows of every version have

#: what a row holds; None where it does not apply. host_peak_bytes: resident at most, of a cell in a process of its
#: own; device_peak_bytes: of our arrays (`bench.peaks`). roots: without the super-root; read_ms: from the graph in the
#: cache to arrays in memory, of a cell in a process of its own
FIELDS = (
    "run", "dataset", "kind", "stands_for", "impl", *_EARLY, "seed", "query_set", "phase", "under", "trial", "planned",
    "ms", "positives", "queries", "status", "reason", "verified", "checksum", "index_bytes", "counters", "vertices",
    "edges", "graph_sha256", "key", "at", *MEMORY, "problem", "rate", "roots", "read_ms", *_LATE,
)  # fmt: skip
#: statuses of a cell, from harmless to grave
STATUSES = ("ok", "sampled", "incomplete", "skipped", "timeout", "out of memory", "failed", "wrong")
SOUND = ("ok", "sampled", "incomplete")  #: those whose times may be shown
_NONE_OF_A_ROW = ("sampled", "incomplete")  #: statuses that a cell has for what its rows are together
STANDS_ON = ("status", "reason", "phase", "under", "planned", "verified", "queries")  #: what `standing` reads
_SAMPLE = re.compile(r"(?:sample|search) of ([\d,]+)")  # rows of older versions have 'search'

_SURE = ("dataset", "impl", "key", "status")  # never None
_NUMBERS = ("ms", "rate", "read_ms")
_WHOLE = (*(axis.name for axis in axes.AXES if axis.number), "seed", "trial", "planned", "positives", "queries",
          "index_bytes", "vertices", "edges", "roots", *MEMORY)  # fmt: skip
#: phases that every trial of a cell has when one has it
_ALWAYS = ("label", "prepare", "ready")
#: fields that are the same in all rows of a key that have them
_SHARED = ("checksum", "positives", "queries", "graph_sha256", "vertices", "edges")
_AGAIN = "take the rows of its trial out of the file, and --resume measures it again"


def cell_of(row: Mapping) -> tuple:
    """What names a row's cell: problem, graph, implementation, its axes, seed and query set. Rows without a problem are
    of the usual one."""
    get = row.get
    problem = get("problem") or USUAL
    return (problem, row["dataset"], row["impl"], *map(get, axes.NAMES), get("seed"), get("query_set"))


def problem_of(row: Mapping) -> Problem:
    """The problem of a row. Raises InputError for one that is not known here."""
    return problem(row.get("problem") or USUAL)


def ends_trial(row: Mapping) -> bool:
    """True for the last row of a trial: that of the problem's last phase."""
    return not row["under"] and row["phase"] == problem_of(row).phases[-1]


def standing(rows: Iterable[Mapping], planned: int | None = None) -> tuple[str, str]:
    """Status of a cell and the reason for it, '' for none, from its rows that count; every reader has it from here.

    It is the gravest status of its rows, as `STATUSES` has them; where all are 'ok', 'incomplete' when there are fewer
    whole trials than the rows say were planned, or `planned` where they do not say; and 'sampled', whatever its trials,
    when not all of its answers were checked.
    """
    status, reason, trials, wanted, checked = "ok", "", 0, None, ""
    for row in rows:
        if not checked and (checked := sampled(row.get("verified"))):
            checked += f" of {row['queries']:,}" if row.get("queries") else ""
        own = row["status"]
        if STATUSES.index(own) > STATUSES.index(status):
            status, reason = own, ""
        if own == status:
            reason = reason or row.get("reason") or ""
        trials += own == "ok" and ends_trial(row)
        if row.get("planned") is not None:
            wanted = max(wanted or 0, row["planned"])
    wanted = planned if wanted is None else wanted
    if status == "ok" and wanted is not None and trials < wanted:
        status, reason = "incomplete", f"{trials} of {wanted} trials"
    if status in SOUND and checked:
        return "sampled", f"{checked} answers checked{', ' if reason else ''}{reason}"
    return status, reason


def sampled(verified: str | None) -> str:
    """How many answers were checked ('1,000') of a row whose `verified` says that they were not all; '' of others."""
    found = _SAMPLE.fullmatch(verified or "")
    return found[1] if found else ""


# ------------------------------------------------------------------ reading


def parse(line: bytes) -> tuple[dict, bool]:
    """A row with every field, without its checksum, and whether it had one. Raises ValueError with what is wrong."""
    row, had = opened(line)
    for name in (*_CELL, "status", "key", "phase"):
        if name not in row:
            raise ValueError(f"field {name!r} is missing")
    for name, fits in _FITS.items():
        value = row.get(name)
        if not (fits(value) if value is not None else name not in _SURE):
            raise ValueError(f"field {name!r} cannot be {_shown(value)}")
    if row["phase"] is not None and None in (row.get("trial"), row.get("ms")):
        raise ValueError(f"phase {row['phase']!r} without a trial or a time")
    return dict.fromkeys(FIELDS) | {"under": ""} | row, had


def _text(value) -> bool:
    return isinstance(value, str)


def _status(value) -> bool:
    return isinstance(value, str) and value in STATUSES and value != "incomplete"


def _whole(value) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _positive(value) -> bool:
    return _number(value) and value >= 0


def _counters(value) -> bool:
    return isinstance(value, dict) and all(map(_number, value.values()))


def _number(value) -> bool:
    return type(value) in (int, float) and abs(value) < 2**63 and math.isfinite(value)


def _shown(value) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


_OTHERS = {"status": _status, "counters": _counters}
#: what each field may hold
_FITS = {
    name: _whole if name in _WHOLE else _positive if name in _NUMBERS else _OTHERS.get(name, _text) for name in FIELDS
}


def parse_all(lines: Iterable[bytes], path, sums: bool) -> list[dict]:
    """The rows of whole lines, without their checksums. `sums`: each must have one.

    Raises InputError naming the line that is no row or was changed, or contradicts another.
    """
    rows, having = [], []
    for number, line in enumerate(lines, 1):
        try:
            row, had = parse(line)
        except ValueError as error:
            raise InputError(f"is no measurement row: {error}", path=path, line=number, remedy=_AGAIN) from None
        if (named := row["problem"] or USUAL) not in PROBLEMS:
            what = f"is a row of problem {named!r}, which this grailbench does not know"
            raise InputError(what, path=path, line=number, remedy="read it with the one that measured it")
        rows.append(row)
        having.append(had)
    if not all(having) and (sums or any(having)):
        number = having.index(False) + 1
        raise InputError("is no measurement row: its checksum is missing", path=path, line=number, remedy=_AGAIN)
    _agree(rows, path)
    return rows


def _agree(rows: list[dict], path) -> None:
    """Raise InputError naming the line that says other than an earlier one of its key."""
    first: dict[str, tuple[int, tuple]] = {}  # key: line of its first row, and the cell
    said: dict[tuple, int] = {}  # what was said of a key, or measured: the line
    phases: dict[str, tuple[set, int]] = {}  # key: phases of its first trial, and the line of its end
    trial: list[dict] = []  # rows of a trial so far

    def fault(number: int, what: str, before: int | None = None):
        beside = "" if before is None else f", unlike line {before}"
        return InputError(f"contradicts the other rows of its cell: {what}{beside}", path=path, line=number,
                          remedy=_AGAIN)  # fmt: skip

    for number, row in enumerate(rows, 1):
        key = row["key"]
        own = cell_of(row)
        start, cell = first.setdefault(key, (number, own))
        if own != cell:
            raise fault(number, "another configuration", start)
        counted = ("counters",) if problem_of(row).exact else ()
        for name in (*_SHARED, *counted):
            if row.get(name) is not None and row["status"] == "ok":
                at = said.setdefault((key, name), number)
                if rows[at - 1][name] != row[name]:
                    raise fault(number, f"{name} {_shown(row[name])}", at)
        if trial and (trial[0]["key"], trial[0]["trial"]) != (key, row["trial"]):
            raise fault(number - 1, f"trial {trial[0]['trial']} has no end")
        if row["phase"] is None:
            once = (key, row.get("at"), row["status"], row.get("reason"))
            if row.get("at") is not None and said.setdefault(once, number) != number:
                raise fault(number, "the same row again", said[once])
            continue
        if row.get("planned") is not None and row["trial"] >= row["planned"]:
            raise fault(number, f"trial {row['trial']} of {row['planned']}, counted from 0")
        once = (key, row["trial"], row["under"], row["phase"])
        if (at := said.setdefault(once, number)) != number:
            raise fault(number, f"trial {row['trial']} has phase {row['phase']!r} again", at)
        trial.append(row)
        if ends_trial(row):
            top = {each["phase"] for each in trial if not each["under"]} & set(_ALWAYS)
            expected, at = phases.setdefault(key, (top, number))
            if top != expected:
                raise fault(number, f"trial {row['trial']} has other phases", at)
            trial = []
