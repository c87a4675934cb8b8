"""Tables as Markdown, as CSV, for the terminal, and as plain records."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Container, Iterable, Iterator

from tabulate import tabulate

from grailbench.report.footnotes import Footnotes
from grailbench.report.peers import PHASES, Comparison
from grailbench.report.tables import COUNT_TABLES, PAPER_TABLES, Entry, Table
from grailbench.runs.cells import Cell
from grailbench.screen import Grid

BLANK = "–"
PEER_NOTE = (
    "One machine, one run, trials interleaved. A peer's build condenses the graph too, ours is handed a condensed one: "
    "compare 'ready' (edges in memory to ready index) for like with like."
)
#: headers of columns of words, which stand on the left
_WORDS = ("", "implementation", "problem", "search", "filters", "query set", "phase", "status")
_INTEGERS = ("Vertices", "Edges", "# Vertices (n)", "# Edges (m)", "Positive Queries", "Queries on GPU")


def heading(table: Table) -> str:
    """'Table 2.4: Sparse tests (all times in ms)'; other tables have their caption alone."""
    if table.name in PAPER_TABLES:
        return f"Computation 2020, table {table.name[-1]}: {table.caption}"
    return f"Table {table.name}: {table.caption}" if table.name[0].isdigit() else table.caption


def grid(table: Table) -> tuple[list[str], list[list[str]], list[str]]:
    """Headers, lines and footnotes of a table, as text.

    Each graph has a line of measured values and, where there is print, one of printed values and one of the
    ratio or difference, all under the printed columns; columns that print has not are blank there.
    """
    foot = Footnotes()
    first, *values = table.columns
    lines = []
    for row in table.rows:
        entries = [row.entries[column] for column in values]
        blank = _shared_reason(entries)
        name = row.title + foot.mark(blank)
        measured = [
            _measured(column, e) + ("" if blank else foot.mark(e.measured_notes))
            for column, e in zip(values, entries, strict=True)
        ]
        if not table.third:
            lines.append([name, *measured])
            continue
        lines.append([name, "measured", *measured])
        if not any(e.printed for e in entries):  # a look-alike among published rows
            continue
        lines.append(["", "printed", *(f"{e.printed or ''}{foot.mark(e.printed_notes)}" for e in entries)])
        if not blank:
            compare = _difference if table.third == "difference" else _ratio
            lines.append(["", table.third, *(compare(e.ratio) if e.printed else "" for e in entries)])
    headers = [first, *([""] if table.third else []), *values]
    return headers, lines, [*table.notes, *foot.lines()]


def _shared_reason(entries: list[Entry]) -> tuple[str, ...]:
    """The one note that explains why a whole row is blank, else ()."""
    notes = {e.measured_notes for e in entries}
    return notes.pop() if len(notes) == 1 and all(e.measured is None for e in entries) else ()


def _measured(column: str, entry: Entry) -> str:
    if entry.measured is None:
        return BLANK if entry.status == "missing" else entry.status.upper()
    text = f"{entry.measured:.0f}" if column in _INTEGERS else ms(entry.measured)
    if entry.status == "ok":
        return text
    few = entry.cell.planned is not None and entry.cell.trials < entry.cell.planned
    words = ["sampled"] if entry.status == "sampled" else []
    return f"{text} ({', '.join(words + [f'{entry.cell.trials} of {entry.cell.planned}'] * few)})"


def ms(value: float | None) -> str:
    """A time in ms with the thesis's two decimals, three where it would read 0.0x."""
    if value is None:
        return BLANK
    return f"{value:.3f}" if abs(value) < 0.1 else f"{value:.2f}"


def _ratio(value: float | None) -> str:
    """Two significant digits below one, two decimals above."""
    if value is None:
        return BLANK
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _difference(value: float | None) -> str:
    if value is None:
        return BLANK
    return "0" if abs(value) < 1e-9 else f"{value:+.2f}".rstrip("0").rstrip(".")


def peer_grid(comparison: Comparison) -> tuple[list[str], list[list[str]], list[str]]:
    """Headers, lines and notes: each graph's median ms of ours and theirs and the ratio, by phase; then the geometric
    means and the largest ratios."""
    headers = ["Data set"]
    for phase in comparison.phases:
        headers += [f"{phase} ours", f"{phase} theirs", "ratio"]
    lines = []
    for pair in comparison.pairs:
        line = [pair.dataset if pair.status == "ok" else f"{pair.dataset} ({pair.status})"]
        for phase in comparison.phases:
            line += [ms(pair.ours[phase]), ms(pair.theirs[phase]), _ratio(pair.ratio(phase))]
        lines.append(line)
    means, largest = ["geometric mean"], ["largest ratio"]
    for phase in comparison.phases:
        mean, graphs = comparison.geometric_mean(phase)
        means += ["", f"{graphs} graph{'s' if graphs != 1 else ''}", _ratio(mean)]
        worst, where = comparison.worst(phase)
        largest += ["", where, _ratio(worst)]
    return headers, [*lines, means, largest], [PEER_NOTE]


