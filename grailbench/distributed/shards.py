"""Pairs of a user, from wherever they come, as shards that are asked one after the other; and their answers as bits."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grailbench.errors import InputError, MachineLacks, in_file, install
from grailbench.graph import npy
from grailbench.graph.arguments import check_path, id_column, id_columns, shown, whole_number
from grailbench.graph.readers.cells import ends_of, unrecognised
from grailbench.util.outputs import protect, replaced

SHARD = 1 << 21  #: pairs of a shard: 16 MiB of int32
_READ = "a .parquet or .npy file, two columns, or an iterable of arrays is read"


@dataclass(frozen=True)
class Shard:
    """Pairs that are asked at once: two columns of k ids, or what makes them on the worker.

    ids    whether they are ids of the user, not vertices of the condensed graph
    """

    columns: np.ndarray | tuple | None = None
    make: Callable[[], Any] | None = None
    ids: bool = False


def cut(pairs: Any, size: int, columns: tuple[str, str] | None = None) -> Iterator[Shard]:
    """Cuts pairs of ids into shards of about `size` pairs, and never holds more than one; see `Index.stream`.

    Raises InputError for what holds no pairs, also midway, and MachineLacks without pyarrow.
    """
    size = whole_number(size, "shard", 1)
    named = isinstance(columns, tuple | list) and len(columns) == 2 and all(isinstance(each, str) for each in columns)
    if columns is not None and not named:
        raise InputError(f"columns {shown(columns)}: the names of two columns are expected")
    if isinstance(pairs, str | os.PathLike):
        check_path(pairs, "pairs")
        path = Path(pairs)
        protect(path)
        if path.suffix.lower() == ".parquet":
            return _of_parquet(path.resolve(), size, columns)
        if path.suffix.lower() == ".npy":
            return _of_npy(path.resolve(), size)
        raise InputError("pairs are not streamed from a file of this kind", path=path, remedy=_READ)
    if isinstance(pairs, tuple | np.ndarray):
        return _of_columns(_checked(pairs), size)
    if not isinstance(pairs, Iterable):
        raise InputError(f"pairs as {type(pairs).__name__}", remedy=_READ)
    return _of_items(pairs, size)


def aligned(answered: Iterable[tuple[int, np.ndarray]]) -> Iterator[np.ndarray]:
    """Arrays of bits, uint8, whose concatenation is `numpy.packbits` of all answers, from the number and the bits of
    each shard."""
    rest = np.empty(0, np.uint8)  # fewer than 8 answers, one a byte
    for count, bits in answered:
        if not rest.size and count % 8 == 0:
            if count:
                yield bits
            continue
        answers = np.concatenate([rest, np.unpackbits(bits, count=count)])
        whole = answers.size - answers.size % 8
        if whole:
            yield np.packbits(answers[:whole])
        rest = answers[whole:]
    if rest.size:
        yield np.packbits(rest)


def written(path: str | os.PathLike[str], answered: Iterable[tuple[int, np.ndarray]]) -> int:
    """Writes the bits of all answers to a file, which appears when it is whole, and returns the number of pairs. Raises
    InputError if it is an input or cannot be written, and MachineLacks if the disk is full."""
    pairs = 0

    def counted() -> Iterator[tuple[int, np.ndarray]]:
        nonlocal pairs
        for count, bits in answered:
            pairs += count
            yield count, bits

    with replaced(path) as stream:
        for bits in aligned(counted()):
            stream.write(bits.data)
    return pairs


def here(shards: Iterable[Shard], ask: Callable[[Any, Any], np.ndarray]) -> Iterator[tuple[int, np.ndarray]]:
    """The number of pairs and the bits of each shard, asked in this process."""
    for number, shard in enumerate(shards):
        sources, targets = columns_of(shard.columns if shard.make is None else shard.make())
        try:
            answers = ask(sources, targets)
        except InputError as error:
            raise shard_error(number, error) from None
        yield int(answers.size), np.packbits(answers)


def shard_error(number: int, error: InputError) -> InputError:
    """The error for pairs that are wrong, with the shard they are in, from 0."""
    return InputError(f"shard {number + 1} of the pairs: {error}")


def columns_of(pairs: Any) -> tuple[Any, Any]:
    """Two columns of k ids each, of an array of shape [k, 2] or of a tuple. Raises InputError for anything else."""
    if isinstance(pairs, np.ndarray) and pairs.ndim == 2 and pairs.shape[1] == 2:
        return pairs[:, 0].copy(), pairs[:, 1].copy()  # each in one piece, and with its mask if it has one
    if isinstance(pairs, tuple | list) and len(pairs) == 2:
        return pairs[0], pairs[1]
    shape = f" of shape {pairs.shape}" if isinstance(pairs, np.ndarray) else ""
    raise InputError(
        f"pairs as {type(pairs).__name__}{shape}: two columns (sources, targets), or an array of shape [k, 2] are "
        "expected"
    )


# ------------------------------------------------------------------ arrays


def _checked(pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pairs as two columns of equal length, views of an array of shape [k, 2]. Raises InputError."""
    if isinstance(pairs, np.ndarray) and pairs.ndim == 2 and pairs.shape[1] == 2:
        pairs = pairs[:, 0], pairs[:, 1]
    return id_columns(*columns_of(pairs))


