"""Reads ontologies in OBO format, by obonet.

    [Term]
    id: GO:0000002
    is_a: GO:0048308 ! a comment
    relationship: part_of GO:0000003

An edge goes from a term to the term that it is related to, from child to parent for is_a. The vertices are all terms
that are not obsolete, and those that edges lead to, which another file may define.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.labelled import found_of, needed, parsing
from grailbench.graph.readers.table import decoded
from grailbench.graph.readers.text import Found
from grailbench.util.words import count, did_you_mean

_TERM = re.compile(r"^\[Term\]", re.MULTILINE)
_NO_TAG = re.compile(r"^[^!\[:\s][^:\n]*$", re.MULTILINE)


def read_obo(path: Path, text: np.ndarray, relations: tuple[str, ...]) -> Found:
    """Reads the terms of an ontology (uint8[size]) and the edges of these relations; is_a if none is named.

    Raises InputError if it is malformed or has no such relation, and MachineLacks without obonet.
    """
    reader = needed("obonet.read", "OBO")
    logging.getLogger("obonet.read").setLevel(logging.ERROR)  # it warns of files without a header
    whole = decoded(path, text).replace("\r\n", "\n")
    try:
        with parsing(path, "an ontology in OBO format"):
            _, terms, _, _ = reader.get_sections(io.StringIO(whole))
    except InputError as error:
        untagged = _NO_TAG.search(whole)
        line = whole.count("\n", 0, untagged.start()) + 1 if untagged else None
        raise InputError(f"'tag: value' expected: {error}" if untagged else str(error), path=path, line=line) from None
    kept = [term for term in terms if term.get("is_obsolete", "false") != "true"]
    _check_ids(path, whole, terms)
    edges = [(term["id"].strip(), *edge) for term in kept for edge in _related(path, term)]
    occurring = dict.fromkeys(relation for _, relation, _ in edges)
    for relation in relations:
        if relation not in occurring:
            raise InputError(f"no relation {relation!r}", path=path, remedy=did_you_mean(relation, occurring))
    wanted = relations or ("is_a",)
    edges = [(u, v) for u, relation, v in edges if relation in wanted]
    ids = [term["id"].strip() for term in kept]
    if not ids:
        raise InputError("the file holds no term", path=path, remedy="[Term] and its id: in OBO format")
    found = found_of(path, [u for u, _ in edges], [v for _, v in edges], list(dict.fromkeys(ids)))
    notes = [f"edges of {' and '.join(wanted)}, from child to parent: from a term to the one it is related to"]
    if others := [relation for relation in occurring if relation not in wanted]:
        notes.append(f"relations left out: {', '.join(others)} (--relation)")
    if len(kept) < len(terms):
        notes.append(f"{count(len(terms) - len(kept), 'obsolete term')} left out")
    if undefined := found.graph.vertices - len(set(ids)):
        notes.append(
            f"{count(undefined, 'term')} that edges lead to, but that the file does not define or has obsolete"
        )
    return replace(found, notes=tuple(notes))


def _check_ids(path: Path, text: str, terms: list[dict]) -> None:
    """Raises InputError for a term without an id."""
    for at, term in enumerate(terms):
        if not term.get("id"):
            begin = [found.start() for found in _TERM.finditer(text)][at]
            line = text.count("\n", 0, begin) + 1
            raise InputError("a term without an id", path=path, line=line, remedy="id: after [Term]")


def _related(path: Path, term: dict) -> Iterator[tuple[str, str]]:
    """The relation and the other term of each edge of a term."""
    yield from (("is_a", parent.strip()) for parent in term.get("is_a", ()) if parent.strip())
    for said in term.get("relationship", ()):
        words = said.split()
        if len(words) != 2:
            raise InputError(f"relationship {said[:60]!r} of {term['id']}: 'relation term' expected", path=path)
        yield words[0], words[1]
