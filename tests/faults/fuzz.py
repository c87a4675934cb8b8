"""Every reader of files is given mutated inputs; those with a new outcome are mutated further.

    python tests/faults/fuzz.py --target gra --target edges --executions 10000000 --processes 12

Each input must be read right, as plain Python reads it (`slow_readers`), or refused with one of grailbench's own errors
that names the file; within seconds, without gigabytes, and without leaving a file. An input of which something else
comes is written to the folder --out with its traceback. Each reader works in forked processes of some seconds, which
are killed if they stay at one input: that input is a finding, as is one at which a process dies. Exit code 1 if there
is a finding.
"""

import hashlib
import logging
import mmap
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
import psutil
import record
from judge import Finding, Outcome, Place, Target, judge

NIGHTLY_SECONDS = 840
TURN_SECONDS = 45.0  #: a process works so long on one reader
HANG_SECONDS = 10.0  #: of processor time at one input
FIRST, FIRST_SECONDS = 100, 90.0  #: the same of the first inputs, at which kernels may be compiled
STUCK_SECONDS = 300.0  #: of any time at one input
EACH_SIGN = 3  #: inputs that are written of each finding
ROOM = 512 << 20  #: bytes that a process may take more than after its first inputs
#: blanks and numbers that readers may trip over
TOKENS = (
    b" ", b"\t", b"\r\n", b"\n", b"\0", b"\xef\xbb\xbf", b"\x0b", b"0", b"1", b"2147483647", b"2147483648", b"-1",
    b"1e3", b"4294967296", b"9" * 18, b"9" * 19, b"+1", b"00", b"0.5", b"nan", b"inf", b"\xd9\xa1", b"[" * 40,
)  # fmt: skip
CORPUS = Path(__file__).parent / "corpus"
Report = Callable[[bytes, Outcome], None]


def every_target() -> dict[str, Target]:
    """All targets by name."""
    import own_files
    import targets

    return {target.name: target for target in (*targets.TARGETS, *own_files.TARGETS)}


# ------------------------------------------------------------------ inputs


def corpus(target: Target) -> list[bytes]:
    """The inputs of a target in the repository; the first is empty."""
    return [b"", *(path.read_bytes() for path in sorted((CORPUS / target.name).glob("*")))]


@contextmanager
def limited_memory(most: int = ROOM) -> Iterator[None]:
    """Lets this process take so many bytes more than it has, and tells readers that so many are free."""
    from grailbench.util import memory

    before, available = resource.getrlimit(resource.RLIMIT_AS), memory.available
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + most, before[1]))
    memory.available = lambda: most  # which asks the system otherwise, in 0.1 ms
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        memory.available = available


def read_corpus(target: Target, place: Place, report: Report) -> None:
    """Reads the inputs in the repository, so that what is loaded or compiled once is there."""
    if target.prepare is not None:
        target.prepare()
    for data in corpus(target):
        report(data, judge(target, data, place))


def mutations(target: Target, seed: int, pool: Sequence[bytes] | None = None) -> Generator[bytes, bool, None]:
    """Endless inputs for a target, the same for the same seed. `send` says whether the last is mutated further."""
    draw = random.Random(seed)
    pool = list(corpus(target) if pool is None else pool)
    tokens = [*dict.fromkeys([*target.tokens, *TOKENS, *re.findall(rb"[\w.%]+|\s+|[^\w\s]+", b"\n".join(pool))])]
    while True:
        data = bytearray(draw.choice(pool))
        for _ in range(1 + int(draw.expovariate(0.6))):
            _mutate(data, draw, tokens, pool)
        made = bytes(data[: target.most])
        if (yield made):
            pool.append(made)


def _mutate(data: bytearray, draw: random.Random, tokens: Sequence[bytes], pool: Sequence[bytes]) -> None:
    at, kind = draw.randrange(len(data) + 1), draw.randrange(9)
    size = 1 + int(draw.expovariate(0.2))
    if kind == 0:
        data[at:at] = draw.choice(tokens)
    elif kind == 1:
        data[at : at + size] = draw.choice(tokens)
    elif kind == 2:
        del data[at : at + size]
    elif kind == 3 and at < len(data):
        data[at] ^= 1 << draw.randrange(8)
    elif kind == 4:
        data[at:at] = bytes([draw.randrange(256)])
    elif kind == 5:
        data[at:at] = data[at : at + size]
    elif kind == 6:
        other = draw.choice(pool)
        data[at:] = other[draw.randrange(len(other) + 1) :]
    elif kind == 7:
        lines = data.split(b"\n")
        draw.shuffle(lines)
        data[:] = b"\n".join(lines)
    elif digits := [place for place, byte in enumerate(data) if 48 <= byte <= 57]:
        data[draw.choice(digits)] = 48 + draw.randrange(10)


