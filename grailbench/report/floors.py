"""How far each time is from the least time that its counters allow on this machine, and the counters themselves.

The floor of a phase is the larger of two times: its gathers at the rate measured for the largest table not larger
than the phase's label table, and its streamed bytes at the rate of a long read, if one pass exceeds the last-level
cache. Both rates come from `grailbench limits`, for one thread or for all, as the cell used them. What the model leaves
out (stamps, stack, branches, dependent misses) makes real times longer, never shorter.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas

from grailbench.errors import InputError, MachineLacks
from grailbench.harness.cells import ON_DEVICE, Cell, read
from grailbench.harness.environment import environment, fingerprint
from grailbench.harness.folder import read_json
from grailbench.harness.limits.ceilings import Ceilings
from grailbench.harness.limits.ceilings import load as measured_here
from grailbench.problems.contract import USUAL
from grailbench.report.table import Table
from grailbench.util.words import ms

PHASES = ("label", "query")
#: bytes through the device's memory: of an edge that arrives and is read to be sorted; of one in rows of children and
#: of parents, written, and the children read once; of a label pair and of the hubs' words of a vertex, written
EDGE_BYTES, ROW_BYTES, LABEL_BYTES, WORD_BYTES = 8 + 8, 4 + 4 + 4, 8, 16
_KEYS = ("dataset", "cell", "query_set")  #: columns that identify a cell
_TEXTS = (*_KEYS, "phase", "bound")
LIMIT, COUNTERS = "x limit", "counters"  #: names of the tables
_TRAFFIC = ("_bytes_read", "_bytes_written", "_bytes_streamed", "_pass_bytes", "_gathers", "gather_table_bytes")


def least_ms(counters: dict[str, int], phase: str, ceilings: Ceilings) -> tuple[float, str]:
    """The floor of a phase in milliseconds, and which of 'gather', 'stream' and 'barrier' sets most of it."""
    gather = counters[f"{phase}_gathers"] / ceilings.gathers_per_ms(counters["gather_table_bytes"])
    cached = counters[f"{phase}_pass_bytes"] <= ceilings.cache
    stream = 0.0 if cached else counters[f"{phase}_bytes_streamed"] / ceilings.bytes_per_ms()
    waiting = counters.get(f"{phase}_barriers", 0) * ceilings.barrier / 1e3
    parts = {"gather": gather, "stream": stream, "barrier": waiting}
    return max(gather, stream) + waiting, max(parts, key=parts.get)


def edges_ms(cell: Cell, ceilings: Ceilings) -> float | None:
    """The floor of a GPU from edges in the memory of the host to labels of `cell.dim` pairs, in milliseconds: the
    larger of the times of the edges on their way to the device, and of the least bytes through its memory
    (docs/explanation/gpu-fused.md). None for a cell without label pairs."""
    if cell.dim is None or not ceilings.inward:
        return None
    edges = cell.edges - (cell.roots or 0) if cell.raw_edges is None else cell.raw_edges
    moved = EDGE_BYTES * edges + ROW_BYTES * cell.edges + (LABEL_BYTES * cell.dim + WORD_BYTES) * cell.vertices
    return max(ceilings.inward_ms(8 * edges), moved / ceilings.bytes_per_ms())


def closure_ms(cell: Cell, ceilings: Ceilings, out: bool) -> float | None:
    """The floor of a GPU from edges in the memory of the host to a counted closure on the device or, if `out`, to its
    bits on the host, or to its pairs if the cell hands over pairs; in milliseconds. It is the largest of the times of
    the edges on their way to the device, of its bits once through its memory, if they exceed the cache, and of what
    goes out. A component has one row of bits. None without counted components."""
    components = (cell.counters or {}).get("components")
    if components is None or cell.vertices is None or not ceilings.inward or not ceilings.outward:
        return None
    edges, size = cell.edges if cell.raw_edges is None else cell.raw_edges, 8 * components * -(-cell.vertices // 64)
    least = max(ceilings.inward_ms(8 * edges), size / ceilings.bytes_per_ms() if size > ceilings.cache else 0.0)
    if not out:
        return least
    return max(least, ceilings.outward_ms(8 * cell.positives if ("solve", "pairs") in cell.phases else size))


def counting_ms(cell: Cell, ceilings: Ceilings) -> float | None:
    """The floor of counting on a GPU, from a condensed graph in the memory of the host to counts there: that of the
    edges, 4 bytes each, and of 8 a vertex on their way in, and of as many a vertex out."""
    if cell.vertices is None or cell.edges is None or not ceilings.inward or not ceilings.outward:
        return None
    return max(ceilings.inward_ms(4 * cell.edges + 8 * cell.vertices), ceilings.outward_ms(8 * cell.vertices))


def floor_ms(cell: Cell, ceilings: Ceilings, what: str) -> float | None:
    """The floor that a selector of `report.values` names: '' of `ready` of an index, 'counted' and 'solve' of closures,
    'solve' of counts. None where the cell has no such floor, or was not timed."""
    if what == "":
        return edges_ms(cell, ceilings) if cell.stats("ready") is not None else None
    if cell.stats("solve") is None:
        return None
    if cell.problem == "closure":
        return closure_ms(cell, ceilings, out=what == "solve")
    return counting_ms(cell, ceilings) if cell.problem == "counts" and what == "solve" else None


def ceilings_for(run: Path, file: str | None = None) -> dict:
    """The document of `grailbench limits` for a run: that of `file`, else that of this machine.

    Raises MachineLacks if this machine's limits were not measured, InputError if the run is from another machine and no
    file is given, or if the file is not such a document.
    """
    if file:
        remedy = "'grailbench limits --out DIR' writes one"
        if not Path(file).is_file():
            raise InputError("there is no such file", path=file, remedy=remedy)
        document = read_json(Path(file))
        if "cpu" not in document or "machine" not in document:
            raise InputError("holds no ceilings of a processor", path=file, remedy=remedy)
        return document
    if read(run).fingerprint != fingerprint(environment()):
        remedy = "name its ceilings: --limit=limits.json"
        raise InputError(f"{run.name} is of another machine, or of other software", remedy=remedy)
    document = measured_here()
    if document is None or "cpu" not in document:
        raise MachineLacks("this machine's ceilings were not measured: run 'grailbench limits' first")
    return document


def multiples(cells: Iterable[Cell], document: dict) -> pandas.DataFrame:
    """One row per cell and phase: `dataset, cell, query_set, phase, median_ms, least_ms, x_limit, bound`.

    Cells without counters have no rows. For a cell on one GPU the time on the device is compared with the GPU's
    ceilings, if the document has them; cells on several GPUs have no rows.
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
                keys = (cell.dataset, cell.label + sampled, cell.query_set)
                rows.append((*keys, phase + part, stats.median, least, stats.median / least, bound))
    columns = [*_KEYS, "phase", "median_ms", "least_ms", "x_limit", "bound"]
    return pandas.DataFrame(rows, columns=columns)


