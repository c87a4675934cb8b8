"""`grailbench pack`: a run as one file for others, and a look at such a file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from grailbench.cli import completion, options
from grailbench.cli.printing import show
from grailbench.util import words
from grailbench.util.screen import paired

if TYPE_CHECKING:
    from grailbench.harness.submission import Judged, Packed


@click.command("pack")
@click.argument("run", type=completion.RUN)
@click.option(
    "--out", metavar="FILE", type=options.Output(dir_okay=False), help="The pack. [default: RUN.pack.zip here]"
)
@click.option("--redact", is_flag=True, help="Leave out folders, hosts and the user's name, but no measurement.")
@click.option("--check", is_flag=True, help="RUN is a pack: verify it whole, judge it, and say what is in it.")
@options.as_json
def command(run, out, redact, check, as_json):
    """Pack the run RUN into one file: its rows, its plan, its environment, and a manifest with their checksums.

    The same run gives the same bytes. 'report', 'compare', 'plot' and 'cite' take the file in place of a run,
    and verify it whole before they believe any of it. Packed is what 'grailbench record' takes, and also what was not
    measured from a clean commit, which is marked wherever it is shown.

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
    from grailbench.harness import submission

    if check:
        if out or redact:
            raise click.UsageError("--check goes without --out and --redact")
        found = submission.judge(run)
        put_judged(found, as_json)
        found.check()
    else:
        put_packed(submission.submit(run, out, redact), as_json)


UNCLEAN = "NOT FROM A CLEAN COMMIT: nobody can repeat it"


def put_packed(found: Packed, as_json: bool) -> None:
    """The file that was written, what is in it, and what it says of the user's machine."""
    facts, lines = _facts(found)
    record = {"path": str(found.path), "bytes": found.size, **facts, "says": found.says}
    parts = [f"written: {found.path}, {words.size(found.size)}", *paired(lines)]
    if found.says:
        parts += ["", "Read before you share it:", *(f"  {line}" for line in found.says)]
        parts += [] if found.redacted else ["--redact leaves out folders, hosts and the user's name."]
    show(as_json, [record], parts)


def put_judged(found: Judged, as_json: bool) -> None:
    """What is in a pack, and what was found of it."""
    facts, lines = _facts(found)
    record = {"path": str(found.path), **facts, "verified": found.methods, "graphs": found.graphs,
              "faults": found.faults}  # fmt: skip
    lines.append(("answers checked by", _counted(found.methods)))
    for status in dict.fromkeys(found.graphs.values()):
        names = [name for name, its in found.graphs.items() if its == status]
        lines.append((f"graphs {status}", words.listing(names, 5)))
    lines += [("FAULT", fault) for fault in found.faults]
    show(as_json, [record], [f"{found.path}: a whole pack", *paired(lines)])


def _facts(found: Packed | Judged) -> tuple[dict, list[tuple[str, str]]]:
    """What is in a pack, for machines and for people."""
    from grailbench.harness import plugins

    run, statuses = found.run, Counter(cell.status for cell in found.run.cells)
    extensions = plugins.sentences(run.environment)
    facts = {"run": run.name, "machine": run.machine, "fingerprint": run.fingerprint, "cells": len(run.cells),
             "statuses": statuses, "commit": run.environment.get("commit"), "plugins": extensions,
             "clean": found.clean, "redacted": found.redacted}  # fmt: skip
    lines = [("run", run.name), ("machine", run.machine), ("cells", f"{len(run.cells):,}: {_counted(statuses)}"),
             ("code", "from clean commits" if found.clean else UNCLEAN),
             *(("plug-in", each) for each in extensions), *(("left out", each) for each in found.redacted)]  # fmt: skip
    return facts, lines


def _counted(found: Counter) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in found.items())
