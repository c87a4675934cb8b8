"""Closures of the graphs of Datalog systems beside print, and counts of every vertex: tables, floors and energy."""

import pytest
from stored import made, row

from grailbench.harness.cells import cells
from grailbench.harness.limits.ceilings import Ceilings
from grailbench.report import document, floors
from grailbench.report.papers import closures as datalog
from grailbench.report.papers import counting

SIZE = {"usroad": (129_165, 165_435, 871_365_688, 0), "wiki-vote": (8_298, 103_689, 11_945_832, 1_300)}
COUNTED = {("solve", "host_to_device"): 1.0, ("solve", "condense"): 7.0, ("solve", "allocate"): 0.5,
           ("solve", "kernel"): 6.0}  # fmt: skip


def closed(dataset, impl, times, threads=None, counters=None, energy=None, **fields):
    """Two trials of a closure and, where it is given, the row of its energy."""
    vertices, edges, pairs, cyclic = SIZE[dataset]
    counters = {"components": vertices, "pairs_with_cycles": pairs + cyclic} | (counters or {})
    base = {"problem": "closure", "dataset": dataset, "impl": impl, "threads": threads, "dim": None, "search": None,
            "filters": None, "order": None, "query_set": "all", "vertices": vertices, "edges": edges,
            "queries": vertices, "positives": pairs, "counters": counters} | fields  # fmt: skip
    found = []
    for trial in range(2):
        rest = {name: ms for name, ms in times.items() if name != ("", "solve")}
        for (under, phase), ms in [*rest.items(), (("", "solve"), times["", "solve"])]:
            found.append(row(phase=phase, under=under, trial=trial, ms=ms, **base))
    return found + ([row(phase=None, energy=energy, **base)] if energy else [])


WATTS = {"joules": 12.5, "seconds": 0.13, "calls": 8, "idle_watts": 81.2}
ROWS = [
    *closed("usroad", "condense-bits-gpu", {**COUNTED, ("solve", "device_to_host"): 38.0, ("", "solve"): 52.5},
            energy={"reason": "energy of this GPU cannot be read: Not Supported"}),
    *closed("usroad", "condense-pairs-gpu", {("solve", "pairs"): 134.0, ("", "solve"): 145.0}, energy=WATTS),
    *closed("usroad", "condense-bits", {("", "ready"): 900.0, ("", "solve"): 800.0}, threads=1),
    *closed("usroad", "condense-bits", {("", "ready"): 300.0, ("", "solve"): 200.0}, threads=16),
    *closed("wiki-vote", "condense-bits-gpu", {**COUNTED, ("", "solve"): 16.0}),
]  # fmt: skip


def table(name, rows=ROWS):
    """The lines of a table by graph, each by header; and the notes."""
    found = next(each for each in document.make(made(rows)).shown if each.name == name)
    lines = [dict(zip(found.headers, line, strict=True)) for line in found.lines]
    return {line["graph"].split(" [")[0]: line for line in lines}, found.notes


def test_a_graph_has_its_sizes_counted_both_ways_and_its_times():
    lines, notes = table(datalog.SIZES)
    assert lines["usroad"] == {
        "graph": "usroad", "vertices": "129,165", "edges": "165,435", "pairs": "871,365,688",
        "with (v, v)": "871,365,688", "print": "equal", "counted on the GPU": "14.5‡", "bits on the host": "52.5‡",
        "pairs on the host": "145‡", "GB/s of pairs": "48.1‡", "bits, 16 threads": "300‡",
        "bits, one thread": "900‡",
    }  # fmt: skip
    assert (lines["wiki-vote"]["with (v, v)"], lines["wiki-vote"]["print"]) == ("11,947,132", "equal")
    assert lines["wiki-vote"]["pairs on the host"] == "–"
    assert notes[0].startswith("2 of 2 closures have exactly the printed size")


def test_a_size_that_differs_from_print_shows():
    rows = closed("wiki-vote", "condense-bits-gpu", {("", "solve"): 16.0}, counters={"pairs_with_cycles": 11_945_832})
    lines, notes = table(datalog.SIZES, rows)
    assert lines["wiki-vote"]["print"] == "DIFFERS: 11,947,132"
    assert notes[0].startswith("0 of 1 closures")


def test_a_lost_cell_has_no_time_and_a_reason():
    lost = closed("usroad", "condense-pairs-gpu", {("", "solve"): 1.0}, status="wrong", reason="3 pairs are wrong")
    lines, notes = table(datalog.SIZES, [*ROWS[:10], *lost[:1]])
    assert lines["usroad"].get("pairs on the host", "–") == "–"
    assert any("3 pairs are wrong" in note for note in notes)


def test_print_stands_beside_with_its_systems_and_hardware_and_never_as_a_ratio():
    lines, notes = table(datalog.PRINT)
    usroad = lines["usroad"]
    assert (usroad["counted, s"], usroad["pairs on the host, s"]) == ("0.0145‡", "0.145‡")
    assert usroad["printed, one A100, s"] == (
        "29.0 BJoin, 75.2 MNMGDatalog, 76.9 MNMGDatalog, 77.2 GPUJoin, 82.7 GPULog, 356 GPUJoin, 365 GPUJoin"
    )
    assert usroad["printed J"] == "4,661 BJoin, 6,624 MNMGDatalog, 7,346 GPUJoin, 9,722 GPULog"
    assert usroad["printed, MNMGDatalog on more, s"] == (
        "1.74 on 32 A100, 11.1 on 1,024 CPU processes, 180 on 32 CPU processes"
    )
    assert lines["wiki-vote"]["printed, one A100, s"] == "1.13 GPUJoin, 1.14 GPUJoin"
    assert "other machines" in notes[0]
    assert "×" not in str(lines)


