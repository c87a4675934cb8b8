"""What comes of one input of a reader: right, refused clearly, or a finding.

A finding is any exception but grailbench's own, an error that does not name the file, or names a line that the file
lacks, a wrong result, an allocation beyond what is allowed, an input that takes seconds, and a file left behind.
"""

import os
import re
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from grailbench.errors import GrailbenchError

SLOW_SECONDS = 5.0  #: of processor time for one input of a few hundred bytes
LONGEST_MESSAGE = 2_000  #: characters of an error
ALLOCATED = "too little memory to read it"  #: how readers say that an allocation failed: no small file may cause one
_VARIED = re.compile(r"""\d+|'[^']*'|"[^"]*"|b'.*""")


class Place:
    """A folder for the files of one input, empty before and after each; `path` is the file that targets write an input
    to, and that errors name."""

    def __init__(self, folder: Path):
        self.folder, self.path = folder, folder / "input"
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, data: bytes, name: str = "input") -> Path:
        """A file with this content; it replaces that of the input before."""
        path = self.folder / name
        with open(path, "wb", buffering=0) as file:
            file.write(data)
        return path

    def left(self, own: tuple[str, ...]) -> list[str]:
        """The files that lie here although no target wrote them."""
        return sorted(set(os.listdir(self.folder)) - set(own))


@dataclass(frozen=True)
class Target:
    """A reader, and how to try it.

    read     takes an input and a place, and returns a few words on what came out; raises GrailbenchError for a faulty
             input, AssertionError for a wrong result
    about    what it reads
    most     bytes of an input
    files    names that `read` itself leaves in the place, for the next input
    names    the file that errors have to name; None for readers of text without one
    lines    whether the lines that errors name are those of the input
    goal     executions in a campaign
    few      executions in a test
    prepare  called once before the first input, in the process that reads
    tokens   words of the format, beside those of its inputs in the repository
    """

    name: str
    read: Callable[[bytes, Place], str]
    about: str
    most: int = 400
    files: tuple[str, ...] = ("input",)
    names: str | None = "input"
    lines: bool = True
    goal: int = 1_000_000
    few: int = 400
    prepare: Callable[[], object] | None = None
    tokens: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What is wrong: `sign` is equal for findings of one cause; `text` has the traceback."""

    kind: str
    sign: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class Outcome:
    """What came of an input: `label` is equal for inputs of which the same came."""

    label: str
    finding: Finding | None = None


def judge(target: Target, data: bytes, place: Place) -> Outcome:
    """Have a target read an input."""
    began = time.thread_time()
    outcome = _read(target, data, place)
    took = time.thread_time() - began
    if outcome.finding is None and took > SLOW_SECONDS:
        outcome = _found("slow", "slow", f"{took:.1f} s of processor time for {len(data)} bytes")
    if outcome.finding is None and (left := place.left(target.files)):
        for name in left:
            (place.folder / name).unlink(missing_ok=True)
        outcome = _found("left behind", "left behind", f"files left behind: {left}")
    return outcome


def _read(target: Target, data: bytes, place: Place) -> Outcome:
    try:
        return Outcome(target.read(data, place))
    except GrailbenchError as error:
        said = str(error)
        if fault := _fault(target, data, error, said):
            return _found("bad error", f"bad error: {fault}", f"{fault}\n{_trace(error)}", error)
        return Outcome(f"{type(error).__name__} {_VARIED.sub('#', said.removeprefix(str(place.path)))[:80]}")
    except AssertionError as error:
        return _found("wrong", "wrong", _trace(error), error)
    except (MemoryError, RecursionError, Exception) as error:
        return _found("traceback", type(error).__name__, _trace(error), error)


def _fault(target: Target, data: bytes, error: GrailbenchError, said: str) -> str | None:
    """What an error lacks; None if it is clear."""
    if ALLOCATED in said:
        return "an allocation failed"
    if target.names is not None and target.names not in said:
        return "the file is not named"
    if len(said) > LONGEST_MESSAGE:
        return "the message is endless"
    line = getattr(error, "line", None)
    if target.lines and line is not None and not 1 <= line <= data.count(b"\n") + data.count(b"\r") + 2:
        return "a line that the file does not have"
    return None


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _found(kind: str, sign: str, text: str, error: BaseException | None = None) -> Outcome:
    """An outcome with a finding, whose sign has the place in the code where its exception was raised."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    inner = [frame for frame in frames if f"{os.sep}grailbench{os.sep}" in frame.filename] or frames
    where = f" {Path(inner[-1].filename).name}:{inner[-1].lineno}" if inner else ""
    sign = f"{sign}{where}"
    return Outcome(sign, Finding(kind, sign, text))


def patched(base: bytes, data: bytes) -> bytes:
    """A file with damage that an input describes, four bytes each: what is done, and where (24 bits).

    A byte is changed, the file is cut off, or 16 bytes are repeated or taken out.
    """
    found = bytearray(base)
    for at in range(0, len(data) - 3, 4):
        what, value, where = data[at] >> 6, data[at], int.from_bytes(data[at + 1 : at + 4], "little")
        if not found:
            break
        where %= len(found)
        if what == 3 and value % 4 == 0:
            del found[where:]
        elif what == 3 and value % 4 == 1:
            found[where:where] = found[where : where + 16]
        elif what == 3 and value % 4 == 2:
            del found[where : where + 16]
        else:
            found[where] ^= (value & 63) + 1
    return bytes(found)