def mutate(target: Target, place: Place, seed: int, executions: int, report: Report) -> int:
    """Reads so many mutated inputs; those with a new outcome are mutated further. Returns the number of outcomes."""
    inputs, seen = mutations(target, seed), set()
    data = next(inputs)
    for number in range(executions):
        outcome = judge(target, data, place)
        report(data, outcome)
        new = outcome.label not in seen
        seen.add(outcome.label)
        if number < executions - 1:
            data = inputs.send(new)
    return len(seen)


# ------------------------------------------------------------------ processes


class Slot:
    """Shared memory: how many inputs a process has read, and the one that it reads."""

    def __init__(self):
        self._shared = mmap.mmap(-1, 1 << 20)

    def begin(self, data: bytes) -> None:
        data = data[: (1 << 20) - 16]
        self._shared[16 : 16 + len(data)] = data
        self._shared[8:16] = len(data).to_bytes(8, "little")

    def done(self) -> None:
        self._shared[:8] = (self.count + 1).to_bytes(8, "little")

    @property
    def count(self) -> int:
        return int.from_bytes(self._shared[:8], "little")

    @property
    def data(self) -> bytes:
        return self._shared[16 : 16 + int.from_bytes(self._shared[8:16], "little")]


@dataclass
class Tally:
    """What was done for one reader. `goal` is the number of executions."""

    goal: int
    executions: int = 0
    seconds: float = 0.0


@dataclass
class Work:
    """A process that reads mutations for one target."""

    target: Target
    goal: int
    seconds: float
    slot: Slot = field(default_factory=Slot)
    began: float = field(default_factory=time.monotonic)
    pid: int = 0
    seen: int = -1  #: inputs when it was last seen to have gone on, and the time and its processor time then
    moved: float = 0.0
    used: float = 0.0

    def be(self, seed: int, out: Path) -> None:
        """What the process does."""
        folder = out / "work" / str(os.getpid())
        (folder / "temporary").mkdir(parents=True)
        os.environ |= {"TMPDIR": str(folder / "temporary"), "GRAILBENCH_CACHE": str(folder / "cache")}
        tempfile.tempdir = None
        logging.getLogger("grailbench").setLevel(logging.CRITICAL)  # else a warning of each damaged file of a cache
        place, until = Place(folder / "place"), self.began + self.seconds
        plain = Target(**{**vars(self.target), "read": self._watched})

        def report(data: bytes, outcome: Outcome) -> None:
            self.slot.done()
            if outcome.finding is not None:
                write_finding(out, self.target, data, outcome.finding)

        read_corpus(plain, place, report)
        with limited_memory():
            while (left := self.goal - self.slot.count) > 0 and time.monotonic() < until:
                mutate(plain, place, seed, min(left, 2_000), report)
                seed = zlib.crc32(seed.to_bytes(8, "little"))

    def _watched(self, data: bytes, place: Place) -> str:
        self.slot.begin(data)
        return self.target.read(data, place)

    def hangs(self) -> bool:
        """Whether it has been at one input for too long."""
        now, count = time.monotonic(), self.slot.count
        times = psutil.Process(self.pid).cpu_times()
        if count != self.seen:
            self.seen, self.moved, self.used = count, now, times.user + times.system
        most = HANG_SECONDS if count > FIRST else FIRST_SECONDS
        return times.user + times.system - self.used > most or now - self.moved > STUCK_SECONDS


