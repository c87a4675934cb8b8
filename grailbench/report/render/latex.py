r"""A table as LaTeX with the rules of booktabs, which fits `article` in one column of text or two.

A wide table lies on its side, what is wider still is scaled down, and a long one goes on in further floats.

What is written is ASCII, and compiles with pdfLaTeX, XeLaTeX and LuaLaTeX: every character of a name that LaTeX would
take for more than itself is escaped, and what is neither ASCII nor in `_SPECIAL` is named by its number, as U+4E2D;
controls and marks of direction too, so that they are seen.
"""

import re
from collections.abc import Iterable

from grailbench.report.table import Table

PAGE, ASIDE = 45, 26  #: lines of a float, and of one on its side
WIDE = 90  #: a table of more characters a line lies on its side: `article` has 80 to 90 of this size
NOTES = 1_000  #: longer notes, in characters, stand below the float, not in it
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "*": "{*}", "`": r"\textasciigrave{}", '"': r"\char34{}", "–": "--",
    "—": "---", "…": r"\dots{}", "’": "'", "×": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$",
    "→": r"$\rightarrow$", "√": r"$\surd$", "✓": r"$\surd$", "·": r"$\cdot$", "µ": r"$\mu$", "²": r"$^2$",
    "†": r"\dag{}", "‡": r"\ddag{}",
    "\n": " ", "\t": " ", "\u00a0": "~", "\u2009": r"\,",
}  # fmt: skip
_LIGATURES = re.compile(r"([-',])(?=\1)")  # of which LaTeX would make one character
_NOTED = re.compile(r"(.*\S) ?(\[[\d,]+\])")


def escape(text: str) -> str:
    """Text as LaTeX that shows it. Brackets and stars are in braces, as one at the start of a line is an option."""
    split = {found.start() for found in _LIGATURES.finditer(text)}
    return "".join(_escaped(letter) + "{}" * (at in split) for at, letter in enumerate(text))


def _escaped(letter: str) -> str:
    plain = letter if " " <= letter <= "~" else rf"{{\ttfamily U+{ord(letter):04X}}}"
    return _SPECIAL.get(letter, plain)


def latex(table: Table, source: str = "", of: str = "") -> str:
    r"""Floats with caption, rules and notes, the first labelled `tab:OF-NAME`, those after it numbered as it is and
    called 'continued'. The first line, a comment, names the packages.

    source  a sentence on the origin of the numbers, for the end of the caption
    of      what tells its label from those of others: the name of its run
    """
    align = "".join("r" if header in table.right else "l" for header in table.headers)
    label = re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(filter(None, (of, table.name))))
    caption = rf"\caption[{escape(table.title)}]{{{'. '.join(filter(None, map(escape, (table.title, source))))}.}}"
    again = rf"\addtocounter{{table}}{{-1}}\caption[]{{{escape(table.title)}, continued.}}"
    columns = zip(table.headers, *table.lines, strict=True)
    aside = sum(2 + max(map(len, column)) for column in columns) > WIDE
    float_, most = ("sidewaystable*", ASIDE) if aside else ("table*", PAGE)
    head = [r"\toprule", _row(map(escape, table.headers)), r"\midrule"]
    rows = [(number > 0 and at == 0, _row(map(_cell, line))) for number, group in enumerate(table.groups())
            for at, line in enumerate(group)]  # fmt: skip
    notes = [rf"{{\footnotesize\raggedright {escape(note)}\par}}" for note in table.notes]
    below = sum(map(len, table.notes)) > NOTES
    parts = [r"% needs \usepackage{adjustbox,booktabs,rotating}"]
    for first in range(0, len(rows) or 1, most):
        body = [line for apart, row in rows[first : first + most] for line in ([r"\addlinespace"] * apart) + [row]]
        parts += [rf"\begin{{{float_}}}", r"\centering", again if first else rf"{caption}\label{{tab:{label}}}",
                  r"\footnotesize\setlength{\tabcolsep}{3pt}", r"\begin{adjustbox}{max width=\linewidth}",
                  rf"\begin{{tabular}}{{{align}}}", *head, *body, r"\bottomrule", r"\end{tabular}",
                  r"\end{adjustbox}"]  # fmt: skip
        if first + most >= len(rows) and notes and not below:
            parts += [r"\par\smallskip", *notes]
        parts.append(rf"\end{{{float_}}}")
    return "\n".join([*parts, *(notes if below else [])]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _cell(text: str) -> str:
    """A cell; references to notes are raised."""
    found = _NOTED.fullmatch(text)
    return rf"{escape(found[1])}\textsuperscript{{{escape(found[2])}}}" if found else escape(text)
