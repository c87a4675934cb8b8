"""What callers of the library pass, checked in one place: columns of ids, pairs of columns, whole numbers, paths.

An id is a whole number of 64 bits with a sign, or a name: a text. A column is a list, another iterable, or an array of
numpy, pandas, Arrow and whatever else becomes an array of numpy. What is doubtful is refused: a missing value, a
fraction, a truth value, a text or a dictionary in the place of a column.
"""

import os
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from grailbench.errors import InputError
from grailbench.util.words import clip

LEAST, GREATEST = -(2**63), 2**63 - 1  #: of ids that are numbers
_TEXTS = str | bytes | bytearray
_TEXTUAL = ("category", "string", "str")  # types of pandas' arrays
_ARROWS = ("string", "large_string", "string_view", "dictionary")  # how types of Arrow's begin
_BEYOND = "names may be as long as you like: make text of all ids"
_ANY = "str(id) makes a name of each, int(id) a number"


class Coded(NamedTuple):
    """A column of k names as pandas and Arrow hold it: the different ones, object[d] of str, and for each place of the
    column which of them it has, int64[k]."""

    names: np.ndarray
    codes: np.ndarray

    @property
    def size(self) -> int:
        """The number of places, k."""
        return int(self.codes.size)

    @property
    def dtype(self) -> np.dtype:
        """That of the names."""
        return self.names.dtype


Column = np.ndarray | Coded


def uncoded(column: Column) -> np.ndarray:
    """The id at each place."""
    found: np.ndarray = column.names[column.codes] if isinstance(column, Coded) else column
    return found


def coded_column(values: Any, what: str, ordered: bool = False) -> Column:
    """As `id_column`, but a column of texts that pandas (a categorical, a string) or Arrow holds stays coded."""
    column = values
    if str(getattr(values, "type", "")).startswith(_ARROWS) and hasattr(values, "dictionary_encode"):
        column = values.dictionary_encode().to_pandas()
    if getattr(getattr(column, "dtype", None), "name", None) in _TEXTUAL:
        codes, different = column.factorize()
        _refuse_missing(what, codes < 0)
        names = np.asarray(different, object)
        if {*map(type, names)} == {str}:
            return Coded(names, codes.astype(np.int64, copy=False))
    return id_column(values, what, ordered)


def id_column(values: Any, what: str, ordered: bool = False, remedy: str = _ANY) -> np.ndarray:
    """A column of k ids: integers of any width in the byte order of this machine, all of which fit int64, [k]; or
    names, object[k] of str.

    what     the name of the column, for messages
    ordered  whether the ids belong to something at the same place, so that a set is refused
    remedy   what to do about values that are no ids

    Raises InputError for anything else, with the place of the first value that is no id.
    """
    if ordered and isinstance(values, set | frozenset):
        raise InputError(f"{what} as a set, which has no order", remedy="a list has one")
    array = _array(values, what)
    if array.ndim != 1:
        message = f"{what} of shape {array.shape}: one column is expected"
        raise InputError(message, remedy="table['source'] is a column of a table, array[:, 0] one of an array")
    kind = array.dtype.kind
    if kind in "iu":
        ready = array.dtype.isnative and array.flags.aligned
        array = array if ready else array.astype(array.dtype.newbyteorder("="))
        return _signed(array, what) if array.dtype == np.uint64 else array
    if array.size == 0:
        return np.empty(0, np.int64)
    if kind == "f":
        _refuse_missing(what, np.isnan(array))
        message = f"{what} of {array.dtype}: whole numbers or names are expected"
        raise InputError(message, remedy="astype(int) makes whole numbers of them")
    if kind not in "UTO":
        raise InputError(f"{what} of {array.dtype}: whole numbers or names are expected")
    return _of_objects(array.astype(object, copy=False), what, remedy)


def id_columns(sources: Any, targets: Any) -> tuple[np.ndarray, np.ndarray]:
    """The columns of k pairs, see `id_column`. Raises InputError also for sets, and if they differ in length."""
    us, vs = coded_columns(sources, targets)
    return uncoded(us), uncoded(vs)


def coded_columns(sources: Any, targets: Any) -> tuple[Column, Column]:
    """As `id_columns`, see `coded_column`."""
    us, vs = coded_column(sources, "sources", ordered=True), coded_column(targets, "targets", ordered=True)
    if us.size != vs.size:
        raise InputError(f"{us.size:,} sources and {vs.size:,} targets: each pair has one of each")
    return us, vs


