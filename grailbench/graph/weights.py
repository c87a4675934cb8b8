"""Edge weights of a file: which weights are usable, and why others are not.

Distances are 32-bit integers and their check needs positive weights, so a usable weight is a whole number from 1 to
`MOST_WEIGHT` in any notation ('3', '3.0', '3e0'). If one edge has no usable weight, no weight of the file is used: the
reader reports the edge and the reason, and shortest paths use random weights instead.
"""

import numpy as np
from numba import njit

WEIGHT = np.int32
MOST_WEIGHT = 2**30 - 1  #: also the limit of distances, see `traversal.check.refuse_long`

# Reasons why a weight is not usable; `weight_at` returns them negated.
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
_DIGITS = 17  # digits of a weight that are used; more may not fit 64 bits


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


@njit(cache=True)
def weight_at(text, pos, end):
    """Parses text[pos:end] (uint8) as a weight. Returns 1..MOST_WEIGHT, or one of the reasons above, negated.

    Sign, decimal point and exponent are allowed. Leading zeros do not count as digits.
    """
    negative = False
    if pos < end and (text[pos] == 43 or text[pos] == 45):
        negative = text[pos] == 45
        pos += 1
    value, digits, after, seen, point = np.int64(0), 0, 0, 0, False
    inexact = False  # whether a digit other than 0 follows those that are used
    while pos < end and (48 <= text[pos] <= 57 or (text[pos] == 46 and not point)):
        if text[pos] == 46:
            point = True
        else:
            digit = np.int64(text[pos]) - 48
            seen += 1
            if digits < _DIGITS:
                value = value * 10 + digit
                digits += value > 0
                after += point
            else:
                inexact |= digit != 0
                after -= not point
        pos += 1
    power, power_digits = 0, 1
    if pos < end and (text[pos] == 69 or text[pos] == 101):
        pos += 1
        down = pos < end and text[pos] == 45
        pos += pos < end and (text[pos] == 43 or text[pos] == 45)
        power_digits = 0
        while pos < end and 48 <= text[pos] <= 57:
            power = min(power * 10 + np.int64(text[pos]) - 48, 10**6)
            power_digits += 1
            pos += 1
        if down:
            power = -power
    if pos < end or seen == 0 or power_digits == 0:
        return np.int64(-NO_NUMBER)
    if value == 0:
        return np.int64(-ZERO)
    if negative:
        return np.int64(-NEGATIVE)
    power -= after
    while power < 0 and value % 10 == 0:
        value //= 10
        power += 1
    while power > 0 and value <= MOST_WEIGHT:
        value *= 10
        power -= 1
    if power < 0 or (inexact and value <= MOST_WEIGHT):
        return np.int64(-FRACTION)
    return np.int64(-TOO_LARGE) if value > MOST_WEIGHT else value
