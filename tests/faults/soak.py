"""Hours of work in one process: memory, descriptors, threads, processes and temporary files have to stay level.

    python tests/faults/soak.py --minutes 60 --record soak

Work of every sort (`soak_work.py`) is repeated; after each round what the process holds is
sampled (`levels.py`), and at the end judged by the slope. `--nightly` takes ten minutes, `--minutes 1` is a look.
Exit code 1 if something grew, or a piece of work did not end as it should.
"""

import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import click
import levels
import pytest
import record
from rich import cells
from soak_work import WORK, Place, prepare, round_

NIGHTLY = 10.0  #: minutes
MIB = 1 << 20


def soak(
    minutes: float, folder: Path, report: Callable[[dict], None], only: tuple[str, ...] = (), least: int = 0
) -> list[dict]:
    """Rounds of work in a folder until so many minutes have passed and there are `least` samples; returns the
    samples, each of which `report` got as it was taken."""
    temporary, cached = folder / "tmp", folder / "cache"
    place = Place(folder / "work", folder / "kept")
    prepare(place)
    samples, until = [], monotonic() + 60 * minutes
    while monotonic() < until or len(samples) < least:
        wrong = round_(place, only)
        cells.cached_cell_len.cache_clear()  # widths of texts, which rich keeps up to a bound
        samples.append({"round": place.rounds, "wrong": wrong, **levels.sample(temporary, cached)})
        report(samples[-1])
    return samples


def own_place(stack: ExitStack, folder: Path) -> None:
    """Have this process keep its cache and temporary files in a folder, until the stack ends."""
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    for name, part in (("GRAILBENCH_CACHE", "cache"), ("TMPDIR", "tmp")):
        (folder / part).mkdir()
        patch.setenv(name, str(folder / part))
    patch.setattr(tempfile, "tempdir", None)


def _soaked(minutes: float, only: tuple[str, ...]) -> list[dict]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        own_place(stack, folder)

        def report(sample: dict) -> None:
            held = f"{sample['peak'] / MIB:.1f} MiB, {sample['objects']:,} objects, {sample['descriptors']} descriptors"
            line = "; ".join([f"round {sample['round']}: {held}, {sample['threads']} threads", *sample["wrong"]])
            print(line, file=sys.stderr, flush=True)

        return soak(minutes, folder, report, only, least=12)


@record.program(
    "Long runs",
    "Memory, descriptors, threads, processes and temporary files stay level however long a process works.",
    night=f"The length of a night's share: {NIGHTLY:g} minutes.",
)
@click.option("--minutes", default=60.0, show_default=True)
@click.option("--only", type=click.Choice([*WORK]), multiple=True, help="A piece of work; may repeat.")
def main(minutes, nightly, only) -> record.Found:
    # one piece of work interrupts; a shell's background ignores that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    samples = _soaked(NIGHTLY if nightly else minutes, only)
    found = levels.judge(samples)
    for each in found:
        rate = f"{each.hourly:+,.0f} an hour ({each.low:+,.0f} to {each.high:+,.0f})"
        verdict = "LEAKS" if each.fault else "level"
        print(f"{each.name:16} {each.middle:16,.0f}  {rate:56}{verdict}")
    wrong = record.warn([f"round {each['round']}, {fault}" for each in samples for fault in each["wrong"]])
    leaks = [each.fault for each in found if each.fault]
    by_name, seconds = {each.name: each for each in found}, samples[-1]["at"] - samples[0]["at"]
    peak = by_name["peak"]
    exact = sum(each.fault is None for each in found if each.name in levels.EXACT)
    figure = (f"{seconds / 60:.0f} minutes, {len(samples)} rounds of all work: memory at the last peak of a round "
              f"{100 * peak.hourly / peak.middle:+.2f} % an hour at {peak.middle / MIB:.0f} MiB; "
              f"{exact} of {len(levels.EXACT)} counts exactly level")  # fmt: skip
    details = {"rounds": len(samples), "leaks": leaks, "wrong": wrong, "work": [*WORK],
               **{each.name: each.record() for each in found if each.name not in levels.EXACT},
               "exactly level": {each.name: each.last for each in found if each.name in levels.EXACT}}  # fmt: skip
    return record.Found(figure, [*leaks, *wrong], details)


if __name__ == "__main__":
    main()
