"""Text for numbers, sizes, counts of things, names and machines: one function for each form, for the whole program.

Every function takes plain values and returns text. None stands for an unknown value.
"""

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral

BLANK = "–"  #: what tables show for a missing value
MARK = "†"  #: after every number of unstable times
FEW = "‡"  #: after every other number of too few trials to tell


def worst(marks: Iterable[str]) -> str:
    """The mark of what is made of things with these marks, of which '' is none: the worst of them."""
    return max(marks, key=("", FEW, MARK).index, default="")


# ------------------------------------------------------------------ numbers


def grouped(value: float | str | None, none: str = "") -> str:
    """A whole number with grouped thousands, '1,448', any other with two decimals, '0.45'; text is not changed."""
    if value is None or isinstance(value, str):
        return none if value is None else value
    return f"{value:,}" if isinstance(value, Integral) else f"{value:,.2f}"


def ms(value: float | None, none: str = BLANK) -> str:
    """A time in ms with two decimals, as in the thesis, and three below 0.1: '0.018', '16.30'."""
    if value is None:
        return none
    return f"{value:.3f}" if abs(value) < 0.1 else f"{value:.2f}"


def short(value: float | None, digits: int = 3) -> str:
    """Three significant digits without an exponent, all digits from 100 on: '0.0180', '16.3', '1,448'; '' for None
    and NaN. With four digits, all from 1,000 on."""
    if value is None or value != value:
        return ""
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - magnitude(value, digits))
    return f"{value:.{min(places, 9)}f}"


def magnitude(value: float, digits: int = 3) -> int:
    """The power of ten of the first digit of a number that is not 0, after rounding to three digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def brief(value: float | None) -> str:
    """At most three significant digits, without trailing zeros, all digits from 100 on: '2', '0.018', '1,448'."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def share(part: float, whole: float) -> str:
    """A share in per cent with one decimal, which is 0 or 100 only where it is exactly that: '3.1 %', '<0.1 %',
    '>99.9 %'; '' of nothing."""
    if not whole:
        return ""
    value = part / whole
    if 0 < value < 0.0005:
        return "<0.1 %"
    return ">99.9 %" if 0.9995 <= value < 1 else "100 %" if value == 1 else f"{100 * value:.1f} %" if part else "0 %"


# ------------------------------------------------------------------ ratios
#
# Four forms, equal from 0.1 to 9.9, except that `times` adds a sign and rounds ties up:
#   ratio       a column of measured beside printed or peers: always two decimals, '1448.20'
#   multiple    a ranking, where ratios may be large: digits after the point drop as the ratio grows, '1,448'
#   fine_ratio  a comparison with a gate: a third digit below 0.1, where two would hide a change, '0.0123'
#   times       figures and HTML pages, where the page's script writes the same: '1,448×'


def ratio(value: float | None) -> str:
    """Two decimals; below 0.1 two significant digits: '0.012', '1.43', '12.35'."""
    if value is None:
        return BLANK
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def fine_ratio(value: float) -> str:
    """Two decimals; below 0.1 and from 100 on three significant digits: '0.0123', '1.43', '123'."""
    return f"{value:.3g}" if value < 0.1 or value >= 100 else f"{value:.2f}"


def multiple(value: float) -> str:
    """As `ratio` below 10, then one decimal, and none from 100 on: '1.43', '16.3', '1,448'."""
    return ratio(value) if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def times(value: float | None) -> str:
    """Two or three significant digits with the sign: '0.080×', '1.43×', '1,448×'; '' for None and NaN."""
    if value is None or value != value:
        return ""
    value *= 1 + 1e-12  # rounds ties up, as the page's script does
    if value >= 99.5:
        return f"{value:,.0f}×"
    if value >= 9.95:
        return f"{value:.1f}×"
    if value >= 0.095:
        return f"{value:.2f}×"
    return f"{value:.3f}×" if value >= 0.0005 else "<0.001×"


def estimate(value: float, plus: float | None) -> str:
    """A value and its uncertainty `plus`, both rounded to the first digit of the latter: '3.1 ± 0.2', '1,448 ± 30'; the
    value alone, with three digits, if `plus` is None."""
    if plus is None:
        return short(value)
    places = min(max(1 - magnitude(plus) - 1, 0), 2) if plus else 2
    return f"{value:,.{places}f} ± {max(plus, 0.01 if places == 2 else 0):,.{places}f}"


