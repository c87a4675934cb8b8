"""A campaign of fuzzing: processes that read inputs, what they found, and a folder from which it goes on.

The folder has `state.json` (executions, seeds and findings by target), `corpus/TARGET/`, `findings/` and `log/`. Each
process is forked for a chunk of executions of one target, shows its count and its input in shared memory, and is killed
if it stays at one input: that input is a finding, as is one at which a process dies.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import shutil
import signal
import struct
import sys
import time
import traceback
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import engines
import psutil
from judge import Finding, Outcome, Place, Target, judge, named

from grailbench.util.outputs import atomic_file

CHUNK_SECONDS = 45.0  #: about how long a process works on one target
HANG_SECONDS = 10.0  #: of processor time at one input
FIRST, FIRST_SECONDS = 100, 90.0  #: the same of the first inputs, at which kernels may be compiled
STUCK_SECONDS = 300.0  #: of any time at one input
GRACE_SECONDS = 15.0  #: for a process to end after its time
A_SIGN = 3  #: inputs that are kept of each finding
_HEAD = struct.Struct("<QQQ")  # executions, findings, bytes of the input that is being read
_ROOM = 1 << 20


class Slot:
    """Shared memory in which a process shows how far it is."""

    def __init__(self):
        self._shared = mmap.mmap(-1, _ROOM)

    def reset(self) -> None:
        self._shared[: _HEAD.size] = bytes(_HEAD.size)

    def begin(self, data: bytes) -> None:
        data = data[: _ROOM - _HEAD.size]
        self._shared[_HEAD.size : _HEAD.size + len(data)] = data
        self._shared[16:24] = len(data).to_bytes(8, "little")

    def done(self) -> None:
        self._shared[:8] = (int.from_bytes(self._shared[:8], "little") + 1).to_bytes(8, "little")

    @property
    def count(self) -> int:
        return _HEAD.unpack_from(self._shared)[0]

    @property
    def data(self) -> bytes:
        return self._shared[_HEAD.size : _HEAD.size + _HEAD.unpack_from(self._shared)[2]]


@dataclass
class Chunk:
    """A process at work. `executions` are those that it is to do."""

    target: Target
    pid: int
    slot: Slot
    executions: int
    until: float
    log: Path
    began: float = field(default_factory=time.monotonic)
    seen: int = 0  #: executions when the process was last seen to have gone on
    moved: float = 0.0
    used: float = 0.0  #: its processor time then


class Campaign:
    """`goals` are the executions of each target in all."""

    def __init__(self, out: Path, targets: list[Target], goals: dict[str, int], seed: int, engine: str):
        self.out, self.targets, self.goals, self.seed, self.engine = out, targets, goals, seed, engine
        self.findings = out / "findings"
        for folder in (self.findings, out / "log", out / "corpus"):
            folder.mkdir(parents=True, exist_ok=True)
        path = out / "state.json"
        self.state = json.loads(path.read_text()) if path.exists() else {"targets": {}, "findings": []}
        self._chunks: list[Chunk] = []
        self._saved = self._told = time.monotonic()

    # -------------------------------------------------------------- scheduling

    def run(self, processes: int, seconds: float) -> None:
        """Work with so many processes until all goals are reached, or for so long."""
        until = time.monotonic() + seconds
        self._chunk_seconds = min(CHUNK_SECONDS, max(5.0, 0.8 * seconds * processes / len(self.targets)))
        if self.engine == "atheris":
            for target in self.targets:
                if target.prepare is not None and target.name not in ("parquet",):
                    target.prepare()  # before the fork, so that it is instrumented and loaded once
            print(f"{engines.instrument():,} functions instrumented", flush=True)
        slots = [Slot() for _ in range(processes)]
        self._replay(slots[0], until)
        while time.monotonic() < until - 1 or self._chunks:
            free = [slot for slot in slots if all(chunk.slot is not slot for chunk in self._chunks)]
            for slot in free:
                if time.monotonic() < until - 2 and (target := self._next()) is not None:
                    self._start(target, slot, until)
            if not self._chunks:
                break
            time.sleep(0.1)
            self._look(until)
        self._save()

    def _next(self) -> Target | None:
        """The target with work left that had the least time, so that a short campaign tries all of them."""

        def left(target: Target) -> int:
            at_it = [chunk for chunk in self._chunks if chunk.target is target]
            return self._left(target) - sum(max(0, chunk.executions - chunk.slot.count) for chunk in at_it)

        def had(target: Target) -> float:
            at_it = sum(chunk.target is target for chunk in self._chunks)
            return self._of(target)["seconds"] + at_it * self._chunk_seconds

        return min((target for target in self.targets if left(target) > 0), key=had, default=None)

    def _left(self, target: Target) -> int:
        """Executions to do, but for those that processes at work have done."""
        running = sum(chunk.slot.count for chunk in self._chunks if chunk.target is target)
        return self.goals[target.name] - self._of(target)["executions"] - running

    def _rate(self, target: Target) -> float:
        """Executions a second of one process; a guess before the first."""
        own = self._of(target)
        return own["executions"] / own["seconds"] if own["executions"] and own["seconds"] > 1 else 1_000.0

    def _of(self, target: Target) -> dict:
        fresh = {"executions": 0, "seconds": 0.0, "chunks": 0, "seeds": [], "commits": [], "edges": 0, "engines": []}
        return self.state["targets"].setdefault(target.name, fresh)

    # -------------------------------------------------------------- processes

    def _start(self, target: Target, slot: Slot, until: float) -> None:
        own = self._of(target)
        at_it = [chunk for chunk in self._chunks if chunk.target is target]
        left = self._left(target) - sum(max(0, chunk.executions - chunk.slot.count) for chunk in at_it)
        executions = min(left, max(1_000, int(self._rate(target) * self._chunk_seconds)))
        seed = zlib.crc32(f"{self.seed}/{target.name}/{own['chunks']}".encode())
        own["chunks"] += 1
        for key, value in (("seeds", self.seed), ("commits", record_commit()), ("engines", self.engine)):
            own[key] = list(dict.fromkeys([*own[key], value]))
        seconds = min(until - time.monotonic(), 2 * self._chunk_seconds)
        log = self.out / "log" / f"{target.name}-{own['chunks']}.log"
        slot.reset()
        pid = self._forked(log, lambda: self._work(target, slot, seed, executions, seconds))
        self._chunks.append(Chunk(target, pid, slot, executions, time.monotonic() + seconds, log))

    def _forked(self, log: Path, work) -> int:
        sys.stdout.flush()
        if pid := os.fork():
            return pid
        code = 70
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(handle, 1)
            os.dup2(handle, 2)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _work(self, target: Target, slot: Slot, seed: int, executions: int, seconds: float) -> None:
        """What a process does. With atheris it does not return."""
        place = self._place()
        logging.getLogger("grailbench").setLevel(logging.CRITICAL)  # else a warning of each damaged file of a cache
        plain = Target(**{**vars(target), "read": _shown(target.read, slot)})
        signs: dict[str, int] = {}

        def told(data: bytes, outcome: Outcome) -> None:
            slot.done()
            if outcome.finding is not None:
                signs[outcome.finding.sign] = signs.get(outcome.finding.sign, 0) + 1
                if signs[outcome.finding.sign] <= A_SIGN:
                    self.keep(target, data, outcome.finding)

        engines.warm(plain, place, told)
        with engines.limited_memory():
            if self.engine == "atheris":
                engines.fuzz(plain, place, seed, executions, seconds, self.out / "corpus" / target.name, told)
            until, found = time.monotonic() + seconds, 0
            while (left := executions - slot.count) > 0 and time.monotonic() < until:
                found = max(found, engines.mutate(plain, place, seed, min(left, 2_000), told))
                seed = zlib.crc32(seed.to_bytes(8, "little"))
            print(f"cov: {found} outcomes")

    def _place(self) -> Place:
        """A folder for the inputs of this process, and for what it writes elsewhere."""
        folder = self.out / "work" / str(os.getpid())
        os.environ["TMPDIR"] = str(folder / "temporary")
        os.environ["GRAILBENCH_CACHE"] = str(folder / "cache")
        (folder / "temporary").mkdir(parents=True)
        import tempfile

        tempfile.tempdir = None
        return Place(folder / "place")

    def _look(self, until: float) -> None:
        """What became of the processes."""
        for chunk in list(self._chunks):
            pid, status = os.waitpid(chunk.pid, os.WNOHANG)
            if pid:
                self._ended(chunk, status)
            else:
                self._watch(chunk)
        now = time.monotonic()
        if now - self._saved > 10:
            self._save()
        if now - self._told > 20:
            self._told = now
            done = sum(self.counts().values())
            print(f"{done:,} executions, {len(self.state['findings'])} findings, at work: "
                  f"{' '.join(sorted(chunk.target.name for chunk in self._chunks))}", flush=True)  # fmt: skip

    def _watch(self, chunk: Chunk) -> None:
        """Kills a process that stays at one input, or that does not end."""
        now, count = time.monotonic(), chunk.slot.count
        try:
            times = psutil.Process(chunk.pid).cpu_times()
            used = times.user + times.system
        except psutil.Error:
            return
        if count != chunk.seen or not chunk.moved:
            chunk.seen, chunk.moved, chunk.used = count, now, used
        elif (
            used - chunk.used > (HANG_SECONDS if count > FIRST else FIRST_SECONDS) or now - chunk.moved > STUCK_SECONDS
        ):
            over = count >= chunk.executions or now > chunk.until  # it hangs at its end, not at an input
            if not over:
                self.keep(
                    chunk.target, chunk.slot.data, Finding("hang", "hang", f"no end in {now - chunk.moved:.0f} s")
                )
            os.kill(chunk.pid, signal.SIGKILL)
        if now > chunk.until + GRACE_SECONDS:
            os.kill(chunk.pid, signal.SIGKILL)

    def _ended(self, chunk: Chunk, status: int) -> None:
        self._chunks.remove(chunk)
        own, count = self._of(chunk.target), chunk.slot.count
        own["executions"] += count
        own["seconds"] += time.monotonic() - chunk.began
        died = os.waitstatus_to_exitcode(status)
        said = chunk.log.read_text(errors="replace") if chunk.log.exists() else ""
        over = count >= chunk.executions or time.monotonic() > chunk.until
        if died not in (0, -signal.SIGKILL) and not over:
            text = f"the process ended with {died}\n{said[-4000:]}"
            self.keep(chunk.target, chunk.slot.data, Finding("crash", f"crash {died}", text))
        for line in said.splitlines():
            words = line.split()
            if "cov:" in words and words[words.index("cov:") + 1].isdigit():
                own["edges"] = max(own["edges"], int(words[words.index("cov:") + 1]))
        shutil.rmtree(self.out / "work" / str(chunk.pid), ignore_errors=True)

    def stop(self) -> None:
        """Ends all processes; what they did counts."""
        for chunk in self._chunks:
            os.kill(chunk.pid, signal.SIGKILL)
        for chunk in list(self._chunks):
            self._ended(chunk, os.waitpid(chunk.pid, 0)[1])
        self._save()

    # -------------------------------------------------------------- findings

    def keep(self, target: Target, data: bytes, finding: Finding) -> None:
        """Writes an input, and what came of it, unless there are some of its kind."""
        name = named(finding, target.name)
        if len(list(self.findings.glob(f"{name}-*.txt"))) < A_SIGN:
            stem = f"{name}-{hashlib.sha256(data).hexdigest()[:8]}"
            (self.findings / f"{stem}.input").write_bytes(data)
            (self.findings / f"{stem}.txt").write_text(f"{target.name}\n{finding.sign}\n{data!r}\n{finding.text}\n")

    def _replay(self, slot: Slot, until: float) -> None:
        """Reads the inputs of earlier findings again; those that are mended are moved to `mended`."""
        known = {target.name: target for target in self.targets}
        for path in sorted(self.findings.glob("*.txt")):
            name, sign = path.read_text(errors="replace").splitlines()[:2]
            data = path.with_suffix(".input").read_bytes()
            if name not in known or sign == "left behind":
                continue

            def again(target=known[name], data=data) -> None:
                place = self._place()
                engines.warm(target, place, lambda data, outcome: None)
                with engines.limited_memory():
                    if judge(target, data, place).finding is not None:
                        os._exit(9)

            pid, began = self._forked(self.out / "log" / "again.log", again), time.monotonic()
            status = None
            while status is None and time.monotonic() - began < STUCK_SECONDS:
                ended, found = os.waitpid(pid, os.WNOHANG)
                status = found if ended else None
                time.sleep(0.02)
            if status is None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            shutil.rmtree(self.out / "work" / str(pid), ignore_errors=True)
            if status == 0:
                mended = self.out / "mended"
                mended.mkdir(exist_ok=True)
                for each in (path, path.with_suffix(".input")):
                    os.replace(each, mended / each.name)

    def open_findings(self) -> list[dict]:
        """The findings that are not mended, one of each kind."""
        found = {}
        for path in sorted(self.findings.glob("*.txt")):
            target, sign = path.read_text(errors="replace").splitlines()[:2]
            if target in {each.name for each in self.targets}:
                found.setdefault((target, sign), {"target": target, "sign": sign, "file": path.name})
        return list(found.values())

    # -------------------------------------------------------------- what was done

    def _save(self) -> None:
        self._saved = time.monotonic()
        self.state["findings"] = self.open_findings()
        running = {}
        for chunk in self._chunks:
            running[chunk.target.name] = running.get(chunk.target.name, 0) + chunk.slot.count
        whole = {name: own | {"executions": own["executions"] + running.get(name, 0)}
                 for name, own in self.state["targets"].items()}  # fmt: skip
        with atomic_file(self.out / "state.json") as stream:
            stream.write(json.dumps(self.state | {"targets": whole}, indent=1).encode())

    def counts(self) -> dict[str, int]:
        """Executions of each target of this campaign in all."""
        found = {target.name: self._of(target)["executions"] for target in self.targets}
        for chunk in self._chunks:
            found[chunk.target.name] += chunk.slot.count
        return found

    def processor_seconds(self) -> float:
        """The time of all processes."""
        return sum(self._of(target)["seconds"] for target in self.targets)

    def details(self) -> dict:
        """Of each target: executions, seconds, seeds, code reached, inputs kept, findings."""
        found = self.open_findings()
        rows = {}
        for target in self.targets:
            own = self._of(target)
            kept = len(list((self.out / "corpus" / target.name).glob("*")))
            rows[target.name] = {
                "executions": own["executions"], "seconds": round(own["seconds"], 1), "seeds": own["seeds"],
                "chunks": own["chunks"], "commits": own["commits"], "engines": own["engines"], "edges": own["edges"],
                "corpus": kept, "findings": sum(each["target"] == target.name for each in found),
            }  # fmt: skip
        return rows

    def table(self) -> str:
        """A line for each target."""
        head = f"{'reader':16} {'executions':>12} {'to do':>12} {'1/s':>8} {'edges':>7} {'corpus':>7} {'findings':>8}"
        lines = [head]
        for target, row in zip(self.targets, self.details().values(), strict=True):
            rate = row["executions"] / max(row["seconds"], 1e-9)
            left = max(0, self.goals[target.name] - row["executions"])
            lines.append(f"{target.name:16} {row['executions']:>12,} {left:>12,} {rate:>8,.0f} {row['edges']:>7,} "
                         f"{row['corpus']:>7,} {row['findings']:>8}")  # fmt: skip
        return "\n".join(lines)


def _shown(read, slot: Slot):
    """A reader that shows its input in shared memory first."""

    def shown(data: bytes, place: Place) -> str:
        slot.begin(data)
        return read(data, place)

    return shown


def record_commit() -> str | None:
    """The commit of this checkout; None if it is changed."""
    from grailbench.harness.commit import commit_state

    global _commit
    if _commit is _UNKNOWN:
        commit, changed = commit_state()
        _commit = None if changed else commit
    return _commit


_UNKNOWN = object()
_commit: object = _UNKNOWN
