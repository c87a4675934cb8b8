r"""A table as LaTeX with the rules of booktabs, and `longtable` for tables longer than a page.

What is written is ASCII, and compiles with pdfLaTeX, XeLaTeX and LuaLaTeX: every character of a name that LaTeX would
take for more than itself is escaped, and what is neither ASCII nor in `_SPECIAL` is named by its number, as U+4E2D;
controls and marks of direction too, so that they are seen.
"""

import re
from collections.abc import Iterable

from grailbench.report.table import Table

PAGE = 45  #: a table with more lines is a `longtable`
WIDE = 8  #: a table with more columns is set in small type, with little space between them
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "*": "{*}", "`": r"\textasciigrave{}", '"': r"\char34{}", "–": "--",
    "—": "---", "…": r"\dots{}", "’": "'", "×": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$",
    "→": r"$\rightarrow$", "√": r"$\surd$", "✓": r"$\surd$", "·": r"$\cdot$", "µ": r"$\mu$", "²": r"$^2$",
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


def latex(table: Table, source: str = "") -> str:
    r"""A float with caption, rules and notes, labelled `tab:NAME`; a long table is a `longtable` with a header on each
    page. The first line, a comment, names the packages.

    source  a sentence on the origin of the numbers, for the end of the caption
    """
    align = "".join("r" if header in table.right else "l" for header in table.headers)
    label = re.sub(r"[^A-Za-z0-9.-]", "-", table.name)
    caption = rf"\caption[{escape(table.title)}]{{{'. '.join(filter(None, map(escape, (table.title, source))))}.}}"
    caption += rf"\label{{tab:{label}}}"
    head, body = [r"\toprule", _row(map(escape, table.headers)), r"\midrule"], []
    for number, group in enumerate(table.groups()):
        body += [r"\addlinespace"] * (number > 0) + [_row(map(_cell, line)) for line in group]
    notes = [rf"{{\footnotesize\raggedright {escape(note)}\par}}" for note in table.notes]
    small = [r"\footnotesize\setlength{\tabcolsep}{3pt}"] * (len(table.headers) > WIDE)
    if len(table.lines) > PAGE:
        again = rf"\multicolumn{{{len(table.headers)}}}{{l}}{{\tablename~\thetable{{}}, continued}} \\"
        parts = [r"% needs \usepackage{booktabs,longtable}", r"\begingroup", *small, rf"\begin{{longtable}}{{{align}}}",
                 caption + r" \\", *head, r"\endfirsthead", again, *head, r"\endhead", r"\bottomrule", r"\endlastfoot",
                 *body, r"\end{longtable}", *notes, r"\endgroup"]  # fmt: skip
    else:
        parts = [r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering", caption, *small,
                 rf"\begin{{tabular}}{{{align}}}", *head, *body, r"\bottomrule", r"\end{tabular}",
                 *[r"\par\smallskip"] * bool(notes), *notes, r"\end{table}"]  # fmt: skip
    return "\n".join(parts) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _cell(text: str) -> str:
    """A cell; references to notes are raised."""
    found = _NOTED.fullmatch(text)
    return rf"{escape(found[1])}\textsuperscript{{{escape(found[2])}}}" if found else escape(text)
