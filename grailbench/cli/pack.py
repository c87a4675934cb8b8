"""The command `grailbench pack`."""

from collections import Counter

import click

from grailbench.cli import options
from grailbench.cli.printing import sheet, show
from grailbench.util import words


@click.command
@click.argument("run", type=options.RUN)
@click.option("--out", type=options.OUT_FILE, help="The pack. [default: RUN.pack.zip here]")
@click.option("--redact", is_flag=True, help="Leave out folders, hosts and the user's name, but no measurement.")
@click.option("--check", is_flag=True, help="RUN is a pack: verify it whole, judge it, and say what is in it.")
@options.as_json
def pack(run, out, redact, check, as_json):
    """Pack the run RUN into one file: its rows, its plan, its environment, and a manifest with their checksums.

    The same run gives the same bytes. 'report', 'compare', 'plot' and 'cite' take the file in place of a run,
    and verify it whole before they believe any of it. Packed is what 'grailbench record' takes, and also unstable times
    and what was not measured from a clean commit, which are marked wherever they are shown.

    With --redact, of folders the last part stays, of hosts and the user's name nothing: in the command and the config,
    and in the reasons of cells without times, whose checksums are renewed. Rows with times stay byte for byte.

    With --check: known graphs must have the registry's checksums, and implementations that were asked the same pairs
    of the same graph must have given the same answers.

    \b
    Exit codes: 1 a pack is whole, but cannot be what it says; 2 a run that is not packed (damaged, failed or wrong
    cells), or a pack that is damaged or no pack.

    \b
    Examples:
      grailbench pack results/runs/2025-01-31-quickstart --redact
      grailbench pack --check mine.pack.zip
    """
    from grailbench.compare.stability import mark
    from grailbench.harness import plugins, submission

    if check and (out or redact):
        raise click.UsageError("--check goes without --out and --redact")
    found = submission.judge(run) if check else submission.submit(run, out, redact)
    environment, marked = found.run.environment, Counter(map(mark, found.run.cells))
    facts = {
        "path": str(found.path), "run": found.run.name, "machine": found.run.machine,
        "fingerprint": found.run.fingerprint, "cells": len(found.run.cells),
        "statuses": Counter(cell.status for cell in found.run.cells), "unstable": marked[words.MARK],
        "few": marked[words.FEW],
        "commit": environment.get("commit"),
        "plugins": plugins.sentences(environment), "clean": found.clean, "redacted": found.redacted,
    }  # fmt: skip
    marks = [] if found.clean else ["NOT FROM A CLEAN COMMIT: nobody can repeat it"]
    for its, what in ((words.MARK, "UNSTABLE TIMES"), (words.FEW, "TOO FEW TRIALS to tell")):
        if marked[its]:
            marks.append(f"{what} in {words.count(marked[its], 'cell')}: {its} stands after their numbers")
    if check:
        facts |= {"verified": found.methods, "graphs": found.graphs, "faults": found.faults}
        show(as_json, [facts], [f"{found.path}: a whole pack", *marks, *sheet(facts)])
        found.check()
        return
    facts["bytes"] = found.size
    parts = [f"written: {found.path}, {words.size(found.size)}", *marks, *sheet(facts)]
    if found.says:
        parts += ["", "Read before you share it:", *(f"  {line}" for line in found.says)]
        parts += [] if redact else ["--redact leaves out folders, hosts and the user's name."]
    show(as_json, [facts | {"says": found.says}], parts)
