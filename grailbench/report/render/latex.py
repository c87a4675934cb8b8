r"""A table as LaTeX with the rules of booktabs, and `longtable` for tables longer than a page.

What is written is ASCII, and compiles with pdfLaTeX, XeLaTeX and LuaLaTeX: every character of a name that LaTeX would
take for more than itself is escaped, accents and Greek letters become commands, and what no usual font has is named by
its number, as U+4E2D. Controls and marks of direction are named so too, and hence seen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from grailbench.report.table import Table

PAGE = 45  #: a table with more lines is a `longtable`
WIDE = 8  #: a table with more columns is set in small type, with little space between them
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "*": "{*}", "`": r"\textasciigrave{}", '"': r"\char34{}", "–": "--",
    "—": "---", "…": r"\dots{}", "’": "'", "×": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$",
    "→": r"$\rightarrow$", "√": r"$\surd$", "·": r"$\cdot$", "°": r"$^\circ$", "µ": r"$\mu$", "²": r"$^2$",
    "³": r"$^3$", "\n": " ", "\t": " ", "\u00a0": "~", "\u2009": r"\,", "ß": r"\ss{}", "æ": r"\ae{}",
    "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "å": r"\aa{}", "Å": r"\AA{}",
    "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
    "✓": r"$\surd$",
}  # fmt: skip
#: the command of an accent by its combining character
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip
_GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (ALPHA|BETA|GAMMA|DELTA|EPSILON|ZETA|ETA|THETA|IOTA|KAPPA|LAMDA|MU"
                    r"|NU|XI|PI|RHO|SIGMA|TAU|UPSILON|PHI|CHI|PSI|OMEGA)")  # fmt: skip
#: Greek capitals that are Latin ones
_UPRIGHT = {"ALPHA": "A", "BETA": "B", "EPSILON": "E", "ZETA": "Z", "ETA": "H", "IOTA": "I", "KAPPA": "K", "MU": "M",
            "NU": "N", "RHO": "P", "TAU": "T", "UPSILON": "Y", "CHI": "X"}  # fmt: skip
_LIGATURES = re.compile(r"([-',])(?=\1)")  # of which LaTeX would make one character
_NUMBER = re.compile(r"(?P<number>[-+]?\d[\d,]*(?P<rest>\.\d+)?)(?P<mark> ?\[[\d,]+\])?")


def escape(text: str) -> str:
    """Text as LaTeX that shows it. Brackets and stars are in braces, as one at the start of a line is an option."""
    text = unicodedata.normalize("NFC", text)
    apart = {found.start() for found in _LIGATURES.finditer(text)}
    return "".join(_escaped(letter) + "{}" * (at in apart) for at, letter in enumerate(text))


def latex(table: Table, source: str = "") -> str:
    r"""A float with caption, rules and notes, labelled `tab:NAME`; a long table is a `longtable` with a header on each
    page. The first line, a comment, names the packages.

    source  a sentence on the origin of the numbers, for the end of the caption
    """
    long = len(table.lines) > PAGE
    align = "".join("r" if header in table.right else "l" for header in table.headers)
    caption = rf"\caption[{escape(table.title)}]{{{'. '.join(filter(None, map(escape, (table.title, source))))}.}}"
    caption += rf"\label{{tab:{_label(table.name)}}}"
    body, places = [], _places(table)
    for number, group in enumerate(table.groups()):
        body += [r"\addlinespace"] * (number > 0)
        body += [_row(_aligned(cell, digits) for cell, digits in zip(line, places, strict=True)) for line in group]
    head, notes = _head(table), [rf"{{\footnotesize\raggedright {escape(note)}\par}}" for note in table.notes]
    small = [r"\footnotesize\setlength{\tabcolsep}{3pt}"] * (len(table.headers) > WIDE)
    if long:
        again = rf"\multicolumn{{{len(table.headers)}}}{{l}}{{\tablename~\thetable{{}}, continued}} \\"
        parts = [r"% needs \usepackage{booktabs,longtable}", r"\begingroup", *small, rf"\begin{{longtable}}{{{align}}}",
                 caption + r" \\", *head, r"\endfirsthead", again, *head, r"\endhead", r"\bottomrule", r"\endlastfoot",
                 *body, r"\end{longtable}", *notes, r"\endgroup"]  # fmt: skip
    else:
        parts = [r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering", caption, *small,
                 rf"\begin{{tabular}}{{{align}}}", *head, *body, r"\bottomrule", r"\end{tabular}",
                 *[r"\par\smallskip"] * bool(notes), *notes, r"\end{table}"]  # fmt: skip
    return "\n".join(parts) + "\n"


def _head(table: Table) -> list[str]:
    """The header between its rules; units stand below the names."""
    lines = [_row(map(escape, table.headers))]
    if table.units:
        units = (table.units.get(name, "") for name in table.headers)
        lines.append(_row(f"({escape(unit)})" if unit else "" for unit in units))
    return [r"\toprule", *lines, r"\midrule"]


def _row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _places(table: Table) -> list[int]:
    """How many characters a column has from the decimal point on: 0 for columns of text and of whole numbers."""
    return [
        max((len(found["rest"] or "") for line in table.lines if (found := _NUMBER.fullmatch(line[at]))), default=0)
        if header in table.right
        else 0
        for at, header in enumerate(table.headers)
    ]


def _aligned(cell: str, places: int) -> str:
    """A cell whose number has its decimal point where those of its column are, by digits that are not seen. The
    reference to a note takes no place."""
    found = _NUMBER.fullmatch(cell)
    if not places or found is None:
        return escape(cell)
    missing = places - len(found["rest"] or "")
    blank = ("" if found["rest"] else ".") + "0" * (missing if found["rest"] else missing - 1)
    mark = rf"\rlap{{\textsuperscript{{{escape(found['mark'].strip())}}}}}" if found["mark"] else ""
    return escape(found["number"]) + mark * (not missing) + (rf"\phantom{{{blank}}}{mark}" if missing else "")


def _escaped(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if " " <= letter <= "~":
        return letter
    base, *marks = unicodedata.normalize("NFD", letter)
    if len(marks) == 1 and base.isascii() and marks[0] in _ACCENTS:
        dotless = base in "ij" and marks[0] not in "\u0323\u0327\u0331"  # below an accent
        return rf"\{_ACCENTS[marks[0]]}{{{chr(92) * dotless}{base}}}"
    if found := _GREEK.fullmatch(unicodedata.name(letter, "")):
        size, name = found.groups()
        if size == "CAPITAL" and name in _UPRIGHT:
            return _UPRIGHT[name]
        name = name.replace("LAMDA", "LAMBDA")
        return rf"$\{name.capitalize() if size == 'CAPITAL' else name.lower()}$"
    return rf"{{\ttfamily U+{ord(letter):04X}}}"


def _label(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-.") else "-" for letter in name)
