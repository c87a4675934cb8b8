"""All kernels under the tools of compute-sanitizer: memory, initialisation, races in shared memory, barriers.

    python tests/faults/sanitizers.py --seconds 150 --at-once 2 --out found --record gpu-sanitizers

Runs `kernels.py` under each tool, and writes the output of each and the kernels that each graph launched to the folder
--out. A call with the same folder runs the graphs that are left. Exit code 1 if a tool reports anything,
an answer is wrong, or a kernel was not launched.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import click
import record

TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck")
BEGIN = "========= COMPUTE-SANITIZER\n"  #: of each call of a tool
SUMMARY = re.compile(r"^========= (?:ERROR|RACECHECK) SUMMARY: (\d+)", re.MULTILINE)
#: the first line of a report, of which others are indented; not what is said of the program
REPORT = re.compile(r"^========= (?!.*Target application)\w", re.MULTILINE)
RACE = re.compile(r"^========= \w+: Race reported between (.*\n(?:=========     and .*\n)*)", re.MULTILINE)
ACCESS = re.compile(r"(Read|Write) access at grailbench::([\w:]+)\[")
#: by kernel, writes to shared memory that no barrier of a block parts and that are harmless, with the reason
HARMLESS = {"traversal::gpu::many::_search": "all that write to one place write the same number, the level"}
GRACE = 120  #: seconds for the graph that is under way when no other is begun


def reports(text: str) -> int | None:
    """How many errors or hazards the output of a tool tells, but for the harmless, over all calls; None if it has no
    summary at all. Of a call that was cut short, and so has no summary, reports are counted one by one."""
    counted = [SUMMARY.findall(call) or [len(REPORT.findall(call))] for call in text.split(BEGIN)]
    return sum(int(number) for each in counted for number in each) - harmless(text) if SUMMARY.search(text) else None


def harmless(text: str) -> int:
    """How many of the races in the output of a tool are of writes alone, of the kernels in `HARMLESS`."""
    wrote = {("Write", kernel) for kernel in HARMLESS}
    races = [set(ACCESS.findall(race)) for race in RACE.findall(text)]
    return sum(bool(race) and race <= wrote for race in races)


def under(tool: str, folder: Path, most: int, seconds: float) -> None:
    """Runs the graphs that are left under one tool, for so many seconds."""
    import kernels

    path, output = folder / f"{tool}.json", folder / f"{tool}.txt"
    done = json.loads(path.read_text())["graphs"] if path.exists() else {}
    left = [name for name, *_ in kernels.graphs(most) if name not in done]
    if not left:
        return
    if shutil.which("compute-sanitizer") is None:
        raise click.ClickException("compute-sanitizer, of the CUDA toolkit, is not on PATH")
    words = [sys.executable, kernels.__file__, "--most", str(most), "--seconds", str(seconds), "--out", str(path)]
    words += [word for name in left for word in ("--graphs", name)]
    with output.open("a") as to:
        try:
            subprocess.run(["compute-sanitizer", "--tool", tool, "--print-limit", "200", *words], stdout=to,
                           stderr=subprocess.STDOUT, timeout=seconds + GRACE)  # fmt: skip
        except subprocess.TimeoutExpired:
            to.write("cut short\n")


@record.program(
    "GPU", "No kernel reads or writes where it must not, reads what nobody wrote, races or misses a barrier."
)
@click.option("--most", default=1_200, show_default=True, help="Vertices of the largest graph.")
@click.option("--seconds", default=150.0, show_default=True, help="Begin no graph after so long, of each tool.")
@click.option("--at-once", default=2, show_default=True, help="Tools that run at the same time.")
@click.option("--tool", "tools", multiple=True, type=click.Choice(TOOLS), help="May repeat. [default: all]")
@click.option("--out", type=click.Path(path_type=Path), default="found", help="Folder of what was found.")
def main(most, seconds, at_once, tools, out) -> record.Found:
    import kernels

    began, machines = monotonic(), set()
    out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda tool: under(tool, out, most, seconds), tools or TOOLS))
    wanted, every = kernels.wanted(), [name for name, *_ in kernels.graphs(most)]
    found, wrong = {}, []
    for tool in tools or TOOLS:
        path, output = out / f"{tool}.json", out / f"{tool}.txt"
        kept = json.loads(path.read_text()) if path.exists() else {"machine": record.this_machine(), "graphs": {}}
        results = kept["graphs"]
        machines.add(kept["machine"])
        text = output.read_text(errors="replace") if output.exists() else ""
        faults = [fault for each in results.values() for fault in each["faults"]]
        missing = sorted(wanted - kernels.reached(results).keys())
        found[tool] = {"reports": reports(text), "harmless": harmless(text),
                       "graphs": len(results), "kernels": len(wanted) - len(missing),
                       "seconds": round(sum(each["seconds"] for each in results.values()), 1),
                       "missing": missing, "faults": faults}  # fmt: skip
        said = f"{tool}: {'cut short' if reports(text) is None else reports(text)} reports, {len(results)} of "
        said += f"{len(every)} graphs, {len(missing)} of {len(wanted)} kernels not launched, {len(faults)} faults"
        print(said)
        wrong += [said] if reports(text) != 0 or faults or missing or len(results) < len(every) else []
    figure = "; ".join(f"{tool} {each['reports']} reports on {each['kernels']} of {len(wanted)} kernels"
                       + (f" and {each['harmless']} known to be harmless" if each["harmless"] else "")
                       for tool, each in found.items())  # fmt: skip
    return record.Found(figure, wrong, found | {"harmless": HARMLESS}, more={
        "seconds": max(monotonic() - began, sum(each["seconds"] for each in found.values())),
        "machine": " and ".join(sorted(machines)),
    })  # fmt: skip


if __name__ == "__main__":
    main()