def campaign(tallies: dict[str, Tally], seed: int, processes: int, seconds: float, out: Path) -> None:
    """Works on targets in turn in so many processes, until all goals are reached or for so long."""
    targets, until = every_target(), time.monotonic() + seconds
    turn = min(TURN_SECONDS, max(5.0, 0.8 * seconds * processes / len(tallies)))
    waiting, running, number = deque(tallies), [], 0
    while running or (waiting and time.monotonic() < until - 1):
        while waiting and len(running) < processes and time.monotonic() < until - 1:
            name = waiting.popleft()
            tally, number = tallies[name], number + 1
            work = Work(targets[name], tally.goal - tally.executions, min(turn, until - time.monotonic()))
            work.pid = _forked(lambda work=work, number=number: work.be(seed + 1_000_003 * number, out))
            running.append(work)
        time.sleep(0.1)
        for work in list(running):
            pid, status = os.waitpid(work.pid, os.WNOHANG)
            if not pid and not work.hangs():
                continue
            code = "hang" if not pid else f"crash {os.waitstatus_to_exitcode(status)}" if status else None
            if not pid:
                os.kill(work.pid, signal.SIGKILL)
                os.waitpid(work.pid, 0)
            if code is not None:
                finding = Finding(code.partition(" ")[0], code, f"the process ended: {code}")
                write_finding(out, work.target, work.slot.data, finding)
            shutil.rmtree(out / "work" / str(work.pid), ignore_errors=True)
            running.remove(work)
            tally = tallies[work.target.name]
            tally.executions += work.slot.count
            tally.seconds += time.monotonic() - work.began
            if tally.executions < tally.goal:
                waiting.append(work.target.name)
    shutil.rmtree(out / "work", ignore_errors=True)


def _forked(work: Callable[[], None]) -> int:
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(70)


def write_finding(out: Path, target: Target, data: bytes, finding: Finding) -> None:
    """Writes an input and what came of it, unless there are some of its kind."""
    name = f"{target.name}-{finding.kind.replace(' ', '-')}-{zlib.crc32(finding.sign.encode(errors='replace')):08x}"
    if len(list(out.glob(f"{name}-*.txt"))) < EACH_SIGN:
        path = out / f"{name}-{hashlib.sha256(data).hexdigest()[:8]}"
        path.with_suffix(".input").write_bytes(data)
        path.with_suffix(".txt").write_text(f"{target.name}: {finding.sign}\n{data!r}\n{finding.text}\n")


@record.program(
    "Inputs",
    "Whatever stands in a file, it is read right or refused with one clear error: no crash, no hang, no traceback, no "
    "unbounded memory.",
    night="All readers for a quarter of an hour.",
)
@click.option("--target", "names", type=click.Choice(list(every_target())), multiple=True, help="A reader; may repeat.")
@click.option("--but", multiple=True, help="Not this one; may repeat.")
@click.option("--executions", type=int, help="Of each reader. [10 or 1 million]")
@click.option("--processes", default=1, show_default=True)
@click.option("--seconds", type=float, default=float("inf"), help="Stop after so long.")
@click.option("--seed", default=23, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="An empty folder for findings. [one in /tmp]")
def main(names, but, executions, processes, seconds, seed, out, nightly) -> record.Found:
    known = every_target()
    tallies = {name: Tally(executions or known[name].goal) for name in names or known if name not in but}
    out = out or Path(tempfile.mkdtemp(prefix="grailbench-fuzz-"))
    out.mkdir(parents=True, exist_ok=True)
    campaign(tallies, seed, processes, min(seconds, NIGHTLY_SECONDS) if nightly else seconds, out)
    for name, tally in tallies.items():
        rate = tally.executions / max(tally.seconds, 1e-9)
        print(f"{name:16} {tally.executions:>12,} of {tally.goal:>12,}, {rate:>8,.0f} a second", flush=True)
    signs = {path.read_text(errors="replace").partition("\n")[0]: path for path in sorted(out.glob("*.txt"))}
    findings = record.warn([f"{sign}: {path}" for sign, path in signs.items()])
    readers = f"{len(tallies)} readers" if len(tallies) > 1 else f"the reader of {known[next(iter(tallies))].about}"
    done = sum(tally.executions for tally in tallies.values())
    return record.Found(
        f"{done:,} executions of {readers}, {len(findings)} findings", findings,
        {"seed": seed, "executions": {name: tally.executions for name, tally in tallies.items()}},
        more={"seconds": sum(tally.seconds for tally in tallies.values())},
    )  # fmt: skip


if __name__ == "__main__":
    main()