def counters(cells: Iterable[Cell]) -> pandas.DataFrame:
    """One row per cell with counters: `dataset, cell, query_set`, then every counter: work, then modelled traffic."""
    frame = pandas.DataFrame(
        {"dataset": c.dataset, "cell": c.name if c.problem != USUAL else c.label, "query_set": c.query_set} | c.counters
        for c in cells if c.counters
    )  # fmt: skip
    return frame.astype({name: "Int64" for name in frame.columns if name not in _KEYS})


def table(name: str, frame: pandas.DataFrame) -> Table:
    """The table of a frame of `multiples` (name 'x limit') or of `counters`.

    The table of counters leaves out the modelled traffic; CSV and records have it too.
    """
    shown = frame[[each for each in frame.columns if name != COUNTERS or not each.endswith(_TRAFFIC)]]
    lines = [[ms(value) if isinstance(value, float) else "" if value is pandas.NA else str(value) for value in row]
             for row in shown.itertuples(index=False)]  # fmt: skip
    headers = {column: column.replace("_", " ") for column in shown.columns}
    records = [json.loads(line) for line in frame.to_json(orient="records", lines=True).splitlines() if line]
    numbers = frozenset(header for column, header in headers.items() if column not in _TEXTS)
    none = f"no cell of the run has counters{' that a floor follows from' * (name == LIMIT)}"
    return Table(name, name, [*headers.values()], lines, numbers, keys=len(_KEYS), notes=[] if lines else [none],
                 records=records, file=name.replace(" ", "-"), data=frame)  # fmt: skip
