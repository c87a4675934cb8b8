"""Rewrites matplotlib's SVG: smaller, always the same bytes, and with names that a page's script finds.

A group of marks has the position of its series as `data-series`, the sign of a series in the legend has it as
`data-key`, and each mark has its tooltip as `title`. On a page a mark with an address is within a link, whose name is
the tooltip; files have no links.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit
from xml.etree import ElementTree

from grailbench.report.draw import style
from grailbench.report.draw.sheet import Meaning, Sheet

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_ADDRESS = "data-address"  #: of a mark, until it is within a link
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_GEOMETRY = ("d", "x", "y", "width", "height", "transform", "style", "points")
_FONT = "'DejaVu Sans'"
#: the colours of a file to the variables of a page, which follow the page's theme
_VARIABLES = {
    **{colour: f"var(--s{i})" for i, colour in enumerate(style.LIGHT)},
    style.INK: "var(--ink)", style.SOFT: "var(--soft)", style.LINE: "var(--line)", style.EDGE: "var(--edge)",
    style.GUIDE: "var(--edge)", style.BAD: "var(--bad)", style.PAPER: "var(--page)",
}  # fmt: skip
_STYLE = re.compile(r"([\w-]+):\s*([^;]+?)\s*(?:;|$)")
_FONT_IN_ONE = re.compile(r"(?:(\w+) )?([\d.]+px)")
_COLOUR = re.compile("|".join(_VARIABLES))


def file(sheet: Sheet, drawn: bytes) -> bytes:
    """An SVG file with its title, from matplotlib's SVG of a sheet."""
    root = _rewritten(sheet, drawn, linked=False)
    for at, (name, text) in enumerate([("title", sheet.figure.title), ("desc", sheet.figure.caption)]):
        element = ElementTree.Element(_SVG + name)
        element.text = text
        root.insert(at, element)
    text = _text(root).replace(_FONT, f"{_FONT}, Verdana, sans-serif")
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + text + "\n").encode()


def inline(sheet: Sheet, drawn: bytes) -> str:
    """An SVG element of a page, in the page's font and the colours of its theme. Styles become attributes, because the
    page's content security policy forbids `style` attributes."""
    root = _rewritten(sheet, drawn, linked=True)
    root.set("role", "group")
    root.set("aria-label", f"{sheet.figure.title}. {sheet.figure.caption}")
    for name in ("width", "height"):
        del root.attrib[name]
    for element in root.iter():
        for name, value in _STYLE.findall(element.attrib.pop("style", "")):
            if name == "font":  # matplotlib before 3.9 writes weight, size and family as one property
                weight, size = _FONT_IN_ONE.match(value).groups()
                element.attrib |= {"font-size": size} | ({"font-weight": weight} if weight else {})
            elif name != "font-family":
                element.set(name, value)
        for name in {"fill", "stroke"} & element.attrib.keys():
            element.set(name, _COLOUR.sub(lambda found: _VARIABLES[found[0]], element.attrib[name]))
    _linked(root)
    text = _text(root)
    return re.sub(r' xmlns(:xlink)?="[^"]*"', "", text, count=2)


def _rewritten(sheet: Sheet, drawn: bytes, linked: bool) -> ElementTree.Element:
    root = ElementTree.fromstring(drawn)  # noqa: S314 - what matplotlib has just written
    for child in list(root):
        if child.tag in (f"{_SVG}metadata", f"{_SVG}title") or child.find(f"{_SVG}style") is not None:
            root.remove(child)  # a style element would apply to the whole page
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    _name(root, sheet.meanings, linked)
    _round(root)
    return root


def _name(root: ElementTree.Element, meanings: Mapping[str, Meaning], linked: bool) -> None:
    """Name the series of each group of marks, and give the marks their tooltips and, if `linked`, their addresses."""
    for group in root.iter(f"{_SVG}g"):
        found = meanings.get(group.attrib.pop("id", ""))
        if found is None:
            continue
        group.set("data-key" if found.key else "data-series", str(found.series))
        inner = {child for defs in group.iter(f"{_SVG}defs") for child in defs.iter()}
        marks = [each for each in group.iter() if each.tag in (_SVG + "use", _SVG + "path") and each not in inner]
        for mark, hint in zip(marks, found.hints, strict=bool(found.hints)):
            if hint:
                ElementTree.SubElement(mark, f"{_SVG}title").text = hint
        for mark, address in zip(marks, found.links, strict=bool(found.links)):
            if address and linked:
                mark.set(_ADDRESS, address)


def _linked(root: ElementTree.Element) -> None:
    """Put each mark that has an address within a link. Raises ValueError for an address that a browser would run."""
    for parent in list(root.iter()):
        for at, mark in enumerate(parent):
            if (address := mark.attrib.pop(_ADDRESS, None)) is None:
                continue
            if urlsplit(address).scheme not in ("", "http", "https"):
                raise ValueError(f"{address!r} is no address of a page")
            link = ElementTree.Element(_SVG + "a", href=address)
            if (hint := mark.findtext(f"{_SVG}title")) is not None:
                link.set("aria-label", hint)
            link.append(mark)
            parent[at] = link


def _round(root: ElementTree.Element) -> None:
    """Round numbers to two decimals, and remove blank text."""
    for element in root.iter():
        for name in _GEOMETRY:
            if name in element.attrib:
                element.set(name, " ".join(_LONG.sub(_short, element.attrib[name]).split()))
        if element.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
        element.text = None if element.text is not None and not element.text.strip() else element.text
        element.tail = None


def _short(number: re.Match) -> str:
    text = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _text(root: ElementTree.Element) -> str:
    ElementTree.register_namespace("", _SVG[1:-1])
    ElementTree.register_namespace("xlink", _LINK[1:-1])
    return ElementTree.tostring(root, encoding="unicode")
