"""Small JSON records with a checksum: rows of a run, its plan, notes in the cache."""

import hashlib
import json

SUM = "sum"
DEEPEST = 32  #: the most levels of objects and lists in a record
CHANGED = "its checksum does not fit it: it was changed after it was written"


def digest(value: dict) -> str:
    """The checksum of a JSON object without its `sum`, as 16 hex digits; the order of its keys does not matter."""
    rest = {name: each for name, each in value.items() if name != SUM}
    return hashlib.sha256(_ENCODER.encode(rest).encode()).hexdigest()[:16]


def sealed(value: dict) -> dict:
    """A copy of the object with its checksum as the last key, `sum`."""
    return {name: each for name, each in value.items() if name != SUM} | {SUM: digest(value)}


def opened(text: bytes) -> tuple[dict, bool]:
    """Returns the object in a text, without its checksum, and whether it had a checksum.

    Raises ValueError if the text is not UTF-8 or not a JSON object of finite numbers, or if the checksum is wrong.
    """
    try:
        value = _DECODER.decode(text.decode("utf-8"))
        if b"\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # raises for half of a surrogate pair
        if not isinstance(value, dict):
            raise ValueError("is no JSON object")
        if text.count(b"[") + text.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
            raise ValueError("nested too deep")
        had, stated = SUM in value, value.pop(SUM, None)
        if had and stated != digest(value):
            raise ValueError(CHANGED)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value, had


def _depth(value: object) -> int:
    """The number of levels of objects and lists, counted without recursion."""
    levels, at = 0, [value]
    while at := [each for each in at if isinstance(each, dict | list)]:
        levels += 1
        at = [inner for each in at for inner in (each.values() if isinstance(each, dict) else each)]
    return levels


def _no_number(text: str):
    raise ValueError(f"{text} is no number")


# json.dumps and json.loads make these anew for every row
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_no_number)
