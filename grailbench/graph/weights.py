"""Edge weights of a file: which weights are usable, and why others are not.

Distances are 32-bit integers and their check needs positive weights, so a usable weight is a whole number from 1 to
`MOST_WEIGHT` in any notation ('3', '3.0', '3e0'). If one edge has no usable weight, no weight of the file is used: the
reader reports the edge and the reason, and shortest paths use random weights instead.
"""

import numpy as np

WEIGHT = np.int32
MOST_WEIGHT = 2**30 - 1  #: also the limit of distances, see `traversal.check.refuse_long`

# Reasons why a weight is not usable; `parsers.weight_at` returns them negated.
ZERO, NEGATIVE, FRACTION, TOO_LARGE, NOT_FINITE, NO_NUMBER = range(1, 7)
_REASONS = {
    ZERO: "is not positive",
    NEGATIVE: "is not positive",
    FRACTION: "is not whole",
    TOO_LARGE: f"is more than {MOST_WEIGHT}",
    NOT_FINITE: "is not finite",
    NO_NUMBER: "is no number",
}
NEEDED = f"whole numbers of 1 to {MOST_WEIGHT} are needed"


def unused_message(where: str, token: str, why: int) -> str:
    """The message for weights that are not used: 'not used: line 3 has 0.5, which is not whole; ...'."""
    return f"not used: {where} has {token}, which {_REASONS[why]}; {NEEDED}"


def used_message(weights: np.ndarray, what: str) -> str:
    """The message for weights (int32[m]) that are used: 'column 3, 1 to 9'."""
    return f"{what}, {int(weights.min())} to {int(weights.max())}" if weights.size else what


def of_values(values: np.ndarray, what: str) -> tuple[np.ndarray | None, str]:
    """Converts numbers of any dtype to weights, int32[m], or None if one is not usable; and the message about them."""
    if values.dtype.kind == "c":
        return None, f"not used: {what} holds complex numbers; {NEEDED}"
    if values.dtype.kind not in "iuf":
        return None, f"not used: {what} is of type {values.dtype}; {NEEDED}"
    kinds = ((NOT_FINITE, ~np.isfinite(values)), (NEGATIVE, values <= 0), (TOO_LARGE, values > MOST_WEIGHT))
    for why, wrong in (*kinds, (FRACTION, values != np.floor(values))):
        if wrong.any():
            at = int(np.argmax(wrong))
            return None, unused_message(f"edge {at}", str(values[at]), why)
    weights = np.ascontiguousarray(values, dtype=WEIGHT)
    return weights, used_message(weights, what)
