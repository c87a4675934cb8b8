"""Notes below a table that its cells refer to by number, so that each is said once."""

from __future__ import annotations

from collections.abc import Iterable


class Footnotes:
    """Numbers notes in the order in which they first appear; the same note keeps its number."""

    def __init__(self):
        self.numbers: dict[str, int] = {}

    def mark(self, notes: Iterable[str]) -> str:
        """' [1]' or ' [1,3]' for the notes, '' for none."""
        marks = [str(self.numbers.setdefault(note, len(self.numbers) + 1)) for note in notes]
        return f" [{','.join(marks)}]" if marks else ""

    def status(self, word: str, reason: str | None) -> str:
        """'skipped [1]', or the word alone where there is no reason."""
        return word + self.mark([reason] if reason else [])

    def lines(self) -> list[str]:
        """'[1] note', in order."""
        return [f"[{number}] {note}" for note, number in self.numbers.items()]
