"""Whether `failpoints.py` misses operations: its count for each command, against the system calls that strace sees.

    python tests/faults/calls.py
    python tests/faults/calls.py --only import --only "build streamed"

Each command runs once under strace with the failpoints counting. Bytes written to files below `work`, and numbers of
fsyncs, renames, links, removals and made folders must be the same by both. Exit code 1 if not, 4 without strace.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click
import failpoints
import record
import tasks
from tasks import Stage, Task

#: system calls by what the failpoints call them
CALLS = {
    "write": "write", "pwrite64": "write", "writev": "write", "pwritev": "write", "pwritev2": "write",
    "sendfile": "write", "copy_file_range": "write", "fsync": "fsync", "fdatasync": "fsync", "rename": "rename",
    "renameat": "rename", "renameat2": "rename", "link": "link", "linkat": "link", "symlink": "symlink",
    "symlinkat": "symlink", "unlink": "unlink", "unlinkat": "unlink", "rmdir": "rmdir", "mkdir": "mkdir",
    "mkdirat": "mkdir", "truncate": "truncate", "ftruncate": "truncate", "fallocate": "allocate",
}  # fmt: skip
_LINE = re.compile(r"^(?:\d+ +)?(?:\[pid +\d+\] )?(\w+)\((.*)\) += (\d+)")


def system_calls(text: str, work: str) -> tuple[Counter, Counter]:
    """Numbers of operations below a folder by kind, and of bytes written by file, in what strace printed."""
    kinds, sizes, begun = Counter(), Counter(), {}
    for line in text.splitlines():
        pid = line.split(" ", 1)[0]
        if line.endswith("<unfinished ...>"):
            begun[pid] = line.removesuffix(" <unfinished ...>")
            continue
        if (found := re.match(r"^\d+ +<\.\.\. \w+ resumed>(.*)$", line)) and pid in begun:
            line = begun.pop(pid) + found[1]
        if (found := _LINE.match(line)) is None or not (
            work in found[2] or "<" not in found[2] and re.search(r'(?:^| )"[^/"]', found[2])
        ):
            continue
        call, given, returned = found.groups()
        kind = CALLS.get(call)
        if kind == "unlink" and "AT_REMOVEDIR" in given:
            kind = "rmdir"
        if kind == "write":
            into = re.match(r"\d+<([^>]*)>", given if call != "copy_file_range" else given.split(", ", 2)[2])
            if into is None or not into[1].startswith(work) or int(returned) == 0:
                continue
            sizes[_plain(into[1])] += int(returned)
        elif kind is not None:
            kinds[kind] += 1
    return kinds, sizes


def counted(operations: list[dict]) -> tuple[Counter, Counter]:
    """The same of what the failpoints counted. A truncation to nothing by opening is no call of its own."""
    kinds, sizes = Counter(), Counter()
    for each in operations:
        if each["kind"] == "write":
            sizes[_plain(each["path"])] += each["size"]
        elif each["kind"] != "create":
            kinds[each["kind"]] += 1
    return kinds, sizes


def _plain(path: str) -> str:
    """The name of a file, the same for all without one in a folder."""
    return re.sub(r"/#\d+( \(deleted\))?$", "/#", path)


def compare(stage: Stage, task: Task) -> list[str]:
    """Run a task under strace; returns what the counts differ in."""
    stage.restore()
    out, order = stage.home / "strace", stage.order("count")
    shutil.rmtree(stage.log, ignore_errors=True)
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import tasks, failpoints, json\n"
        f"tasks.redirect({str(stage.home)!r})\n"
        f"failpoints.install(failpoints.Order({order.under!r}, {order.log!r}))\n"
        f"tasks.command({list(task.words)!r})"
    )
    calls = ",".join(CALLS)
    done = subprocess.run(
        ["strace", "-f", "-y", "-s", "0", "-o", str(out), "-e", f"trace={calls}", "--", sys.executable, "-c", program],
        capture_output=True, text=True, cwd=stage.work, check=False,
    )  # fmt: skip
    if done.returncode:
        return [f"under strace it ends with {done.returncode}: {done.stderr[-400:]}"]
    text = out.read_text(errors="replace")
    differences = []
    both = system_calls(text, str(stage.work)), counted(failpoints.read(stage.log))
    for seen, known in zip(*both, strict=True):
        for key in sorted(seen.keys() | known.keys()):
            if seen[key] != known[key]:
                differences.append(f"{key}: {seen[key]} by strace, {known[key]} counted")
    return differences


@record.program("", "", night="All of it, for `make faults`.")
@click.option("--only", multiple=True, help="A task; may repeat. [default: all]")
def main(only: tuple[str, ...], nightly: bool) -> record.Found:
    if shutil.which("strace") is None:
        print("error: there is no strace here", file=sys.stderr)
        sys.exit(4)
    stage, wrong = Stage(), []
    try:
        for task in tasks.TASKS:
            if not only or task.name in only:
                stage.prepare(task)
                found = compare(stage, task)
                print(f"{task.name}: {'; '.join(found) or 'the same'}", flush=True)
                wrong += found
    finally:
        stage.close()
    return record.Found(f"{len(wrong)} counts differ", wrong)


if __name__ == "__main__":
    main()