def difference(value: float | None) -> str:
    """A difference with its sign and at most two decimals: '+0.5', '-3', '0'."""
    if value is None:
        return BLANK
    return "0" if abs(value) < 1e-9 else f"{value:+.2f}".rstrip("0").rstrip(".")


# ------------------------------------------------------------------ sizes and durations


def size(count: int) -> str:
    """Bytes in the unit that gives a number of one to four digits: '113 KiB'."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << bits:
            value = count / (1 << bits)
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{count} B"


def gib(count: int, places: int = 2) -> str:
    """Bytes in GiB: '1.25 GiB'."""
    return f"{count / 2**30:.{places}f} GiB"


def decimal_size(count: int) -> str:
    """Bytes in decimal units: '1.2 GB', '3.0 MB'."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def clock(seconds: float) -> str:
    """A duration in hours, minutes and seconds: '0:01:05'."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


# ------------------------------------------------------------------ things and their names


def count(number: int, thing: str) -> str:
    """A number and a noun, in the plural unless the number is 1: '1 cell', '1,448 cells', '2 queries'."""
    if number == 1:
        return f"1 {thing}"
    if thing.endswith("y") and thing[-2:-1] not in "aeiou":
        return f"{number:,} {thing[:-1]}ies"
    return f"{number:,} {thing}{'es' if thing.endswith(('ch', 'sh', 's', 'x')) else 's'}"


def listing(names: Iterable[object], most: int = 3, thing: str = "", between: str = ", ") -> str:
    """The first `most` names and how many more there are: 'kegg, human, amaze and 14 more graphs'.

    thing    the noun for those that are left out; '' for none
    between  what stands between two names
    """
    found = list(map(str, names))
    more = len(found) - most
    rest = count(more, f"more {thing}") if thing else f"{more} more"
    also = " and " if between == ", " else f"{between}and "
    return between.join(found[:most]) + (also + rest if more > 0 else "")


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str | None = None, most: int = 3, show: Callable[[str], str] = str
) -> str:
    """Suggests what a mistyped name could be: 'did you mean human or hmdb?'.

    known      the names that exist
    otherwise  the text if none of them is similar; by default all of them: 'known: human, kegg'
    most       the most names that are suggested
    show       how a name is written, such as `repr` for quoted names
    """
    import difflib  # here, so that `grailbench --help` starts without it

    known = list(dict.fromkeys(known))
    if near := difflib.get_close_matches(name.casefold(), known, most):
        return f"did you mean {' or '.join(map(show, near))}?"
    return f"known: {', '.join(known)}" if otherwise is None else otherwise


def clip(text: str, most: int) -> str:
    """A text cut to at most `most` characters, the last of which is then '…'."""
    return text if len(text) <= most else text[: most - 1] + "…"


# ------------------------------------------------------------------ machines


def gpus(environment: Mapping) -> list[str]:
    """The GPUs of an environment, one text for each model: 'NVIDIA H200', '4 x NVIDIA H200'."""
    names = [str(each.get("name")) for each in environment.get("gpus") or ()]
    return [name if names.count(name) == 1 else f"{names.count(name)} x {name}" for name in dict.fromkeys(names)]


def machine(environment: Mapping, whole: bool = True) -> str:
    """The machine of a run in one line: processor, cores, GPUs, commit; if `whole`, also memory, system, Python and
    numba."""
    packages = environment.get("packages") or {}
    memory = environment.get("memory_bytes")
    commit = environment.get("commit")
    cores = environment.get("cores")
    parts = [environment.get("cpu") or "unknown processor", count(cores, "core") if cores else "? cores"]
    parts += [gib(memory, 0) if memory and whole else None, *gpus(environment)]
    if whole:
        numba = f"numba {packages['numba']}" if "numba" in packages else None
        parts += [environment.get("os"), environment.get("python"), numba]
    parts += [f"commit {commit[:12]}{' with changes' if environment.get('dirty') else ''}" if commit else None]
    return ", ".join(part for part in parts if part)
