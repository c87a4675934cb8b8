"""Runs of `--problem counts`: a line per graph and direction, counts and estimates beside searches by their rate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grailbench.compare.stability import Verdict
from grailbench.harness.cells import Cell
from grailbench.report import measured
from grailbench.report.footnotes import Footnotes
from grailbench.report.table import Table, numbers
from grailbench.util.words import BLANK, grouped, short

PROBLEM = "counts"
EXACT = ("counts", ON_GPU := "counts-gpu")
SKETCH = "counts-sketch"


def table(cells: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """Medians in ms of what counts all vertices; of what searches from each drawn vertex, the time that all would take
    at that rate. Records have the rates, and why cells are unstable, by the verdicts on them by key."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.problem == PROBLEM:
            groups.setdefault((cell.dataset, _direction(cell)), []).append(cell)
    own = [cell for group in groups.values() for cell in group]
    known, found = (*EXACT, SKETCH), {(cell.impl, cell.threads or 0) for cell in own}
    whole = sorted((c for c in found if c[0] in known), key=lambda c: (known.index(c[0]), -c[1]))
    searching = sorted((c for c in found if c[0] not in known), key=lambda c: (c[0].startswith("peer:"), c))
    weighed = any(cell.energies for cell in own if cell.impl == ON_GPU)
    headers = [
        "graph", "of every vertex", "vertices", "pairs", *(f"{_name(*each)} ms" for each in whole),
        "from edges ms", *(["J of the GPU"] if weighed else []), "sketch's error",
        *(f"{_name(*each)}, s" for each in searching), "status",
    ]  # fmt: skip
    lines, records, foot = [], [], Footnotes()
    for (graph, direction), group in groups.items():
        exact = [cell for cell in group if cell.impl in EXACT]
        on_gpu = [cell for cell in exact if cell.impl == ON_GPU]
        size = next((cell.queries for cell in exact if cell.sound and cell.queries), None)
        pairs = next((cell.positives for cell in exact if cell.sound), None)
        sketch = next((cell for cell in group if cell.impl == SKETCH and cell.sound), None)
        ready = {cell.impl: measured.median(cell, "ready") for cell in exact}
        line = [graph, direction, grouped(size), grouped(pairs)]
        record = {"dataset": graph, "direction": direction, "vertices": size, "pairs": pairs}
        for impl, threads in whole:
            found = _cell(group, impl, threads)
            record[_name(impl, threads)] = time = found and measured.median(found, "solve")
            line.append(short(time) or BLANK)
        fastest = min((each for each in ready.values() if each is not None), default=None)
        record["from edges"], record["sketch error"] = fastest, error = fastest, _error(sketch)
        line.append(short(fastest) or BLANK)
        line += [measured.joules(on_gpu, "solve", foot, "gpu")] if weighed else []
        line += [BLANK if error is None else f"{100 * error:.1f} %"]
        for impl, threads in searching:
            found = _cell(group, impl, threads)
            rate = found and measured.rate(found)
            asked_all = found is not None and size is not None and found.queries == size
            record[f"{_name(impl, threads)} vertices/s"] = rate
            seconds = short(size / rate) if rate and size else ""
            line.append((seconds if asked_all else f"about {seconds} [{short(rate)}/s]") if seconds else BLANK)
        status = sorted({cell.status for cell in group}) or [""]
        reasons = [f"{cell.label}: {cell.reason}" for cell in group if cell.reason]
        line.append(", ".join(status) + foot.mark(reasons))
        lines.append(line)
        if verdicts is not None:
            known = [cell for cell in group if cell.key in verdicts]
            record["unstable"] = [f"{cell.label}: {why}" for cell in known for why in verdicts[cell.key].reasons]
        records.append({"table": PROBLEM, **record})
    notes = [
        "Medians of solve, from the condensed graph in the host's memory to all counts there; from edges: the faster "
        "of the exact ones, from raw edges. A vertex does not count itself; pairs are the sum of all counts.",
        "about 1.2 [30/s]: not measured but extrapolated; that many vertices a second were searched from, of those "
        "that were drawn, and all would take so long at that rate.",
        *(["J: of the GPU's whole board, in solve of counts-gpu, by the driver's counter."] if weighed else []),
        "The sketch's error is the root mean square of its relative error over the vertices that were checked.",
        *foot.lines(),
    ]
    data = measured.table(own, PROBLEM, verdicts).data if own else None
    return Table(PROBLEM, "Descendants and ancestors of every vertex", headers, lines,
                 numbers(headers, ("graph", "of every vertex", "status")), keys=2, notes=notes, records=records,
                 file=PROBLEM, data=data)  # fmt: skip


def _direction(cell: Cell) -> str:
    return "ancestors" if cell.query_set.startswith("ancestors") else "descendants"


def _name(impl: str, threads: int) -> str:
    return impl if not threads else f"{impl}, {'one thread' if threads == 1 else f'{threads} threads'}"


def _cell(group: Iterable[Cell], impl: str, threads: int) -> Cell | None:
    found = (cell for cell in group if (cell.impl, cell.threads or 0) == (impl, threads) and cell.sound)
    return next(found, None)


def _error(sketch: Cell | None) -> float | None:
    """The relative error that was seen of a cell of estimates; None where no row has it."""
    seen = ((sketch.counters or {}) if sketch else {}).get("seen_permille")
    return None if seen is None else seen / 1000
