"""Measurement rows: their fields and types, their checksum, and the fields that must agree in all rows of a cell.

Since format 2, a row has `sum`, a hash of all its other fields, so that changes are detected. Rows of older runs have
none and are only checked for contradictions.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

from grailbench.errors import InputError
from grailbench.harness import axes, energies
from grailbench.harness.axes import EARLY, LATE
from grailbench.problems.contract import PROBLEMS, USUAL, Problem, problem
from grailbench.util.records import opened

Key, Item = TypeVar("Key", bound=Hashable), TypeVar("Item")
FORMAT = 2  #: the format of a run, stored in its plan; format 1, which is not stored, has rows without checksums
MEMORY = ("host_peak_bytes", "device_peak_bytes")

_CELL = ("dataset", "impl", *EARLY, "seed", "query_set")  # fields of rows of every version

#: the fields of a row; None where one does not apply. host_peak_bytes: peak resident memory of a cell with its own
#: process; device_peak_bytes: peak memory of device arrays (`harness.peaks`); roots: without the super-root; read_ms:
#: time from the graph in the cache to arrays in memory, for a cell with its own process; raw_edges: those of the file,
#: for a cell timed from edges; others: cores that other programs took meanwhile (`harness.load`); energy: in a row
#: after the trials of a cell of which it was asked, see `energies`
FIELDS = (
    "run", "dataset", "kind", "stands_for", "impl", *EARLY, "seed", "query_set", "phase", "under", "trial", "planned",
    "ms", "positives", "queries", "status", "reason", "verified", "checksum", "index_bytes", "counters", "vertices",
    "edges", "graph_sha256", "key", "at", *MEMORY, "problem", "rate", "roots", "read_ms", "raw_edges", *LATE, "energy",
    "others",
)  # fmt: skip
WORKER = "worker"  #: a field of rows that were measured on a worker: a key of `workers` in the environment of their run
DISTRIBUTION = "distribution"  #: a field of rows of plug-ins: distribution and version, 'bitclosure 0.1'
#: statuses of a cell, from best to worst
STATUSES = ("ok", "sampled", "incomplete", "skipped", "timeout", "out of memory", "failed", "wrong")
TIMED = ("ok", "sampled", "incomplete")  #: those whose times may be shown
_SAMPLE = re.compile(r"(?:sample|search) of ([\d,]+)")  # rows of older versions have 'search'

_PART = re.compile(r"(.+)-first-(\d+)")  # names of the first pairs of a query set

_ALWAYS = (*_CELL, "status", "key", "phase")  # in every row
_REQUIRED = ("dataset", "impl", "key", "status")  # and never None
_BLANK = dict.fromkeys(FIELDS) | {"under": ""}
_NUMBERS = ("ms", "rate", "read_ms", "others")
_INTEGERS = (*(axis.name for axis in axes.AXES if axis.number), "seed", "trial", "planned", "positives", "queries",
             "index_bytes", "vertices", "edges", "roots", "raw_edges", *MEMORY)  # fmt: skip
#: phases that all trials of a cell have if one of them has it
_CONSTANT_PHASES = ("label", "prepare", "ready")
#: fields with equal values in all rows of a key that have them
_SHARED = ("checksum", "positives", "queries", "graph_sha256", "vertices", "edges")
_AGAIN = "take the rows of its trial out of the file, and --resume measures it again"


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Rows, or other things, by a key, in the order in which the keys first occur."""
    groups: dict[Key, list[Item]] = {}
    for each in items:
        groups.setdefault(key(each), []).append(each)
    return groups


def cell_of(row: Mapping) -> tuple:
    """The key of the cell of a row: problem, graph, implementation, axes, seed and query set.

    Rows without a problem belong to the default problem.
    """
    get = row.get
    problem = get("problem") or USUAL
    return (problem, row["dataset"], row["impl"], *map(get, axes.NAMES), get("seed"), get("query_set"))


def part_of(query_set: str) -> tuple[str, int | None]:
    """The query set of that name, and None; for the first pairs of one, as a slow cell is asked, the name of the whole
    set and how many pairs."""
    found = _PART.fullmatch(query_set)
    return (found[1], int(found[2])) if found else (query_set, None)


def problem_of(row: Mapping) -> Problem:
    """The problem of a row. Raises InputError for an unknown problem."""
    return problem(row.get("problem") or USUAL)


def ends_trial(row: Mapping) -> bool:
    """True for the last row of a trial, which is that of the last phase of its problem."""
    return not row["under"] and row["phase"] == problem_of(row).phases[-1]


