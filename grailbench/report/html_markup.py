"""Markup that cannot be broken by data: whatever is not `Safe` is escaped where it is put in."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape


class Safe(str):
    """Markup made here. Any other text is data."""

    __slots__ = ()


def safe(content: object) -> Safe:
    """Markup as it is, anything else escaped, None as nothing, lists one after the other."""
    if content is None:
        return Safe("")
    if isinstance(content, Safe):
        return content
    if isinstance(content, Iterable) and not isinstance(content, str):
        return Safe("".join(safe(part) for part in content))
    return Safe(escape(str(content), quote=True))


def tag(name: str, /, *content: object, **attributes: object) -> Safe:
    """An element. Attributes: a trailing underscore is dropped, others become hyphens; None and False leave one out,
    True gives it without a value."""
    parts = [name]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(key)
        elif value is not None and value is not False:
            parts.append(f'{key}="{escape(_text(value), quote=True)}"')
    inner = safe(content)
    if name in _VOID:
        return Safe(f"<{' '.join(parts)}>")
    return Safe(f"<{' '.join(parts)}>{inner}</{name}>")


_VOID = ("br", "input", "meta")


def _text(value: object) -> str:
    """Coordinates to a tenth, so that files stay small and the same everywhere."""
    if isinstance(value, float):
        text = f"{value:.1f}".removesuffix(".0")
        return "0" if text in ("-0", "nan") else text
    return str(value)


def download(name: str, text: str, kind: str = "text/csv") -> Safe:
    """A link that holds a file in itself."""
    data = base64.b64encode(text.encode()).decode()
    return tag(
        "a",
        "CSV",
        class_="csv",
        download=name,
        href=f"data:{kind};charset=utf-8;base64,{data}",
        aria_label=f"download the data: {name}",
    )
