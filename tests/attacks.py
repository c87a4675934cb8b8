"""Names that attack whoever shows them, the places where they come from, and a scanner for each format of output.

A scanner takes a text and returns what is wrong with it, a list of sentences, which is empty where nothing is.
"""

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from stored import ENVIRONMENT, HOSTILE, everything, lost, store, trials

FORGED = "error: FORGED"  #: a line of its own that no output has
#: one attack each, by what it attacks
ATTACKS = {
    "terminal": f"\x1b[2J\x1b]0;title\x07\x1b[31mred\x9b31m\x08\x7f\r\x85{FORGED}",
    "lines": f"a\n{FORGED}\r\n{FORGED}\u2028{FORGED}\u2029{FORGED}\x0b{FORGED}\x0c{FORGED}",
    "bidi": "\u202egnp.exe\u202c \u2066iso\u2069 \u200e\u200f\u061c",
    "unseen": "ze\u200bro\u200c\u200d\u2060\ufeff\u00ad\ufe0f\U000e0041\U000e0100\u115f\u3164\u180e\u2800",
    "spaces": "a\u00a0b\u2003c\u3000d\u202fe",
    "marks": "\u0301\u0489x" + "\u0335" * 40,
    "markup": HOSTILE + '"><img src=x onerror=alert(1)>\'--></script><svg onload=alert(2)>',
    "formula": "=HYPERLINK(\"http://x.invalid\";\"y\")\t=1+1;@SUM(A1)\r\n-cmd|' /C calc'!A0",
    "plus": "+1+1", "minus": "-2+3", "at": "@SUM(1)", "tab": "\t=1+1", "full": "\uff1d1+1",
    "markdown": "# x | `a` **b** [c](javascript:alert(3)) ![d](http://x.invalid/y) <b>e</b> &lt; \\| _f_ ~~g~~ $h$",
    "latex": "\\input{/etc/passwd}\\write18{id}%&_#{}$^~",
    "mathtext": r"$\frac{$ $x_1^{2}$ \mathdefault{",
    "scripts": "שלום مرحبا 日本語 Ünïcödé é e\u0301 👩\u200d👧 ❤\ufe0f",
    "template": "{{ 7*7 }} {% raw %} ${7*7} %s %(x)s {0}",
    "rich": "[bold red]x[/] [link=http://x.invalid]y[/link] :bomb:",
    "path": "../../etc/passwd",
    "windows": "CON",
    "prototype": "__proto__",
}  # fmt: skip
EVERY = "".join(ATTACKS.values())
#: what no text for people may have, a line break aside: told by Unicode, and not by what the product hides
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CATEGORIES = {"Cc", "Cs", "Co", "Zl", "Zp"}


# ------------------------------------------------------------------ scanners


def hidden(text: str, keep: str = "\n") -> list[str]:
    """What moves a cursor, turns text round, or hides."""
    found = {
        letter
        for letter in text
        if letter not in keep
        and (
            unicodedata.category(letter) in _CATEGORIES
            or _IGNORABLE.match(letter)
            or (letter != " " and unicodedata.category(letter) == "Zs")
            or letter == "\u2800"
        )
    }
    return [f"U+{ord(letter):04X} is shown as it is" for letter in sorted(found)]


def terminal(text: str, keep: str = "\n") -> list[str]:
    """What a terminal obeys, a line that a name made, and accents that stand on nothing of their own."""
    wrong = hidden(text, keep)
    wrong += [f"a name made a line: {line!r}" for line in text.split("\n") if line.lstrip().startswith(FORGED)]
    wrong += ["accents are piled up"] * bool(re.search("[\u0300-\u036f]{8}", text))
    return wrong


def json_lines(text: str, wanted: str | None = None) -> list[str]:
    """A line that is no JSON; and, if `wanted`, that no string in it is this very text."""
    texts: list[str] = []
    try:
        for line in text.splitlines() if text.count("\n{") else [text]:
            _texts(json.loads(line), texts)
    except ValueError as error:
        return [f"no JSON: {error}"]
    missing = wanted is not None and not any(wanted in each for each in texts)
    return [] if text.isascii() and not missing else ["not ASCII, or the name is not there as it is"]


def _texts(value, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    for each in value if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else ():
        _texts(each, found)


def table(text: str) -> list[str]:
    """A cell of CSV that a spreadsheet calculates, lines of another length than the first."""
    wrong, wide = [], None
    for line in csv.reader(io.StringIO(text, newline="")):
        wide = len(line) if wide is None else wide
        wrong += [f"{len(line)} cells in place of {wide}"] * (len(line) != wide)
        for cell in line:
            for part in re.split(r"[;\t\r\n]", cell):
                number = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell)
                if not number and re.match(r" *[=+\-@\uff1d\uff0b\uff0d\uff20]", part):
                    wrong.append(f"a formula: {cell!r}")
            wrong += [f"a formula: {cell!r}"] * bool(cell and cell[0] in "\t\r\n\0")
    return wrong


#: elements that our pages have; no name makes one
_OURS = """html head meta title style script body header h1 h2 h3 h4 p a nav ul ol li main section div table caption
thead tbody tr th td button details summary footer figure figcaption dl dt dd select option label span small bdi input
noscript em q svg g path use defs rect text tspan clippath pattern desc line circle polygon code pre strong link br"""
_ELEMENTS = frozenset(_OURS.split())
_ADDRESS = re.compile(
    r"(?!\w+:|//|/)[\w./#%-]*|data:(?:text/csv|image/svg\+xml);charset=utf-8;base64,[\w+/=]*|#[\w.-]*|https://[\w./#-]+"
)


