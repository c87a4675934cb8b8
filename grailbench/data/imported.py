"""Importing a user's graph: it is read, checked, condensed and stored in the cache under a name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grailbench.data.locate import FOLDERS, Location, imported_from, is_content_of, locate, of_name, stored_here
from grailbench.data.registry import find
from grailbench.errors import InputError
from grailbench.graph import store
from grailbench.graph.csr import Dag
from grailbench.graph.store import Taken
from grailbench.util import caches
from grailbench.util.caches import Entry
from grailbench.util.files import PACKED
from grailbench.util.visible import quoted
from grailbench.util.words import did_you_mean, listing

if TYPE_CHECKING:
    from grailbench.graph.readers import Reading

#: keys of the metadata of an imported graph; two imports with equal values are the same
_READ_AS = ("source_sha256", "format", "vertices_stated", "renumbered", "options")
_MOST_NAMES = 100  # that are made of one stem
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class ImportResult:
    """An imported graph: its stored file and metadata, how it was read, and its condensation."""

    name: str
    path: Path
    meta: dict
    reading: Reading
    dag: Dag

    def record(self) -> dict:
        """The flat record that `grailbench import --json` prints.

        `file_vertices` and `file_edges` are counted in the file, `vertices` and `edges` after condensation and with
        the super-root. `ids`, `weights` and `notes` are texts: which ids the file has, what its weights are or why
        they are not used, and what else was done. Times are in ms, the rate is in MB of text per second.
        """
        from grailbench.graph.profile import characteristics

        return {
            "name": self.name,
            "set": "imported",
            **characteristics(self.dag),
            "file_vertices": self.reading.graph.vertices,
            "file_edges": self.reading.graph.edges,
            "components": self.dag.vertices - 1,
            "duplicates": self.dag.duplicates,
            "loops": self.dag.loops,
            "format": self.reading.format,
            **_described(self.reading),
            **{name: self.meta[name] for name in ("source", "source_sha256", "sha256")},
            "read_ms": 1e3 * (self.reading.load_seconds + self.reading.parse_seconds),
            "mb_per_s": self.reading.mb_per_s,
        }


def import_graph(
    path: str | os.PathLike, name: str, format: str | None = None, replace: bool | str = False, **options
) -> ImportResult:
    """Read a graph from a file, a pipe or a folder and store it as `name`, so that `open_graph(name)` opens it.

    path      the file or folder; '-' is the standard input
    format    one of `grailbench.graph.readers.FORMATS`; None to detect it from content and name
    replace   whether to replace a graph that was imported under this name from another file; or the sha256 of the one
              graph that may be replaced
    options   those of `grailbench.graph.readers.Options`

    The stored file appears at the very end, so an import that fails or is killed leaves nothing; only then the name is
    taken, by one of the processes that import under it at once. Raises InputError when the name is taken or not valid,
    or when the file is faulty (with file, line and remedy), and TooLittleMemory when the graph does not fit.
    """
    from grailbench.graph.readers import Options, opened, read_source
    from grailbench.graph.readers import reading as reading_of
    from grailbench.graph.readers.text import check_memory

    check_name(name)
    place = Location(name, "imported")
    given = Options(**options).given()
    with opened(path, format) as source:
        reading = read_source(source, format, **options)
        read_as = {"source_sha256": source.sha256, "format": reading.format}
    read_as |= {"vertices_stated": given.pop("vertices")} if "vertices" in given else {}
    read_as |= {"renumbered": given.pop("renumber")} if "renumber" in given else {}
    read_as |= {"options": json.loads(json.dumps(given))} if given else {}

    def check() -> None:
        """Whether the name is free, or of a graph that was read from the same file in the same way, or that may be
        replaced; a damaged one may be."""
        check_name(name)
        meta = None if replace is True else place.meta
        if meta is None or replace == meta["sha256"]:
            return
        if {key: meta[key] for key in _READ_AS if key in meta} != read_as:
            raise _taken(name, meta)

    check()
    with reading_of(source.path):
        check_memory(reading.graph.vertices, edges=reading.graph.edges)
    dag = store.condensed(reading.graph)
    about = {"name": name, "source": source.origin, **_described(reading), **read_as}
    meta = store.save_graph(place.path, reading.graph, about, reading.ids, check)
    store.keep_dag(dag, meta["sha256"])
    return ImportResult(name, place.path, meta, reading, dag)


def forget(name: str) -> Entry:
    """Removes the graph that was imported, or generated and stored, under a name, or imported from a path; returns its
    entry of the cache.

    Raises InputError if there is none, if several were imported from the path, or if another process uses it.
    """
    places = [place for kind in FOLDERS if (place := Location(name, kind)).here and place.path.stem == name]
    places = places or [Location(own, "imported") for own in imported_from(name)]
    if not places:
        remedy = did_you_mean(name, stored_here(), "'grailbench list datasets' shows those of this machine")
        raise InputError(f"no graph was imported or generated as {name!r}", remedy=remedy)
    if len(places) > 1:
        raise InputError(f"{name} was imported as {listing(place.name for place in places)}", remedy="name one of them")
    path = places[0].path
    entry = next((each for each in caches.entries() if each.path == path), None)
    caches.let_go(path)
    if entry is None or not caches.remove([entry]):
        raise InputError("another process uses it, or it cannot be removed", path=path, remedy="try again later")
    return entry


class Chosen(NamedTuple):
    """The name of a graph, and the sha256 of the one that is meant; None for any of that name. `open_graph` takes
    both."""

    name: str
    sha256: str | None


def named(text: str, tell: Callable[[str], object] = lambda text: None) -> Chosen:
    """The graph that a user means by a name, or by the path of a file or folder.

    A name is returned as it is. What a path names is imported if it was not before, or if it changed since: under its
    stem ('web-Google' of 'web-Google.txt.gz'), or as 'web-Google_2' and so on where that names another graph. `tell` is
    called with a line on what was done, as 'imported as NAME'.

    Raises InputError when there is neither a graph nor a file of that name, when the file was imported in several ways,
    or changed and was imported in a way of its own, when no name is free, and when the file is faulty.
    """
    if not os.path.exists(text):
        return Chosen(locate(text).name, None)
    if os.sep not in text and (found := of_name(text)) is not None:
        tell(f"{text}: the {found.kind} graph {found.name}; ./{text} is the file")
        return Chosen(found.name, None)
    by_hand = f"grailbench import {quoted(text)} --name NAME"
    if not (os.path.isfile(text) or os.path.isdir(text)):
        raise InputError("neither a file nor a folder", path=text, remedy=by_hand)
    mine = imported_from(text)
    usual = {name: meta for name, meta in mine.items() if not _in_own_way(meta)}
    for name, meta in [*usual.items(), *(mine.items() if len(mine) == 1 else ())]:
        if is_content_of(text, meta):
            return Chosen(name, meta["sha256"])
    if mine and not usual:
        remedy = "name one of them" if len(mine) > 1 else by_hand
        raise InputError(f"was imported before, in a way of its own, as {listing(mine)}", path=text, remedy=remedy)
    return _imported(text, by_hand, usual, tell)


def _imported(text: str, by_hand: str, before: dict[str, dict], tell: Callable[[str], object]) -> Chosen:
    """Imports a file or folder under the first name made of its stem that names no other graph than one that was
    imported from it before."""
    own, met = stem(text), None
    for name in (own, *(f"{own}_{number}" for number in range(2, _MOST_NAMES))):
        there = Location(name, "imported").meta
        try:
            if there is None or name in before:
                replaced = () if there is None else (there["format"], there["sha256"])
                made = import_graph(text, name, *replaced).meta
            elif _in_own_way(there) or not is_content_of(text, there):
                raise _taken(name, there)
            else:  # it was imported from a copy
                return Chosen(name, there["sha256"])
        except Taken as error:
            met = met or error
            continue
        if there is None or made["sha256"] != there["sha256"]:
            tell(f"imported as {name}{' again: it changed' if there else f': {met.args[0]}' if met else ''}")
        return Chosen(name, made["sha256"])
    raise InputError(met.args[0], remedy=by_hand)


def _taken(name: str, meta: dict) -> Taken:
    """The error for a name under which another graph was imported."""
    remedy = "grailbench import with another --name, or with --replace"
    return Taken(f"{name!r} was imported before, from {meta.get('source')}", remedy=remedy)


def _in_own_way(meta: dict) -> bool:
    """Whether a graph was imported with options."""
    return bool(meta.keys() & {*_READ_AS} - {"source_sha256", "format"})


def stem(path: str) -> str:
    """The name under which a file or folder is imported: its own without the ending, with '-' for other signs."""
    own = os.path.basename(os.path.abspath(path))
    if not os.path.isdir(path):
        konect = own.startswith("out.")
        while own.endswith(PACKED):
            own = own.rpartition(".")[0]
        own = own.removeprefix("out.") if konect else Path(own).stem
    return re.sub(r"[^A-Za-z0-9._-]+", "-", own).strip("._-")[:100]


def _described(reading: Reading) -> dict:
    """What was read, in words."""
    return {"ids": reading.ids.describe(), "weights": reading.weights, "notes": list(reading.notes)}


def check_name(name: str, beside: str = "generated", remedy: str = "choose another --name") -> None:
    """Check the name of a user's graph.

    Raises InputError when the name is not valid, belongs to a dataset or to a graph that can be generated, or is that
    of a graph in the folder `beside` of the cache ('generated' for an import, 'imported' for a generated graph).
    `remedy` is for a name that is taken.
    """
    from grailbench.graph.generate import generated_name

    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is not a valid name", remedy="letters, digits, '.', '_' and '-', at most 100")
    if (dataset := find(name)) is not None:
        raise Taken(f"{name!r} is a name of the dataset {dataset.name}", remedy=remedy)
    if "-like" in name.casefold() or name == "random" or (beside == "generated" and generated_name(name) is not None):
        raise Taken(f"{name!r} is a name of generated graphs", remedy=remedy)
    store.require_free(name, beside, remedy)