def whole_number(value: Any, what: str, least: int = LEAST, greatest: int = GREATEST) -> int:
    """A whole number as int. Raises InputError for anything else (also True, 1.0 and '1'), and if it is not in
    least..greatest."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(f"{what} {shown(value)}: a whole number is expected")
    number = int(value)
    if not least <= number <= greatest:
        above = f"{least:,} or more is expected" if number < least else f"at most {greatest:,} is expected"
        raise InputError(f"{what} {shown(number)}: {above}")
    return number


def flag(value: Any, what: str) -> bool:
    """True or False. Raises InputError for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{what} {shown(value)}: True or False is expected")
    return bool(value)


def check_path(value: Any, what: str = "path") -> None:
    """Raises InputError for what is no path of a file."""
    name = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise InputError(f"{what} {shown(value)}: the path of a file is expected")


def shown(value: Any) -> str:
    """Any value for a message: cut, and in one line."""
    try:
        text = repr(value)
    except Exception:  # of an integer of thousands of digits, or of a class of the caller's
        return f"of type {type(value).__name__}"
    return clip(" ".join(text.split()), 80)


def _array(values: Any, what: str) -> np.ndarray:
    """An array of any type and shape. A column of a library becomes one by itself, anything else one of objects."""
    if isinstance(values, np.ma.MaskedArray):
        _refuse_missing(what, np.ma.getmaskarray(values))
    if isinstance(values, _TEXTS | Mapping):
        kind = "a text" if isinstance(values, _TEXTS) else "a dictionary"
        raise InputError(f"{what} {shown(values)}: {kind} is no column of ids", remedy="a list is one: [...]")
    try:
        if hasattr(values, "__array__"):
            return np.asarray(values)
        items = list(values)
    except (TypeError, ValueError, RuntimeError) as error:  # what libraries raise for what makes no array
        raise InputError(f"{what} {shown(values)}: a list or an array is expected ({shown(error)})") from error
    return np.fromiter(items, object, len(items))  # also of items that are sequences


def _signed(array: np.ndarray, what: str) -> np.ndarray:
    """A column of uint64 as int64. Raises InputError for a number that has no place there."""
    if array.size and int(array.max()) > GREATEST:
        _refuse_beyond(what, int(np.argmax(array > np.uint64(GREATEST))), array)
    return array.view(np.int64)


def _of_objects(array: np.ndarray, what: str, remedy: str) -> np.ndarray:
    """A column of Python objects, object[k], as `id_column` says."""
    kinds = {*map(type, array)}
    if kinds == {str}:
        return array
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            return array.astype(np.int64)
        except OverflowError:
            _refuse_beyond(what, next(at for at, each in enumerate(array) if not LEAST <= each <= GREATEST), array)
    if all(issubclass(kind, str) for kind in kinds):  # numpy's own text, members of an Enum
        return np.array([str.__str__(each) for each in array], object)
    raise _no_id(array, what, remedy)


def _no_id(array: np.ndarray, what: str, remedy: str) -> InputError:
    """The error for the first value of a column that is no id, or the first that is of another kind than those before
    it."""
    import pandas as pd  # here, because only an error needs it

    named = isinstance(array[0], str)
    for at, each in enumerate(array):
        if pd.api.types.is_scalar(each) and pd.isna(each):
            _refuse_missing(what, np.arange(array.size) == at)
        number = isinstance(each, int | np.integer) and not isinstance(each, bool)
        if not number and not isinstance(each, str):
            why = "neither a name nor a whole number, as all ids of a graph are"
            break
        if number is named:
            why = "a number among names" if named else "a name among numbers"
            break
    return InputError(f"{what}, place {at:,} of {array.size:,}: {shown(each)} is {why}", remedy=remedy)


def _refuse_missing(what: str, missing: np.ndarray) -> None:
    """Raises InputError if a value is missing, bool[k] or of any other shape."""
    if missing.any():
        place = f"place {int(np.argmax(missing)):,} of {missing.size:,}"
        raise InputError(f"{what}, {place}: the id is missing", remedy="leave out what has no id")


def _refuse_beyond(what: str, at: int, array: np.ndarray) -> None:
    message = f"{what}, place {at:,} of {array.size:,}: {shown(int(array[at]))} is an id beyond 64 bits with a sign"
    raise InputError(message, remedy=_BEYOND)
