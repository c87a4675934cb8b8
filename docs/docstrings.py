"""Docstrings of grailbench as Markdown: a table of names and meanings, which is a paragraph in columns, is shown as it
stands, and a class's examples are programs."""

import re

from griffe import Extension


class Columns(Extension):
    """Fences the paragraphs that Markdown would reflow."""

    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = "\n\n".join(map(_fenced, re.split(r"\n{2,}", obj.docstring.value)))


def _fenced(paragraph):
    if paragraph.startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    return f"```\n{paragraph}\n```" if re.search(r"^\S+ {2,}\S|^ {3,}", paragraph, re.MULTILINE) else paragraph
