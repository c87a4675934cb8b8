"""How far each time stands from the least that its counters allow on this machine, and the counters themselves.

The floor of a phase is the larger of two times: its gathers at the rate measured for the largest table not larger
than the phase's label table, and its streamed bytes at the rate of a long read, where one pass exceeds the last-level
cache. Both rates come from `grailbench limits`, for one thread or for all as the cell used. What the model leaves
out (stamps, stack, branches, dependent misses) makes real times larger, never smaller.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pandas

from grailbench.errors import InputError, MachineLacks
from grailbench.graph.store import atomic_file
from grailbench.limits.ceilings import Ceilings
from grailbench.limits.ceilings import load as measured_here
from grailbench.report import render
from grailbench.runs.cells import ON_DEVICE, Cell
from grailbench.runs.environment import environment, fingerprint
from grailbench.runs.folder import read_environment, read_json

PHASES = ("label", "query")
_WHO = ("dataset", "cell", "query_set")  #: what tells the rows of a frame apart
_TRAFFIC = ("_bytes_read", "_bytes_written", "_bytes_streamed", "_pass_bytes", "_gathers", "gather_table_bytes")


def least_ms(counters: dict[str, int], phase: str, ceilings: Ceilings) -> tuple[float, str]:
    """The floor of a phase in milliseconds, and which of 'gather', 'stream' and 'barrier' sets most of it."""
    gather = counters[f"{phase}_gathers"] / ceilings.gathers_per_ms(counters["gather_table_bytes"])
    cached = counters[f"{phase}_pass_bytes"] <= ceilings.cache
    stream = 0.0 if cached else counters[f"{phase}_bytes_streamed"] / ceilings.bytes_per_ms()
    waiting = counters.get(f"{phase}_barriers", 0) * ceilings.barrier / 1e3
    parts = {"gather": gather, "stream": stream, "barrier": waiting}
    return max(gather, stream) + waiting, max(parts, key=parts.get)


def ceilings_for(run: Path, file: str | None = None) -> dict:
    """The document of `grailbench limits` that a run's times stand against: `file`, or this machine's own.

    Raises MachineLacks when this machine's were not measured, InputError when the run is of another machine and no
    file is given, or the file is no such document.
    """
    if file:
        remedy = "'grailbench limits --out DIR' writes one"
        if not Path(file).is_file():
            raise InputError("there is no such file", path=file, remedy=remedy)
        document = read_json(Path(file))
        if "cpu" not in document or "machine" not in document:
            raise InputError("holds no ceilings of a processor", path=file, remedy=remedy)
        return document
    if read_environment(run).get("fingerprint") != fingerprint(environment()):
        raise InputError(
            f"{run.name} is of another machine, or of other software", remedy="name its ceilings: --limit=limits.json"
        )
    document = measured_here()
    if document is None or "cpu" not in document:
        raise MachineLacks("this machine's ceilings were not measured: run 'grailbench limits' first")
    return document


def multiples(cells: Iterable[Cell], document: dict) -> pandas.DataFrame:
    """One row a cell and phase with counters: `dataset, cell, query_set, phase, median_ms, least_ms, x_limit, bound`.

    Of a cell on one GPU it is the part on the device that stands against the GPU's ceilings, where the document has
    them; on several GPUs none does.
    """
    rows = []
    for cell in cells:
        if not cell.sound or not cell.counters or "query_gathers" not in cell.counters:
            continue
        ceilings, part = Ceilings.of(document, cell.threads or 1), ""
        if any(phase == ON_DEVICE for _, phase in cell.phases):
            ceilings, part = Ceilings.of_gpu(document), f"/{ON_DEVICE}"
            if ceilings is None or (cell.devices or 1) > 1:
                continue
        for phase in PHASES:
            stats = cell.phases.get((phase, ON_DEVICE)) if part else cell.stats(phase)
            least, bound = least_ms(cell.counters, phase, ceilings)
            if stats is not None and least > 0:
                sampled = ", sampled" if cell.status == "sampled" else ""
                who = (cell.dataset, cell.label + sampled, cell.query_set)
                rows.append((*who, phase + part, stats.median, least, stats.median / least, bound))
    columns = [*_WHO, "phase", "median_ms", "least_ms", "x_limit", "bound"]
    return pandas.DataFrame(rows, columns=columns)


def counters(cells: Iterable[Cell]) -> pandas.DataFrame:
    """One row a cell that counted: `dataset, cell, query_set`, then every counter: work, then modelled traffic."""
    counted = [cell for cell in cells if cell.counters]
    rows = [dict(zip(_WHO, (c.dataset, c.label, c.query_set), strict=True)) | c.counters for c in counted]
    frame = pandas.DataFrame(rows)
    return frame.astype({name: "Int64" for name in frame.columns if name not in _WHO})


def work(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The counters without the modelled traffic."""
    return frame[[name for name in frame.columns if not name.endswith(_TRAFFIC)]]


def grids(frame: pandas.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Headers and lines of a frame as text."""
    lines = [
        [render.ms(value) if isinstance(value, float) else "" if value is pandas.NA else str(value) for value in row]
        for row in frame.itertuples(index=False)
    ]
    return [name.replace("_", " ") for name in frame.columns], lines


def show(title: str, frame: pandas.DataFrame):
    """The table of a frame; a line when it is empty."""
    if frame.empty:
        yield f"{title}: no cell of the run has counters"
        return
    headers, lines = grids(frame)
    words = (*(name.replace("_", " ") for name in _WHO), "phase", "bound")
    right = {name for name in headers if name not in words}
    yield from render.terminal(title, headers, lines, right=right, keys=len(_WHO))


def write(frame: pandas.DataFrame, folder: Path, name: str) -> Path:
    """Write a frame as `NAME.csv` into a folder, atomically; its path."""
    path = folder / f"{name}.csv"
    with atomic_file(path) as file:
        file.write(frame.to_csv(index=False, lineterminator="\n").encode())
    return path


def records(frame: pandas.DataFrame, table: str):
    """One plain dict a row, `table` first."""
    for line in frame.to_json(orient="records", lines=True).splitlines():
        if line:
            yield {"table": table, **json.loads(line)}