def _of_columns(pairs: tuple[np.ndarray, np.ndarray], size: int) -> Iterator[Shard]:
    for first in range(0, pairs[0].size, size):
        yield Shard(tuple(column[first : first + size] for column in pairs), ids=True)


def _of_items(items: Iterable[Any], size: int) -> Iterator[Shard]:
    """Cuts what is longer than a shard, and puts together what is shorter; what is called makes a shard by itself."""
    some: list[Any] = []
    pending = 0
    for item in items:
        if callable(item):
            yield from _together(some)
            some, pending = [], 0
            yield Shard(make=item, ids=True)
            continue
        pairs = _checked(item)
        if pending + pairs[0].size > size:
            yield from _together(some)
            some, pending = [], 0
        if pairs[0].size >= size:
            yield from _of_columns(pairs, size)
        elif pairs[0].size:
            some.append(pairs)
            pending += pairs[0].size
    yield from _together(some)


def _together(some: list[Any]) -> Iterator[Shard]:
    if len(some) == 1:
        yield Shard(some[0], ids=True)
    elif some:
        both = [columns_of(each) for each in some]
        yield Shard(tuple(np.concatenate(column) for column in zip(*both, strict=True)), ids=True)


# ------------------------------------------------------------------ files


def _of_npy(path: Path, size: int) -> Iterator[Shard]:
    pairs = _mapped_npy(path)
    for first in range(0, pairs.shape[0], size):
        some = pairs[first : first + size]
        yield Shard((np.array(some[:, 0]), np.array(some[:, 1])), ids=True)


def _mapped_npy(path: Path) -> np.ndarray:
    """Pairs of a file of numpy as int[k, 2], mapped."""
    try:
        with open(path, "rb") as stream:
            shape, dtype, columns_first = npy.header(stream)
            at = stream.tell()
        found: np.ndarray = np.memmap(path, dtype, "r", at, shape, "F" if columns_first else "C")
    except npy.FAULTS as error:
        raise InputError(f"it is not a readable array of numpy: {error}", path=path) from None
    if found.ndim == 2 and found.dtype.kind in "iu" and 2 in found.shape:
        return found if found.shape[1] == 2 else found.T
    what = f"an array of {found.dtype} and shape {found.shape}"
    raise InputError(what, path=path, remedy="whole numbers of shape [k, 2] or [2, k]")


def _of_parquet(path: Path, size: int, columns: tuple[str, str] | None) -> Iterator[Shard]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MachineLacks(f"parquet files need pyarrow ({error}): {install('formats')}") from None
    try:
        with in_file(path), ParquetFile(path) as file:
            names = _names(path, file, columns)
            batches = file.iter_batches(size, columns=[*names])
            yield from _of_items((_arrow(path, each, names) for each in batches), size)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise InputError(f"it is not a readable parquet file: {error}", path=path) from None


def _names(path: Path, file: Any, columns: tuple[str, str] | None) -> tuple[str, str]:
    """The names of the two columns. Raises InputError."""
    has = file.schema_arrow.names
    if columns is None:
        remedy = "columns=(SOURCE, TARGET)"
        if (places := ends_of(None, has, remedy)) is None:
            raise unrecognised(None, has, remedy)
        return has[places[0]], has[places[1]]
    for name in columns:
        if name not in has:
            raise InputError(f"no column is named {name!r}", path=path, remedy=f"it has {', '.join(has)}")
    return columns[0], columns[1]


def _arrow(path: Path, batch: Any, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of a batch of arrow. Raises InputError if one has missing values or neither numbers nor names."""
    found = []
    for name in names:
        column = batch.column(name)
        if column.null_count:
            raise InputError(f"column {name!r} has {column.null_count:,} missing values", path=path)
        found.append(id_column(column.to_numpy(zero_copy_only=False), name))
    return found[0], found[1]
