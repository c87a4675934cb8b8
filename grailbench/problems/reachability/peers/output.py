"""Reads what a program printed, as its description says."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path

import numpy as np

from grailbench.errors import GrailbenchError
from grailbench.problems.reachability.index import Count
from grailbench.problems.reachability.peers.description import MS, Answers, Number, Time

_SHOWN = 3  # last lines in messages
_WIDTH = 100  # characters of each


class ProgramFailed(GrailbenchError):
    """A program ended with an error, or did not print what its description says."""

    exit_code = 1


class Output:
    """What a program left in its working folder: the files `stdout` and `stderr`, and those that it wrote itself."""

    def __init__(self, name: str, folder: Path):
        """name: of the program, for messages."""
        self.name, self.folder = name, folder
        self._text = cache(self._read)

    def number(self, what: Number) -> float:
        """The number in the last place that fits. Raises ProgramFailed if there is none."""
        return self._number(what)[0]

    def ms(self, what: Time) -> float:
        """A time in ms. One that is printed as zero is half of its last digit, the most that was rounded to that: 0.5
        of '0.000' s. Raises ProgramFailed if there is none."""
        value, text = self._number(what)
        if value == 0:
            digits, _, exponent = text.lower().partition("e")
            try:
                value = 0.5 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
            except (OverflowError, ValueError):
                raise ProgramFailed(f"{self.name}: {what.match!r} fits {text[:60]!r}, which is no time") from None
        return value * MS[what.unit]

    def _number(self, what: Number) -> tuple[float, str]:
        """A number, and how it is printed."""
        found = re.findall(what.match, self._text(what.where), re.MULTILINE)
        if not found:
            raise self._fault(f"nothing in {what.where} fits {what.match!r}", what.where)
        try:
            value = float(found[-1])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ProgramFailed(f"{self.name}: {what.match!r} fits {found[-1][:60]!r}, which is no number")
        return value, found[-1]

    def answers(self, how: Answers, asked: int) -> np.ndarray | Count:
        """The answers to `asked` pairs, bool[asked], or the number of reachable ones. Raises ProgramFailed."""
        if how.count is not None:
            return Count(int(self.number(how.count)))
        words = dict.fromkeys(how.yes, True) | dict.fromkeys(how.no, False)
        text = self._text(how.where)
        if how.match is None:
            found = [word for line in text.splitlines() if (word := line.strip()) in words]
        else:
            found = [word.strip() for word in re.findall(how.match, text, re.MULTILINE)]
        expected = " or ".join(map(repr, words))
        if strange := next((word for word in found if word not in words), None):
            raise self._fault(f"an answer is {strange!r}, not {expected}", how.where)
        if len(found) != asked:
            raise self._fault(f"{len(found):,} answers in {how.where}, not {asked:,} lines of {expected}", how.where)
        return np.array([words[word] for word in found], np.bool_)

    def last_words(self) -> str:
        """The last lines of stderr or, if it is empty, of stdout."""
        return self._last_lines("stderr" if self._text("stderr").strip() else "stdout")

    def _fault(self, what: str, where: str) -> ProgramFailed:
        return ProgramFailed(f"{self.name}: {what}; {self._last_lines(where)}")

    def _last_lines(self, where: str) -> str:
        lines = [line.strip()[:_WIDTH] for line in self._text(where).splitlines() if line.strip()]
        return f"its last lines: {' | '.join(lines[-_SHOWN:])}" if lines else f"{where} is empty"

    def _read(self, where: str) -> str:
        """The text of a file. Raises ProgramFailed if it is missing."""
        try:
            return (self.folder / where).read_text(encoding="utf-8", errors="replace")
        except OSError:
            raise ProgramFailed(f"{self.name} wrote no file {where!r} in its working folder") from None
