"""A table as LaTeX without packages, except `longtable` for tables longer than a page."""

from __future__ import annotations

from grailbench.report.table import Table

PAGE = 45  #: a table with more lines is a `longtable`
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "–": "--", "×": r"$\times$", "±": r"$\pm$", "\n": " ",
}  # fmt: skip


def escape(text: str) -> str:
    """Text with LaTeX's special characters escaped; brackets too, since one at the start of a line is an option."""
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def latex(table: Table) -> str:
    r"""A float with caption, rules and notes, labelled `tab:NAME`; a long table is a `longtable` with a header on each
    page."""
    align = "".join("r" if header in table.right else "l" for header in table.headers)
    caption = rf"\caption{{{escape(table.title)}}}\label{{tab:{_label(table.name)}}}"
    head = ["\\hline", _row(table.headers), "\\hline"]
    body = []
    for group in table.groups():
        body += [*map(_row, group), "\\hline"]
    notes = [rf"\par\footnotesize {escape(note)}" for note in table.notes]
    if len(table.lines) > PAGE:
        parts = [r"% needs \usepackage{longtable}", rf"\begin{{longtable}}{{{align}}}", caption + r" \\", *head,
                 r"\endhead", *body, r"\end{longtable}", *notes]  # fmt: skip
    else:
        parts = [r"\begin{table}", r"\centering", caption, rf"\begin{{tabular}}{{{align}}}", *head, *body,
                 r"\end{tabular}", *notes, r"\end{table}"]  # fmt: skip
    return "\n".join(parts) + "\n"


def _row(cells: list[str]) -> str:
    return f"{' & '.join(map(escape, cells))} \\\\"


def _label(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in name)
