"""What `grailbench pack` shows."""

from __future__ import annotations

from collections import Counter

from grailbench.cli.views import put_json
from grailbench.harness import plugins
from grailbench.harness.cells import Run
from grailbench.harness.submission import Judged, Packed
from grailbench.util import words
from grailbench.util.screen import paired, put

UNCLEAN = "NOT FROM A CLEAN COMMIT: nobody can repeat it"


def put_packed(found: Packed, as_json: bool) -> None:
    """The file that was written, what is in it, and what it says of the user's machine."""
    if as_json:
        put_json([{"path": str(found.path), "bytes": found.size, **_facts(found.run, found.clean, found.redacted),
                   "says": found.says}])  # fmt: skip
        return
    put([f"written: {found.path}, {words.size(found.size)}"])
    put(paired(_lines(found.run, found.clean, found.redacted)))
    if found.says:
        put(["", "Read before you share it:", *(f"  {line}" for line in found.says)])
        put([] if found.redacted else ["--redact leaves out folders, hosts and the user's name."])


def put_judged(found: Judged, as_json: bool) -> None:
    """What is in a pack, and what was found of it."""
    graphs = {standing: [name for name, its in found.graphs.items() if its == standing] for standing in
              dict.fromkeys(found.graphs.values())}  # fmt: skip
    if as_json:
        put_json([{"path": str(found.path), **_facts(found.run, found.clean, found.redacted),
                   "verified": found.methods, "graphs": found.graphs, "sums": found.sums,
                   "faults": found.faults}])  # fmt: skip
        return
    put([f"{found.path}: a whole pack"])
    lines = _lines(found.run, found.clean, found.redacted)
    lines.append(("answers checked by", _counted(found.methods)))
    lines += [(f"graphs {standing}", words.listing(names, 5)) for standing, names in graphs.items()]
    lines.append(("checksums of rows", "each row has one, and it fits" if found.sums else "none: of an older version"))
    put(paired([*lines, *(("FAULT", fault) for fault in found.faults)]))


def _facts(run: Run, clean: bool, redacted: list[str]) -> dict:
    return {"run": run.name, "machine": run.machine, "fingerprint": run.fingerprint,
            "cells": len(run.cells), "statuses": Counter(cell.status for cell in run.cells),
            "commit": run.environment.get("commit"), "plugins": plugins.sentences(run.environment), "clean": clean,
            "redacted": redacted}  # fmt: skip


def _lines(run: Run, clean: bool, redacted: list[str]) -> list[tuple[str, str]]:
    statuses = Counter(cell.status for cell in run.cells)
    lines = [("run", run.name), ("machine", run.machine), ("cells", f"{len(run.cells):,}: {_counted(statuses)}")]
    lines.append(("code", "from clean commits" if clean else UNCLEAN))
    lines += [("plug-in", each) for each in plugins.sentences(run.environment)]
    return lines + [("left out", each) for each in redacted]


def _counted(found: Counter) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in found.items())
