"""What a notebook shows of the library's objects, and the progress of a run there."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from grailbench.util.visible import visible

_MS = "padding: 0 1em 0 0; text-align: left; vertical-align: top"


def card(title: str, facts: Iterable[tuple[str, object]], lines: Iterable[str] = ()) -> str:
    """An element of HTML with a title, a table of names and values, and sentences below it; all texts are escaped."""
    head = Markup("<div><strong>{}</strong><table>").format(visible(title))
    rows = [Markup('<tr><td style="{}">{}</td><td style="text-align: left">{}</td></tr>').format(
        _MS, visible(name), visible(str(value))) for name, value in facts]  # fmt: skip
    said = [Markup("<div>{}</div>").format(visible(line)) for line in lines]
    return str(Markup("").join([head, *rows, Markup("</table>"), *said, Markup("</div>")]))


def here() -> bool:
    """True in a notebook, whose kernel draws what `IPython.display` is given."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class Progress:
    """A `Watcher` of a run: in a notebook a bar with the cell at hand, elsewhere nothing."""

    def __init__(self, shown: bool):
        self._steps = self._done = 0
        self._notes: list[str] = []
        self._handle: Any = None
        self._display = shown and here()

    def _draw(self, doing: str) -> None:
        if not self._display:
            return
        from IPython.display import HTML, display

        bar = Markup('<progress value="{}" max="{}" style="width: 20em"></progress> {}').format(
            min(self._done, self._steps), self._steps or 1, visible(doing)
        )
        html = HTML(str(Markup("<br>").join([bar, *map(Markup.escape, map(visible, self._notes))])))
        if self._handle is None:
            self._handle = display(html, display_id=True)
        else:
            self._handle.update(html)

    def note(self, text: str) -> None:
        self._notes.append(text)
        self._draw("")

    def began(self, folder: object, plan: object, steps: int) -> None:
        self._steps = steps
        self._draw("")

    def opened(self, graph: Any, cells: int) -> None:
        self._draw(graph.name)

    def step(self, cell: Any, doing: str, steps: int = 1) -> None:
        self._done += steps
        self._draw(f"{cell.dataset}: {cell.label()}, {doing}" if self._done < self._steps else "done")

    def trouble(self, cell: Any, status: str, reason: str) -> None:
        self.note(f"{status.upper()}: {cell.dataset} {cell.label()}: {reason}")

    def answered(self, graph: object, checkers: object, cells: object) -> None:
        pass

    def timed(self, graph: object) -> None:
        pass

    def rows(self, rows: object) -> None:
        pass