def test_joules_stand_beside_print_or_why_there_are_none():
    lines, notes = table(datalog.PRINT)
    assert (lines["usroad"]["J, pairs on the host"], lines["usroad"]["J, bits on the host"]) == ("12.5", "– [1]")
    assert lines["wiki-vote"]["J, bits on the host"] == "–"
    assert notes[1:-1] == [
        "Joules are of the GPU's whole board while it solves (idle it takes 81 W), by the driver's counter; the host's "
        "are not among them.",
        "[1] energy of this GPU cannot be read: Not Supported",
    ]


def test_other_closures_have_no_such_tables():
    rows = [{**each, "dataset": "mine"} for each in ROWS[:10]]
    assert datalog.tables(cells(rows)) == []


def test_the_table_of_closures_has_the_phases_of_those_from_edges_and_both_counts():
    found = next(each for each in document.make(made(ROWS)).shown if each.name == "closure")
    lines = {line[1] + line[2]: dict(zip(found.headers, line, strict=True)) for line in found.lines}
    assert lines["condense-bits-gpu"]["allocate ms"] == "0.50‡"
    assert lines["condense-pairs-gpu"]["pairs ms"] == "134.00‡"
    assert "sweep ms" not in found.headers
    (wiki,) = (line for line in found.lines if line[0] == "wiki-vote")
    assert wiki[found.headers.index("with (v, v) on cycles")] == "11,947,132"


# ------------------------------------------------------------------ floors

GPU = Ceilings(4000.0, ((1 << 18, 100.0),), 50 << 20, 1.4, ((1 << 28, 50.0),), ((1 << 28, 40.0),))
CELLS = {(cell.dataset, cell.impl, cell.threads or None): cell for cell in cells(ROWS)}


def test_the_floor_of_a_counted_closure_is_its_bits_once_through_the_memory_or_its_edges_over_the_bus():
    bits = 8 * 129_165 * 2019
    assert floors.closure_ms(CELLS["usroad", "condense-bits-gpu", None], GPU, out=False) == pytest.approx(bits / 4e9)
    small = CELLS["wiki-vote", "condense-bits-gpu", None]  # 8.6 MB of bits stay in the cache
    assert floors.closure_ms(small, GPU, out=False) == pytest.approx(8 * 103_689 / 50e6)
    # what goes out is bits or pairs
    bits, pairs = (CELLS["usroad", f"condense-{each}-gpu", None] for each in ("bits", "pairs"))
    assert floors.closure_ms(bits, GPU, out=True) == pytest.approx(8 * 129_165 * 2019 / 40e6)
    assert floors.closure_ms(pairs, GPU, out=True) == pytest.approx(8 * 871_365_688 / 40e6)


# ------------------------------------------------------------------ counts


def counted(impl, ms, query_set="all", positives=2_310, queries=100, counters=None, rate=None, threads=None, **fields):
    base = {"problem": "counts", "dataset": "kegg", "impl": impl, "threads": threads, "dim": None, "search": None,
            "filters": None, "order": None, "query_set": query_set, "queries": queries, "positives": positives,
            "counters": counters} | fields  # fmt: skip
    times = {("", "ready"): 10 * ms, ("", "solve"): ms}
    return [row(phase=p, under=u, trial=0, ms=t, rate=rate if p == "solve" else None, planned=1, **base)
            for (u, p), t in times.items()]  # fmt: skip


COUNTS = [
    *counted("counts", 4.0, threads=2),
    *counted("counts-gpu", 2.0),
    *counted("counts-sketch", 1.0, counters={"ranks": 64, "seen_permille": 118}, threads=2, positives=2_400),
    *counted("search", 8.0, "all-10-s1", queries=10, rate=50.0, threads=2),
    *counted("peer:networkx", 8.0, rate=25.0),
    *counted("counts", 5.0, "ancestors", threads=2),
]


def test_counts_have_a_line_a_graph_and_direction():
    found = counting.table(cells(COUNTS))
    lines = [dict(zip(found.headers, line, strict=True)) for line in found.lines]
    assert [line["of every vertex"] for line in lines] == ["descendants", "ancestors"]
    first = lines[0]
    assert (first["vertices"], first["pairs"]) == ("100", "2,310")
    names = "counts, 2 threads", "counts-gpu", "counts-sketch, 2 threads", "from edges"
    assert [first[f"{name} ms"] for name in names] == ["4.00‡", "2.00‡", "1.00‡", "20.0‡"]
    assert first["sketch's error"] == "11.8 %"
    assert lines[1]["counts-gpu ms"] == "–"


def test_what_was_asked_some_vertices_is_extrapolated_and_marked_and_what_was_asked_all_is_not():
    found = counting.table(cells(COUNTS))
    first = dict(zip(found.headers, found.lines[0], strict=True))
    assert first["search, 2 threads, s"] == "about 2.00 [50.0/s]‡"
    assert first["peer:networkx, s"] == "4.00‡"


def test_counts_have_joules_where_they_were_asked():
    assert "J of the GPU" not in counting.table(cells(COUNTS)).headers
    weighed = [{**COUNTS[3], "phase": None, "ms": None, "trial": None, "rate": None, "energy": WATTS}]
    found = counting.table(cells([*COUNTS, *weighed]))
    assert [line[found.headers.index("J of the GPU")] for line in found.lines] == ["12.5", "–"]
