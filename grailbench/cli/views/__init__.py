"""What commands show on a screen, and what all of them print alike."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from grailbench.util.visible import visible


def put_json(records: Iterable[dict]) -> None:
    """Print one JSON object a line."""
    for record in records:
        click.echo(json.dumps(record))


def note(text: str) -> None:
    """Print a line for people on stderr, where it does not mix with results."""
    click.echo(visible(text), err=True)


def say(text: object, apart: bool = False) -> None:
    """Print a line for people on stdout, or, if `apart`, on stderr."""
    click.echo(visible(str(text)), err=apart)
