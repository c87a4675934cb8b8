"""Joules in tables, records, CSV and pages: by phase, with the reason where one or a meter is missing."""

import pytest
from stored import HOSTILE, row, store, trials

from grailbench.errors import InputError
from grailbench.harness.cells import cells, read
from grailbench.report import measured
from grailbench.report.measured import detail
from grailbench.report.values import Expression, Source

CLOSED = "energy of this CPU cannot be read: closed"
GPU = {"impl": "gpu-fused", "search": None, "filters": "level,tree,hubs"}
CPU = {"filters": "level,tree,hubs"}


def phase(seconds=0.01, **joules):
    """What is stored of a phase: joules by meter, or a text that says why there are none. Idle, each takes 80 W."""
    meters = {
        name: {"reason": each} if isinstance(each, str) else {"joules": each, "idle_watts": 80.0, "resolution": 0.01}
        for name, each in joules.items()
    }
    return {"seconds": seconds, "calls": 100, "meters": meters}


def weighed(energy, **fields):
    """The row that follows the trials of a cell."""
    return row(phase=None, energy=energy, **fields)


ROWS = [
    *trials(apart={"ready": 8.0}, **CPU),
    weighed({"phases": {"label": phase(cpu=0.25), "query": phase(cpu=2.0, dram=0.5, psys=9.0),
                        "ready": {"reason": HOSTILE}}}, **CPU),
    *trials(apart={"ready": 4.0}, **GPU),
    weighed({"phases": {"label": phase(gpu=6.0, cpu=1.0), "query": phase(gpu=1.5, cpu=CLOSED),
                        "ready": phase(gpu=8.0, cpu=4.0)}}, **GPU),
    *trials(dim=5, **CPU),
    weighed({"reason": CLOSED}, dim=5, **CPU),
    *trials(dim=1, **CPU),
]  # fmt: skip


def lines(found):
    return {(line[1], line[2]): dict(zip(found.headers, line, strict=True)) for line in found.lines}


def test_the_table_of_cells_has_joules_by_phase_and_says_what_is_missing():
    found = measured.table(cells(ROWS))
    shown = {key: [line[f"{name} J"] for name in ("label", "query", "ready")] for key, line in lines(found).items()}
    assert shown == {
        ("gpu-fused", "2"): ["7.00", "1.50 [1]", "12.0"],
        ("sequential", "1"): ["", "", ""],  # it was not asked
        ("sequential", "2"): ["0.250", "2.50", "– [2]"],
        ("sequential", "5"): ["– [3]", "– [3]", "– [3]"],
    }
    assert f"without all packages of the host: {CLOSED}" in " ".join(found.notes)
    assert any(HOSTILE in note for note in found.notes)
    assert any("board of each GPU" in note and "packages" in note and "memory" in note for note in found.notes)


def test_without_any_joules_one_column_has_the_reason_and_a_wrong_cell_has_none():
    found = measured.table(cells([*trials(), weighed({"reason": CLOSED})]))
    assert [header for header in found.headers if header.endswith(" J")] == ["query J"]
    assert lines(found)["sequential", "2"]["query J"] == "– [1]"
    assert f"[1] {CLOSED}" in found.notes
    (cell,) = cells([*trials(), weighed({"phases": {"query": phase(cpu=1.0)}}), row(status="wrong", reason="pair 17")])
    assert cell.joules("query") is None
    assert cell.energies.joules("query") == 1.0


def test_records_have_joules_idle_power_meters_and_reasons():
    known = {
        (each["impl"], each["d"] if "d" in each else each["dim"]): each for each in measured.table(cells(ROWS)).records
    }
    gpu = known["gpu-fused", 2]
    assert (gpu["label_joules"], gpu["label_meters"], gpu["label_idle_watts"]) == (7.0, "gpu+cpu", 160.0)
    assert (gpu["query_joules"], gpu["query_meters"]) == (1.5, "gpu")
    assert gpu["query_energy_reason"] == f"without all packages of the host: {CLOSED}"
    assert known["sequential", 5]["energy_reason"] == CLOSED
    assert not [name for name in known["sequential", 1] if "joules" in name or "energy" in name]


def test_the_csv_has_joules_idle_power_and_meters_of_each_phase_or_blanks():
    frame = detail(cells(ROWS)).set_index(["impl", "dim", "phase"])
    energy = frame[["joules", "idle_watts", "meters"]]
    assert energy.loc[("sequential", 2, "query")].tolist() == [2.5, 160.0, "cpu+dram"]
    assert energy.loc[[("sequential", 5, "query")]].isna().all(axis=None)
    assert frame.loc[[("sequential", 2, "ready")], "joules"].isna().all()


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [("gpu-fused joules/label", 7.0, "J"), ("gpu-fused joules/label/gpu", 6.0, "J"),
     ("gpu-fused above_idle/label/gpu", 5.2, "J"), ("gpu-fused watts/label/cpu", 100.0, "W"),
     ("gpu-fused idle_watts/label", 160.0, "W"), ("sequential joules/query/psys dim=2", 9.0, "J"),
     ("sequential joules/query dim=2 / gpu-fused joules/query/gpu", 2.5 / 1.5, "x"),
     ("gpu-fused joules/query / gpu-fused queries", 1.5e-5, "J"), ("gpu-fused joules/query/cpu", None, ""),
     ("sequential joules/ready dim=2", None, ""), ("gpu-fused joules/walk", None, "")],
)  # fmt: skip
def test_expressions_take_joules_and_watts_of_a_phase_that_has_them(text, number, unit):
    found = Expression.parse(text, {}).of(Source(cells(ROWS)), "kegg")
    assert (found and (found.number, found.unit)) == (number and (pytest.approx(number), unit))


def test_a_run_whose_rows_have_the_old_form_is_read_and_shown(tmp_path):
    old = {"joules": 12.5, "seconds": 0.13, "calls": 8, "idle_watts": 81.2}
    store(tmp_path / "run", [*trials(**GPU), weighed(old, **GPU)])
    (cell,) = read(tmp_path / "run").cells
    assert (cell.joules("query", "gpu"), cell.joules("label")) == (12.5, None)
    assert lines(measured.table([cell]))["gpu-fused", "2"]["query J"] == "12.5"


def test_a_row_with_another_form_is_no_row(tmp_path):
    store(tmp_path / "run", [*trials(), weighed({"phases": {"query": {"seconds": 1.0}}})])
    with pytest.raises(InputError, match="field 'energy' cannot be") as caught:
        read(tmp_path / "run")
    assert caught.value.line == 5
