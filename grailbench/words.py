"""How numbers, sizes, counts of things, names and machines are put into words, once for the whole program.

Every function takes plain values and returns text; None is a value that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral

BLANK = "–"  #: what tables show where there is no value

# ------------------------------------------------------------------ numbers


def grouped(value: float | str | None, none: str = "") -> str:
    """A whole number with its thousands grouped, '1,448', or another with two decimals, '0.45'; text as it is."""
    if value is None or isinstance(value, str):
        return none if value is None else value
    return f"{value:,}" if isinstance(value, Integral) else f"{value:,.2f}"


def ms(value: float | None, none: str = BLANK) -> str:
    """A time in ms with the thesis's two decimals, three where it would read 0.0x: '0.018', '16.30'."""
    if value is None:
        return none
    return f"{value:.3f}" if abs(value) < 0.1 else f"{value:.2f}"


def short(value: float | None) -> str:
    """Three significant digits without an exponent, all digits from 100 on: '0.0180', '16.3', '1,448'; '' for None
    and NaN."""
    if value is None or value != value:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    places = max(0, 2 - magnitude(value))
    return f"{value:.{min(places, 9)}f}"


def magnitude(value: float) -> int:
    """The power of ten of a number's first digit, once it is rounded to three digits; the number is not 0."""
    return int(f"{value:.2e}".partition("e")[2])


def brief(value: float | None) -> str:
    """Three significant digits at most, without zeros at the end, all digits from 100 on: '2', '0.018', '1,448'."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def steady(value: float) -> str:
    """Three decimals below 1, two below 100, then none: the digits of a column of medians."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


# ------------------------------------------------------------------ ratios


def ratio(value: float | None) -> str:
    """Two decimals, two significant digits below 0.1."""
    if value is None:
        return BLANK
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def fine_ratio(value: float) -> str:
    """A ratio that a gate is held against: two decimals, three significant digits below 0.1 and from 100 on."""
    return f"{value:.3g}" if value < 0.1 or value >= 100 else f"{value:.2f}"


def multiple(value: float) -> str:
    """How many times the best: two to three digits, and all of those before the point: '1.43', '16.3', '1,448'."""
    if value < 0.1:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def times(value: float | None) -> str:
    """A ratio with its sign, two to three digits: '0.08×', '1.43×', '120×'; '' for None and NaN."""
    if value is None or value != value:
        return ""
    value *= 1 + 1e-12  # ties are rounded up, as the page's script does
    if value >= 99.5:
        return f"{value:,.0f}×"
    if value >= 9.95:
        return f"{value:.1f}×"
    if value >= 0.095:
        return f"{value:.2f}×"
    return f"{value:.3f}×" if value >= 0.0005 else "<0.001×"


def estimate(value: float, plus: float | None) -> str:
    """A value and what it may be off by, both to the first digit of the latter: '3.1 ± 0.2', '1,448 ± 30'; the value
    alone, with three digits, where `plus` is None."""
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
    """Bytes in millions or thousands of millions, as file sizes are sold: '1.2 GB', '3.0 MB'."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def clock(seconds: float) -> str:
    """A duration in hours, minutes and seconds: '0:01:05'."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


# ------------------------------------------------------------------ things and their names


def count(number: int, thing: str) -> str:
    """So many of a thing: '1 cell', '3 cells', '1,448 cells'."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def some(names: Iterable[object], most: int = 3, thing: str = "", between: str = ", ") -> str:
    """The first of some names, and how many more there are: 'kegg, human, amaze and 14 more graphs'."""
    found = list(map(str, names))
    more = len(found) - most
    rest = count(more, f"more {thing}") if thing else f"{more} more"
    also = " and " if between == ", " else f"{between}and "
    return between.join(found[:most]) + (also + rest if more > 0 else "")


def first(names: Iterable[object], most: int) -> str:
    """The first of some names, and dots where there are more: 'kegg, human, ...'."""
    found = list(map(str, names))
    return ", ".join([*found[:most], "..."] if len(found) > most else found)


def did_you_mean(
    name: str,
    known: Iterable[str],
    otherwise: str | None = None,
    most: int = 3,
    show: Callable[[str], str] = str,
) -> str:
    """A remedy for a mistyped name: 'did you mean human or hmdb?'.

    known      the names that there are
    otherwise  what is said when none of them is near; unless told, all of them: 'known: human, kegg'
    most       how many are offered
    show       `repr` where the names are quoted
    """
    import difflib  # here, so that `grailbench --help` starts without it

    known = list(known)
    if near := difflib.get_close_matches(name.casefold(), known, most):
        return f"did you mean {' or '.join(map(show, near))}?"
    return f"known: {', '.join(known)}" if otherwise is None else otherwise


def clip(text: str, most: int) -> str:
    """A text of at most so many letters; '…' stands for what is cut off."""
    return text if len(text) <= most else text[: most - 1] + "…"


# ------------------------------------------------------------------ machines


def gpus(environment: Mapping) -> list[str]:
    """The GPUs of an environment by name: 'NVIDIA H200', '4 x NVIDIA H200'."""
    names = [str(each.get("name")) for each in environment.get("gpus") or ()]
    return [name if names.count(name) == 1 else f"{names.count(name)} x {name}" for name in dict.fromkeys(names)]


def machine(environment: Mapping, whole: bool = True) -> str:
    """A run's environment in one line: processor, cores, GPUs, commit; if `whole`, memory, system, Python and numba
    too."""
    packages = environment.get("packages") or {}
    memory = environment.get("memory_bytes")
    commit = environment.get("commit")
    parts = [environment.get("cpu") or "unknown processor", f"{environment.get('cores', '?')} cores"]
    parts += [gib(memory, 0) if memory and whole else None, *gpus(environment)]
    if whole:
        parts += [environment.get("os"), environment.get("python")]
        parts += [f"numba {packages['numba']}" if "numba" in packages else None]
    parts += [f"commit {commit[:12]}{' with changes' if environment.get('dirty') else ''}" if commit else None]
    return ", ".join(part for part in parts if part)
