"""Numbered notes below a table. Cells refer to a note by its number, so that its text appears only once."""

from __future__ import annotations

from collections.abc import Iterable


class Footnotes:
    """Numbers notes in the order of their first use; equal notes have one number."""

    def __init__(self):
        self.numbers: dict[str, int] = {}

    def mark(self, notes: Iterable[str]) -> str:
        """' [1]' or ' [1,3]' for the notes, '' for none."""
        marks = [str(self.numbers.setdefault(note, len(self.numbers) + 1)) for note in notes]
        return f" [{','.join(marks)}]" if marks else ""

    def status(self, word: str, reason: str | None) -> str:
        """'skipped [1]', or the word alone if there is no reason."""
        return word + self.mark([reason] if reason else [])

    def lines(self) -> list[str]:
        """'[1] note', in order."""
        return [f"[{number}] {note}" for note, number in self.numbers.items()]