class _Markup(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.wrong: list[str] = []
        self.scripts = 0
        self._raw = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        self.scripts += name == "script"
        self._raw = name if name in ("script", "style") else ""
        self.wrong += [f"an element {name!r}"] * (name not in _ELEMENTS)
        for key, value in attributes:
            value = value or ""
            self.wrong += [f"an attribute {key!r}"] * (key.startswith("on") or not re.fullmatch(r"[a-z][\w:-]*", key))
            self.wrong += [f"an address {value!r}"] * (
                key in ("href", "src", "action", "xlink:href", "formaction") and not _ADDRESS.fullmatch(value)
            )
            self.wrong += [f"in {key}: {each}" for each in hidden(value)]

    def handle_endtag(self, name):
        self._raw = ""

    def handle_data(self, data):
        self.wrong += hidden(data, "\n")
        self.wrong += ["code that is a name's"] * (
            self._raw != "" and re.search(r"alert\([\"'\d]", data) is not None and data[:1] != "{"
        )

    def handle_comment(self, data):
        self.wrong.append(f"a comment {data!r}")


def page(text: str) -> list[str]:
    """What a name made in a page of HTML: an element, an attribute, an address, code; and what is hidden."""
    read = _Markup(text)
    return read.wrong + ([f"{read.scripts} scripts"] if read.scripts > 2 else [])


def drawing(text: str) -> list[str]:
    """The same in an SVG file, which must be XML."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return [f"no XML: {error}"]
    wrong = []
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        wrong += [f"an element {name!r}"] * (name.lower() not in _ELEMENTS or name in ("script", "a"))
        for key, value in element.attrib.items():
            key = key.rpartition("}")[2]
            wrong += [f"an attribute {key!r}"] * (key.startswith("on") or (key == "href" and value[:1] != "#"))
            wrong += hidden(value)
        wrong += [each for part in (element.text, element.tail) for each in hidden(part or "")]
    return wrong


def markdown(text: str) -> list[str]:
    """What a name made in a page of Markdown: anything but headings, lists, paragraphs, tables and code."""
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    names = set(re.findall(r"<([a-zA-Z][\w-]*)", html))
    ours = {"h1", "h2", "h3", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "details"}
    ours.add("summary")
    wrong = hidden(text) + [f"an element {name!r}" for name in sorted(names - ours)]
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        wide = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in block.splitlines()}
        wrong += ["lines of a table have other numbers of cells"] * (len(wide) > 1)
    return wrong


def latex(text: str) -> list[str]:
    """A command or a comment in a file of LaTeX that a name made."""
    wrong = [] if text.isascii() else ["not ASCII"]
    body = re.sub(r"^% needs.*$", "", text, flags=re.MULTILINE)
    tokens = set(re.findall(r"\\[A-Za-z]+|\\.|[%#&]", body, re.DOTALL))
    active = {"\\input", "\\include", "\\write", "\\def", "\\catcode", "\\openin", "\\csname", "\\immediate", "%", "#"}
    return wrong + [f"{each} is active" for each in sorted(active & tokens)]


#: by the ending of a file
SCANNERS = {".csv": table, ".html": page, ".svg": drawing, ".md": markdown, ".tex": latex}


def files(folder: Path) -> dict[str, list[str]]:
    """What is wrong with each file of a folder that has a scanner; what was recorded is not ours to scan."""
    return {
        path.name: wrong
        for path in sorted(folder.rglob("*"))
        if path.suffix in SCANNERS and path.is_file()
        if (wrong := SCANNERS[path.suffix](path.read_bytes().decode("utf-8")))
    }


# ------------------------------------------------------------------ sources


def environment(name: str) -> dict:
    """An environment whose every text is the name."""
    return {
        **ENVIRONMENT, "cpu": name, "host": name, "commit": name, "dirty": True, "branch": name, "os": name,
        "python": name, "governor": name, "fingerprint": name, "at": "2025-01-01", "grailbench": name,
        "packages": {"numba": name, name: name}, "threads": {name: name}, "command": ["grailbench", name],
        "gpus": [{"name": name, "driver": name, "memory_bytes": 1}],
    }  # fmt: skip


def rows(name: str) -> list[dict]:
    """Rows of a run whose every text that may be anything is the name."""
    return [
        *everything(),
        *trials(dataset=name, kind="imported", query=7.0, counters={name: 5, "searches": 3}),
        *trials(dataset="kegg", impl=name, query=3.0),
        *trials(dataset="kegg", query_set=name, query=4.0),
        *trials(dataset="kegg", order=name, query=5.0, parts={("label", name): 0.25}),
        *trials(dataset=f"{name}-like", stands_for=name, checksum=name, verified=name),
        *lost("failed", name, dataset="human", impl=name),
        *lost("wrong", name, dataset=name, impl="parallel"),
    ]


def run(folder: Path, name: str, **said) -> Path:
    """A stored run of these rows in that environment, with these fields replaced."""
    path = store(folder, rows(name), environment(name) | said)
    (path / "plan.json").write_text(json.dumps({"name": name, "title": name, "description": name, "cells": []}))
    return path


def file_name(name: str) -> str:
    """The name as that of a file: what no file may have is left out, and it is short enough."""
    left = name.replace("/", "").replace("\0", "")
    return left.encode("utf-8", "surrogateescape")[:180].decode("utf-8", "ignore").strip(".") or "x"