def peer_heading(comparison: Comparison) -> str:
    """'Peers: A against B (random-100000-s1, one thread each; median ms; ratio = ours / theirs)'."""
    kind = "look-alikes, " if comparison.like else ""
    threads = "one thread each" if comparison.threads == 1 else f"ours on one thread, theirs on {comparison.threads}"
    how = f"{kind}{comparison.query_set}, {threads}; median ms; ratio = ours / theirs"
    return f"Peers: {comparison.ours} against {comparison.theirs} ({how})"


def markdown(
    title: str,
    headers: list[str],
    lines: list[list[str]],
    notes: Iterable[str] = (),
    right: Container[str] | None = None,
) -> str:
    """A Markdown section: heading, table, notes. `right`: headers of right-aligned columns, else all but the names."""
    if right is None:
        right = {header for i, header in enumerate(headers) if i and header not in ("", "Data set")}
    align = ["right" if header in right else "left" for header in headers]
    body = tabulate(
        [[cell.replace("|", "\\|") for cell in line] for line in lines],
        headers=headers,
        tablefmt="github",
        disable_numparse=True,
        colalign=align,
    )
    foot = "".join(f"- {note}\n" for note in notes)
    return f"## {title}\n\n{body}\n" + (f"\n{foot}" if foot else "")


def table_markdown(table: Table) -> str:
    """A table with its heading and notes, as Markdown."""
    headers, lines, notes = grid(table)
    return markdown(heading(table), headers, lines, notes)


def terminal(
    title: str,
    headers: list[str],
    lines: list[list[str]],
    notes: Iterable[str] = (),
    right: Container[str] | None = None,
    keys: int = 1,
) -> Iterator[Grid | str]:
    """The table, then its notes. `right`: headers of right-aligned columns, else all but those of words; `keys`: how
    many columns say what a line is about."""
    numbers = {name for i, name in enumerate(headers) if (i and name not in _WORDS if right is None else name in right)}
    grouped = len(headers) > 1 and headers[1] == ""
    ends = {i for i in range(len(lines) - 1) if grouped and lines[i + 1][0] != ""}
    yield Grid(title, headers, lines, frozenset(numbers), keys, frozenset(ends))
    yield from notes


def wide_csv(table: Table) -> str:
    """One line a graph: dataset, name, then for each column `measured`, `printed`, `ratio` (or `difference`)
    and `status`."""
    sides = ("measured", "printed", table.third) if table.third else ("measured",)
    header = ["dataset", table.columns[0]]
    header += [f"{column} {side}" for column in table.columns[1:] for side in (*sides, "status")]
    return _csv(header, (_wide_line(table, row, sides) for row in table.rows))


def _wide_line(table: Table, row, sides: tuple[str, ...]) -> list:
    line = [row.dataset, row.title]
    for column in table.columns[1:]:
        entry = row.entries[column]
        values = {"measured": entry.measured, "printed": entry.printed, table.third: entry.ratio}
        line += [*(values[side] for side in sides), entry.status]
    return line


def peers_csv(comparisons: Iterable[Comparison]) -> str:
    """One line a comparison, graph and phase: both sides, query set, graph, phase, their median ms, ratio, status."""
    header = ["ours", "theirs", "query_set", "dataset", "phase", "ours_ms", "theirs_ms", "ratio", "status"]
    lines = (
        [
            c.ours,
            c.theirs,
            c.query_set,
            pair.dataset,
            phase,
            pair.ours[phase],
            pair.theirs[phase],
            pair.ratio(phase),
            pair.status,
        ]
        for c in comparisons
        for pair in c.pairs
        for phase in PHASES
    )
    return _csv(header, lines)


def _csv(header: list[str], lines: Iterable[list]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return out.getvalue()


def records(table: Table) -> Iterator[dict]:
    """One record a cell of the table, for `--json`."""
    for row in table.rows:
        for column in table.columns[1:]:
            entry, cell = row.entries[column], row.entries[column].cell
            record = {
                "table": table.name,
                "dataset": row.dataset,
                "title": row.title,
                "column": column,
                "measured": entry.measured,
                "printed": None if entry.printed is None else float(entry.printed),
                table.third or "ratio": entry.ratio,
                "status": entry.status,
                "notes": [*entry.measured_notes, *entry.printed_notes],
            }
            yield {**record, **({} if table.name in COUNT_TABLES else _source(cell))}


def _source(cell: Cell | None) -> dict:
    get: Callable = (lambda name: None) if cell is None else (lambda name: getattr(cell, name))
    return {name: get(name) for name in ("impl", "dim", "search", "filters", "threads", "trials", "queries")}


def peer_records(comparison: Comparison) -> Iterator[dict]:
    """One record a graph and phase, then one a phase with the geometric mean over the graphs (`dataset`
    null)."""
    base = {"table": "peers", "ours": comparison.ours, "theirs": comparison.theirs, "query_set": comparison.query_set}
    for pair in comparison.pairs:
        for phase in PHASES:
            yield {
                **base, "dataset": pair.dataset, "phase": phase, "ours_ms": pair.ours[phase],
                "theirs_ms": pair.theirs[phase], "ratio": pair.ratio(phase), "status": pair.status,
            }  # fmt: skip
    for phase in PHASES:
        mean, graphs = comparison.geometric_mean(phase)
        yield {**base, "dataset": None, "phase": phase, "geometric_mean": mean, "graphs": graphs}
