"""Reads TOML files (configs, gates, the registry of datasets) into checked pydantic models.

Every fault of a file becomes an InputError that names the file, the line if known, the key and the remedy.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError

from grailbench.errors import InputError
from grailbench.util.files import read_text
from grailbench.util.words import did_you_mean

Model = TypeVar("Model", bound=BaseModel)


def read(
    path: Path, model: type[Model], prepare: Callable[[dict], object] | None = None, remedy: str | None = None
) -> Model:
    """The model that a TOML file describes.

    prepare   called with the tables before they are checked; it may change them
    remedy    the remedy that errors name

    Raises InputError if the file is missing, unreadable or not TOML, or if a key is unknown, missing or wrong.
    """
    try:
        text = read_text(path)
        raw = tomllib.loads(text)
    except FileNotFoundError:
        raise InputError("there is no such file", path=path, remedy=remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", path=path, remedy=remedy) from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else None
        raise InputError(f"not TOML: {error}", path=path, line=line, remedy=remedy) from None
    if prepare is not None:
        prepare(raw)
    return check(model, raw, path, text, remedy=remedy)


def check(
    model: type[Model],
    raw: object,
    path: Path | None = None,
    text: str = "",
    named: Callable[[str], str] | None = None,
    remedy: str | None = None,
) -> Model:
    """The model of tables that were read already.

    path, text   the file of the tables and its content
    named        gives the name of a key in messages, for tables that come from no file

    Raises InputError for the first unknown key, or else for the first wrong one.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    first = problems[0]
    place = _place(raw, first)
    where = named(str(place[-1])) if named is not None and place else _in_words(place)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    what = f"{where}: {_fault(model, first, place)}{more}"
    raise InputError(what, path=path, line=_line(text, place), remedy=remedy)


def _place(raw: object, problem: dict) -> tuple[str | int, ...]:
    """The keys and list indices that lead to a fault: the location that pydantic gives, up to the first value."""
    place = []
    for part in problem["loc"]:
        if isinstance(raw, dict) and (part in raw or problem["type"] == "missing"):
            raw = raw.get(part)
        elif isinstance(raw, list) and isinstance(part, int) and isinstance(raw[part], dict):
            raw = raw[part]
        else:
            break
        place.append(part)
    return tuple(place)


def _in_words(place: tuple[str | int, ...]) -> str:
    """A place in messages: "experiment 2, key 'dim'", "key 'sets.large.across'", or "experiment 2" for a table."""
    found, keys = [], []
    for part in place:
        if isinstance(part, int):
            found, keys = [*found, f"{'.'.join(keys)} {part + 1}"], []
        else:
            keys.append(part)
    return ", ".join(found + ([f"key {'.'.join(keys)!r}"] if keys else [])) or "the file"


def _fault(model: type[BaseModel], problem: dict, place: tuple[str | int, ...]) -> str:
    """What is wrong at a place, from an error of pydantic."""
    if problem["type"] == "extra_forbidden":
        name = str(place[-1])
        return f"unknown key, {did_you_mean(name, _within(model, place[:-1]).model_fields, most=1, show=repr)}"
    if problem["type"] == "missing":
        field = _within(model, place[:-1]).model_fields.get(place[-1])
        return f"missing; {field.description}" if field is not None and field.description else "missing"
    what, given = problem["msg"].removeprefix("Value error, "), problem["input"]
    shown = isinstance(given, dict) or (isinstance(given, str) and repr(given) in what)
    return what if shown else f"{what}, got {given!r}"


def _within(model: type[BaseModel], place: tuple[str | int, ...]) -> type[BaseModel]:
    """The model of the table at a place."""
    for part in place:
        if part in model.model_fields:
            model = next(_models(model.model_fields[part].annotation), model)
    return model


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models in the type of a field."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _line(text: str, place: tuple[str | int, ...]) -> int | None:
    """The line (1-based) of the key at a place, if only one line of the file has it; else None."""
    if not place:
        return None
    key = re.compile(rf"(?<![\w-])[\"']?{re.escape(str(place[-1]))}[\"']?\s*[=.\]]")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if key.search(line)]
    return lines[0] if len(lines) == 1 else None
