"""Every reader of files, fed anything: mutated inputs, of which those are kept that reach new code.

    python tests/faults/fuzz.py --target gra --target edges --executions 10000000 --processes 12 --out /dev/shm/fuzz

Each input must be read right, as plain Python reads it (`slow_readers`), or refused with one of grailbench's own errors
that names the file; within seconds, without gigabytes, and without leaving a file. What else comes of an input is kept
below the folder `--out`, with its traceback. The folder keeps counts and seeds too: the same command goes on until all
executions are done. It is fastest in memory, as in /dev/shm.

With atheris (`pip install atheris`) inputs are made after the code that they reach, else after what came of them. Exit
code 1 if there is a finding.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import click
import engines
import record
from campaign import Campaign, Chunk

NIGHTLY_SECONDS = 840


def every_target() -> dict:
    """All targets by name."""
    import targets
    import targets_kept

    return {target.name: target for target in (*targets.TARGETS, *targets_kept.TARGETS)}


@record.program(
    "Inputs",
    "Whatever stands in a file, it is read right or refused with one clear error: no crash, no hang, no traceback, no "
    "unbounded memory.",
    night="All readers for a quarter of an hour.",
)
@click.option("--target", "names", multiple=True, help="A reader, see --list; may repeat. All by default.")
@click.option("--but", multiple=True, help="Not this one; may repeat.")
@click.option("--list", "listed", is_flag=True, help="Show the readers, and end.")
@click.option("--executions", type=int, help="Of each reader in all, with those before. [10 or 1 million]")
@click.option("--processes", default=1, show_default=True)
@click.option("--seconds", type=float, default=float("inf"), help="Stop after so long; the same command goes on.")
@click.option("--seed", default=23, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="The folder of counts, corpus and findings.")
@click.option("--engine", type=click.Choice(["atheris", "own"]), help="[atheris, if it is installed]")
@click.option("--boundscheck", is_flag=True, help="Instead: all kernels of the CPU with checked indices.")
@click.option("--digraphs", default=200, show_default=True, help="Of --boundscheck: random digraphs.")
def main(names, but, listed, executions, processes, seconds, seed, out, engine, nightly, boundscheck, digraphs):
    if boundscheck:
        import bounds

        return bounds.run(digraphs, processes, seconds, out)
    known = every_target()
    if unknown := [each for each in (*names, *but) if each not in known]:
        raise click.UsageError(f"no reader {unknown[0]!r}: one of {', '.join(known)}")
    chosen = [known[each] for each in (names or known) if each not in but]
    if listed:
        for target in chosen:
            print(f"{target.name:16} {target.goal:>12,}  {target.about}")
        sys.exit()
    engine = engine or ("atheris" if engines.has_atheris() else "own")
    if engine == "atheris" and not engines.has_atheris():
        raise click.UsageError("atheris is not installed: pip install atheris, or --engine own")
    seconds = min(seconds, NIGHTLY_SECONDS) if nightly else seconds
    out = out or Path("/dev/shm" if os.path.isdir("/dev/shm") else "/tmp") / f"grailbench-fuzz-{os.getuid()}"
    goals = {target.name: executions or target.goal for target in chosen}
    campaign = Campaign(out, chosen, goals, seed, engine)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        campaign.run(processes, seconds)
    except KeyboardInterrupt:
        campaign.stop()
        print("interrupted; the same command goes on", flush=True)
    print(campaign.table(), flush=True)
    findings = [f"{each['target']}: {each['sign']}: {out / 'findings' / each['file']}"
                for each in campaign.open_findings()]  # fmt: skip
    done = campaign.counts()
    readers = f"{len(done)} readers" if len(done) > 1 else f"the reader of {chosen[0].about}"
    figure = f"{sum(done.values()):,} executions of {readers}, {len(findings)} findings"
    more = {"seconds": campaign.processor_seconds()}
    return record.Found(figure, record.told(findings), campaign.details(), more=more)


if __name__ == "__main__":
    main()

__all__ = ["Chunk", "every_target", "main"]
