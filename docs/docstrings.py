"""Docstrings of grailbench as Markdown: a paragraph in two columns, of names and meanings, becomes a list, and an
example a program."""

import re

from griffe import Extension


class Columns(Extension):
    """Marks up the paragraphs that Markdown would reflow."""

    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = "\n\n".join(map(_marked, re.split(r"\n{2,}", obj.docstring.value)))


def _marked(paragraph):
    if paragraph.startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    if not re.search(r"^\S+ {2,}\S|^ {3,}", paragraph, re.MULTILINE):
        return paragraph
    entries = re.split(r"\n(?=\S)", paragraph)
    found = [re.fullmatch(r"([\w, *]+?)(?: {2,}|\n)(.*)", entry, re.DOTALL) for entry in entries]
    if not all(found):
        return f"```\n{paragraph}\n```"
    return "\n".join(f"- `{each[1]}`: {' '.join(each[2].split())}" for each in found)