def status_of(rows: Iterable[Mapping], planned: int | None = None) -> tuple[str, str]:
    """The status of a cell and its reason ('' for none), from its current rows.

    The status is the worst one of its rows in the order of `STATUSES`. If all are 'ok', it is 'incomplete' when there
    are fewer complete trials than planned (`planned` is used where the rows have no such number). A sound cell is
    'sampled' when not all of its answers were checked.
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
    if status in TIMED and checked:
        return "sampled", f"{checked} answers checked{', ' if reason else ''}{reason}"
    return status, reason


def sampled(verified: str | None) -> str:
    """The number of checked answers ('1,000') if `verified` says that only a sample was checked, else ''."""
    found = _SAMPLE.fullmatch(verified or "")
    return found[1] if found else ""


# ------------------------------------------------------------------ reading


def parse(line: bytes) -> tuple[dict, bool]:
    """Parse a line. Returns the row with all fields and without its checksum, and whether it had a checksum.

    Raises ValueError naming what is wrong.
    """
    row, had = opened(line)
    if missing := [name for name in _ALWAYS if name not in row]:
        raise ValueError(f"field {missing[0]!r} is missing")
    for name, value in row.items():
        if value is None:
            fits = name not in _REQUIRED
        else:
            check = _CHECKS.get(name)
            fits = check is None or check(value)
        if not fits:
            raise ValueError(f"field {name!r} cannot be {_shown(value)}")
    if row["phase"] is not None and None in (row.get("trial"), row.get("ms")):
        raise ValueError(f"phase {row['phase']!r} without a trial or a time")
    return _BLANK | row, had


def _text(value) -> bool:
    return isinstance(value, str)


def _shown(value) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


#: a check of the value of each field
_CHECKS = dict.fromkeys(FIELDS, _text) | dict.fromkeys(_INTEGERS, energies.whole)
_CHECKS |= dict.fromkeys(_NUMBERS, energies.not_negative) | dict.fromkeys((WORKER, DISTRIBUTION), _text)
_CHECKS |= {
    "status": lambda value: value in STATUSES and value != "incomplete",
    "counters": lambda value: isinstance(value, dict) and all(map(energies.number, value.values())),
    "energy": energies.fits,
}


def parse_all(lines: Iterable[bytes], path, sums: bool) -> list[dict]:
    """Parse the rows of complete lines and remove their checksums. `sums`: whether each must have one.

    Raises InputError naming a line that is no row, was changed, or contradicts another.
    """
    rows, having = [], []
    for number, line in enumerate(lines, 1):
        try:
            row, had = parse(line)
        except ValueError as error:
            raise InputError(f"is not a measurement row: {error}", path=path, line=number, remedy=_AGAIN) from None
        if (named := row["problem"] or USUAL) not in PROBLEMS:
            what = f"is a row of problem {named!r}, which this grailbench does not know"
            raise InputError(what, path=path, line=number, remedy="read it with the one that measured it")
        rows.append(row)
        having.append(had)
    if not all(having) and (sums or any(having)):
        number = having.index(False) + 1
        raise InputError("is not a measurement row: its checksum is missing", path=path, line=number, remedy=_AGAIN)
    _agree(rows, path)
    return rows


def _agree(rows: list[dict], path) -> None:
    """Raise InputError naming a line that contradicts an earlier line of the same key."""
    first: dict[str, tuple[int, tuple]] = {}  # by key: the line of its first row, and the cell
    seen: dict[tuple, int] = {}  # the line where a value of a key, or a measurement, first appears
    phases: dict[str, tuple[set, int]] = {}  # by key: the phases of its first trial, and the last line of that trial
    trial: list[dict] = []  # the rows of the current trial

    def fault(number: int, what: str, before: int | None = None):
        message = f"contradicts the other rows of its cell: {what}"
        message += "" if before is None else f", unlike line {before}"
        return InputError(message, path=path, line=number, remedy=_AGAIN)

    for number, row in enumerate(rows, 1):
        key = row["key"]
        own = cell_of(row)
        start, cell = first.setdefault(key, (number, own))
        if own != cell:
            raise fault(number, "another configuration", start)
        counted = ("counters",) if problem_of(row).exact else ()
        for name in (*_SHARED, *counted):
            if row.get(name) is not None and row["status"] == "ok":
                at = seen.setdefault((key, name), number)
                if rows[at - 1][name] != row[name]:
                    raise fault(number, f"{name} {_shown(row[name])}", at)
        if trial and (trial[0]["key"], trial[0]["trial"]) != (key, row["trial"]):
            raise fault(number - 1, f"trial {trial[0]['trial']} has no end")
        if row["phase"] is None:
            once = (key, row.get("at"), row["status"], row.get("reason"))
            if row.get("at") is not None and seen.setdefault(once, number) != number:
                raise fault(number, "the same row again", seen[once])
            continue
        if row.get("planned") is not None and row["trial"] >= row["planned"]:
            raise fault(number, f"trial {row['trial']} of {row['planned']}, counted from 0")
        once = (key, row["trial"], row["under"], row["phase"])
        if (at := seen.setdefault(once, number)) != number:
            raise fault(number, f"trial {row['trial']} has phase {row['phase']!r} again", at)
        trial.append(row)
        if ends_trial(row):
            top = {each["phase"] for each in trial if not each["under"]} & set(_CONSTANT_PHASES)
            expected, at = phases.setdefault(key, (top, number))
            if top != expected:
                raise fault(number, f"trial {row['trial']} has other phases", at)
            trial = []
