"""The reference of the library as Markdown, generated from its docstrings.

`python -m grailbench.api.reference > docs/library.md` writes the page; a test checks that it is up to date.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from grailbench import api

HEAD = """\
# The library

`import grailbench as gb`: graphs with your own ids, an index of any implementation, and answers in a program. A walk
from a table to an answer is in the [guide](guide.md#from-a-table-to-an-answer); NetworkX programs may keep calling
[NetworkX](networkx.md); runs of benchmarks as data frames and figures are in a [notebook](results.ipynb). What the
library costs beside the kernels is measured on [2 cores](../results/baselines/xeon-2core/README.md#the-library).

Made from the docstrings by `python -m grailbench.api.reference > docs/library.md`; a test runs every example. The
examples of `Index` are about this graph:

```python
import grailbench as gb

graph = gb.Graph.from_edges(["flour", "dough", "oven"], ["dough", "bread", "bread"])
index = gb.build(graph)
```

Every mistake raises `gb.InputError` (an unknown vertex with the names that are near, a file with its line, an index of
another graph or version, damage) or `gb.MachineLacks` (no GPU, one that failed, an extra that is not installed, too
little memory); both are `gb.GrailbenchError`, with a message of one line that says what to do. Any number of threads
may use a graph or an index at once, and both can be pickled. A process that is forked after such use has them too; fork
while no other thread asks, or spawn. After an interrupt (Ctrl-C) an index answers as before.
"""
_CLASSES, _FUNCTIONS = ("Graph", "Index", "Explanation", "Run"), ("build", "load", "read_run", "run")


def page() -> str:
    """The whole page, which ends with a newline."""
    lines = [HEAD]
    for name in _FUNCTIONS:
        lines += [f"## gb.{name}", "", *_described(f"gb.{name}", getattr(api, name))]
    for name in _CLASSES:
        shown = getattr(api, name)
        lines += [f"## gb.{name}", "", *_paragraphs(inspect.getdoc(shown) or "")]
        for method, member in vars(shown).items():
            # None has a docstring of its own from Python 3.13 on: that of a field is none
            if not method.startswith("_") and member is not None and inspect.getdoc(member):
                lines += [f"### {name}.{method}", "", *_described(f"{name}.{method}", member)]
    return "\n".join(lines)


def _described(name: str, member: object) -> Iterator[str]:
    """The signature of a function, and the docstring of a function or property."""
    function = member.__func__ if isinstance(member, classmethod) else member
    if inspect.isfunction(function):
        yield from (f"`{name}{_signature(function, isinstance(member, classmethod))}`", "")
    yield from _paragraphs(inspect.getdoc(function) or "")


def _signature(function: Callable[..., Any], of_class: bool) -> str:
    found = inspect.signature(function)
    own = list(found.parameters.values())[1 if of_class or "self" in found.parameters else 0 :]
    plain = [each.replace(annotation=_Plain(each.annotation)) for each in own]
    return str(found.replace(parameters=plain, return_annotation=_Plain(found.return_annotation)))


class _Plain(str):
    """An annotation that is shown without quotes."""

    __repr__ = str.__str__


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a docstring; tables of names and examples become code blocks."""
    for paragraph in re.split(r"\n{2,}", text):
        if paragraph.startswith(">>> "):
            yield from ("```pycon", paragraph, "```", "")
        elif re.search(r"^\S+ {2,}\S|^ {3,}", paragraph, re.MULTILINE):
            yield from ("```", paragraph, "```", "")
        else:
            yield from (" ".join(paragraph.split("\n")), "")


if __name__ == "__main__":
    sys.stdout.write(page())
