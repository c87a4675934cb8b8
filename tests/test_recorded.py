"""What documents say of recorded GPU runs and of bytes on the device is so."""

from commands import ROOT

from grailbench.cuda.graphs import leveled_bytes
from grailbench.harness.cells import load
from grailbench.harness.plan import config_from_flags, make_plan


def test_computation_2020_has_every_cell_of_the_config_and_only_one_core_ran_out_of_time():
    found = load(ROOT / "results" / "baselines" / "h200" / "computation-2020").cells
    asked = {
        (cell.dataset.removesuffix("-like"), cell.impl, cell.dim, cell.queries.name)
        for cell in make_plan(config_from_flags(config="computation-2020")).cells
    }
    assert {(cell.dataset.removesuffix("-like"), cell.impl, cell.dim, cell.query_set) for cell in found} == asked
    assert len(found) == len(asked) == 540
    late = [cell for cell in found if not cell.sound]
    assert {(cell.status, cell.impl, cell.query_set) for cell in late} == {
        ("timeout", "sequential", "random-100000-s1")
    }
    assert len(late) == 31
    assert not {cell.dataset for cell in late} & {"dag_01-like", "dag_02-like"}


def test_bytes_of_a_graph_on_the_device_are_those_that_the_documents_say():
    some, vertex, edge, deep = (
        leveled_bytes(1000 + more[0], 5000 + more[1], 1000 + more[2], 10, True)
        for more in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    )
    text = " ".join((ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8").split())
    assert f"takes {edge - some} bytes an edge" in text
    assert f"{vertex - some} a vertex, a deep edge {deep - some} more" in text
