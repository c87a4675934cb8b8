"""How long a config would take, from runs of a part of it."""

import json

import pytest
from stored import row, store

from grailbench.errors import InputError
from grailbench.report import hours
from grailbench.report.pages import Page
from grailbench.runs.cells import cells

CONFIG = """
name = "whole"
[[experiment]]
problem = "closure"
datasets = [{graphs}]
implementations = ["tiled"]
trials = 9
warmup = 0
{more}
"""


@pytest.fixture
def config(tmp_path):
    def made(*graphs, more=""):
        path = tmp_path / "whole.toml"
        path.write_text(CONFIG.format(graphs=json.dumps(graphs)[1:-1], more=more))
        return str(path)

    return made


def closed(graph, seconds, ready=None, impl="tiled", **fields):
    """A trial of a closure of the graph, whose name has its vertices."""
    base = {"problem": "closure", "dataset": graph, "impl": impl, "dim": None, "search": None, "filters": None,
            "order": None, "query_set": "all", "vertices": int(graph.split("-")[2]), "planned": 1,
            "trial": 0}  # fmt: skip
    phases = {"prepare": 100 * seconds, **({"ready": 1000 * ready} if ready else {}), "solve": 900 * seconds}
    return [row(phase=phase, ms=ms, **(base | fields)) for phase, ms in phases.items()]


def of(path, *groups):
    (found,) = hours.estimates([path], cells([each for group in groups for each in group]))
    return found


def test_a_recorded_cell_takes_its_passes_and_the_verifying_one(config):
    found = of(config("random-tree-1000"), closed("random-tree-1000", 3.6))
    assert (found.cells, found.recorded, found.scaled, found.unknown) == (1, 1, 0, 0)
    assert found.hours == pytest.approx(10 * 3.6 / 3600)


def test_the_way_from_edges_is_what_it_was_or_as_long_again(config):
    path = config("random-tree-1000", more="from_edges = true")
    assert of(path, closed("random-tree-1000", 3.6, ready=7.2)).hours == pytest.approx((3.6 + 9 * 10.8) / 3600)
    assert of(path, closed("random-tree-1000", 3.6)).hours == pytest.approx((3.6 + 9 * 7.2) / 3600)


def test_other_sizes_of_a_family_scale_by_the_power_between_the_nearest_two(config):
    path = config("random-tree-4000")
    runs = [closed("random-tree-500", 9.0), closed("random-tree-1000", 1.0), closed("random-tree-2000", 4.0)]
    found = of(path, *runs, closed("scale-free-3000", 99.0))
    assert (found.recorded, found.scaled, found.unknown) == (0, 1, 0)
    assert found.hours == pytest.approx(10 * 16.0 / 3600)


def test_a_density_is_no_size(config):
    runs = [closed(f"erdos-renyi-{n}-{density}", seconds) for n in (1000, 2000)
            for density, seconds in (("0.001", 7.0), ("0.1", n / 1000))]  # fmt: skip
    found = of(config("erdos-renyi-4000-0.001"), *runs)
    assert found.hours == pytest.approx(10 * 7.0 / 3600)


def test_a_cell_without_a_basis_makes_the_whole_at_least(config):
    one, path = closed("random-tree-1000", 3.6), config("random-tree-1000", "random-tree-2000")
    found = of(path, one)
    assert (found.recorded, found.scaled, found.unknown) == (1, 0, 1)
    assert hours.table([path], cells(one)).lines[0][-1] == "at least 0.01"


def test_other_implementations_and_lost_cells_are_no_basis(config):
    path = config("random-tree-1000")
    lost = closed("random-tree-1000", 3.6, status="wrong", reason="3 pairs are wrong")
    assert of(path, closed("random-tree-1000", 3.6, impl="naive"), lost).unknown == 1


def test_no_cell_takes_more_than_its_limit(config):
    found = of(config("random-tree-1000", more="time_limit = 9.0"), closed("random-tree-1000", 3.6))
    assert found.hours == pytest.approx(9 / 3600)


def test_a_page_has_the_table(config, tmp_path):
    store(tmp_path / "run", closed("random-tree-1000", 360.0))
    page = tmp_path / "page.md"
    page.write_text(f'<!-- grailbench\nrun = "run"\nhours = ["{config("random-tree-1000")}"]\n-->\n<!-- end -->\n')
    assert "| all | 1 | 1 | 0 | 0 | 1 |" in Page(page).renewed
    assert "|  | tiled (closure) | 1 | 1 | 0 | 0 | 1 |" in Page(page).renewed
    page.write_text('<!-- grailbench\nhours = ["closure"]\n-->\n<!-- end -->\n')
    with pytest.raises(InputError, match="need a 'run'"):
        Page(page).renewed  # noqa: B018
