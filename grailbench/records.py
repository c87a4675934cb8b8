"""Small JSON records on disk that carry a checksum of themselves: rows of a run, its plan, notes in the cache."""

from __future__ import annotations

import hashlib
import json

SUM = "sum"
DEEPEST = 32  #: levels of objects and lists that a record may have
CHANGED = "its checksum does not fit it: it was changed after it was written"


def digest(value: dict) -> str:
    """16 hex digits of a JSON object without its `sum`, whatever the order of its keys."""
    rest = {name: each for name, each in value.items() if name != SUM}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sealed(value: dict) -> dict:
    """The object with its checksum in `sum`, last."""
    return {name: each for name, each in value.items() if name != SUM} | {SUM: digest(value)}


def opened(text: bytes) -> tuple[dict, bool]:
    """The object that a text holds, without its checksum, and whether it had one.

    Raises ValueError for what is no JSON object of finite numbers in UTF-8, and for one whose checksum does not fit.
    """
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=_no_number)
        if b"\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # half of a surrogate pair cannot be printed
        if not isinstance(value, dict):
            raise ValueError("is no JSON object")
        if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
            raise ValueError("nested too deep")
        had = SUM in value
        if had and value[SUM] != digest(value):
            raise ValueError(CHANGED)
    except RecursionError:
        raise ValueError("nested too deep") from None
    value.pop(SUM, None)
    return value, had


def _depth(value: object) -> int:
    """Levels of objects and lists, counted without recursion."""
    levels, at = 0, [value]
    while at := [each for each in at if isinstance(each, dict | list)]:
        levels += 1
        at = [inner for each in at for inner in (each.values() if isinstance(each, dict) else each)]
    return levels


def _no_number(text: str):
    raise ValueError(f"{text} is no number")
