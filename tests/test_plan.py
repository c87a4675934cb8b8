"""A config or flags become exactly the cells they name; bad ones are errors that name the key."""

import json

import pytest

from grailbench.errors import InputError
from grailbench.harness.plan import Config, config_from_flags, load_config, make_plan, shipped_configs
from grailbench.harness.rows import cell_of
from grailbench.problems.reachability.cpu.grail import Sequential
from grailbench.util import paths

BASE = {"datasets": ["diamond"], "implementations": ["toy:right"]}


@pytest.fixture(autouse=True)
def _known(toys, diamond):
    """Every test here may name the toys and the diamond."""


def planned(*blocks):
    return make_plan(Config.model_validate({"experiment": [{**BASE, **block} for block in blocks]}))


def written(tmp_path, text, name="mine.toml"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_matrix_is_the_product_of_the_axes():
    plan = planned({"implementations": ["parallel"], "dim": [2, 5], "search": ["dfs", "bfs"], "threads": [1, 3, 7]})
    assert len(plan.cells) == 12
    assert {(c.dim, c.search, c.threads) for c in plan.cells} == {
        (d, s, t) for d in (2, 5) for s in ("dfs", "bfs") for t in (1, 3, 7)
    }


def test_axes_that_an_implementation_does_not_obey_collapse():
    plan = planned({"implementations": ["dfs", "sequential"], "dim": [2, 5], "threads": [1, 2, 3]})
    assert [(c.impl, c.dim, c.threads) for c in plan.cells] == [
        ("dfs", None, None),
        ("sequential", 2, None),
        ("sequential", 5, None),
    ]


def test_all_cores_and_their_number_are_one_cell(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(6)))
    plan = planned({"implementations": ["parallel"], "threads": [0, 6, 2]})
    assert [c.threads for c in plan.cells] == [6, 2]


def test_cell_of_two_experiments_is_measured_once_with_the_more_demanding_of_the_two():
    plan = planned({"trials": 3, "time_limit": 5}, {"trials": 9, "from_edges": True}, {"dim": 5})
    assert [(c.dim, c.trials, c.from_edges, c.time_limit) for c in plan.cells] == [
        (2, 9, True, None),
        (5, 20, False, None),
    ]


def test_filters_are_one_cell_however_they_are_spelled():
    plan = planned({"implementations": ["sequential"], "filters": ["level,tree", "tree, level", "none", "tree"]})
    assert [c.filters for c in plan.cells] == ["level,tree", "none", "tree"]
    assert [c.params.filters for c in plan.cells] == [("level", "tree"), (), ("tree",)]


def test_sets_expand_as_named_and_each_in_the_order_of_the_registry_and_once():
    plan = planned({"datasets": ["kegg"], "sets": ["small-dense", "small-sparse"]})
    names = list(plan.by_dataset())
    assert len(names) == len(set(names)) >= 14
    assert names.index("citeseer") < names.index("yago") < names.index("agrocyc") < names.index("xmark")
    assert set(names) < set(planned({"datasets": [], "sets": ["all"]}).by_dataset())


def test_digest_is_of_what_is_measured_not_how_often():
    assert planned({"trials": 3}).digest == planned({"trials": 4, "warmup": 0}).digest
    assert planned({"seed": 1}).digest != planned({"seed": 2}).digest


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"datasets": ["kegf"]}, "kegg"),
        ({"datasets": [], "sets": ["small-spars"]}, "no set is named 'small-spars'"),
        ({"implementations": ["sequentail"]}, "did you mean sequential"),
        ({"datasets": []}, "no graph to run on"),
        ({"queries": "no/such/file"}, "no query set"),
    ],
)
def test_unknown_name_is_an_error_with_a_remedy(block, words):
    with pytest.raises(InputError, match=words):
        planned(block)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[experiment]]\nserach = 'dfs'\n", r"experiment 1, key 'serach': unknown key, did you mean 'search'\?"),
        ("[[experiment]]\n[[experiment]]\ndim = [2, 0]\n", "experiment 2, key 'dim': .*equal to 1, got 0"),
        ("[[experiment]]\nfilters = 'levels'\n", "key 'filters': no filter is named 'levels'.*level, tree, hubs"),
        ("[[experiment]]\ndim = []\n", "key 'dim'"),
        ("experiments = 3\n", "key 'experiments': unknown key, did you mean 'experiment'"),
        ("name = 'x'\n", "key 'experiment': missing"),
        ("name = 'a b'\n[[experiment]]\n", "key 'name'"),
    ],
)
def test_bad_config_names_file_line_and_key(tmp_path, text, words):
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=words) as caught:
        load_config(path)
    line = len(text.splitlines()) if "key 'name'" not in words else 1
    assert caught.value.line == (None if "missing" in words else line)
    assert str(caught.value).startswith(str(path))


def test_query_file_of_a_config_lies_beside_it(tmp_path):
    (tmp_path / "pairs.txt").write_text("0 1\n")
    config = load_config(written(tmp_path, "[[experiment]]\ndatasets = 'diamond'\nqueries = ['random', 'pairs.txt']\n"))
    assert [c.queries.kind for c in make_plan(config).cells[:2]] == ["random", "file"]
    assert config.name == "mine"


def test_flags_replace_the_keys_of_every_experiment(tmp_path):
    path = written(tmp_path, "[[experiment]]\nsets = 'small-dense'\n[[experiment]]\ndatasets = 'kegg'\ndim = 5\n")
    config = config_from_flags(path, datasets=("diamond",), sets=(), trials=3, dim=(), from_edges=None)
    assert [(e.datasets, e.sets, e.dim, e.trials) for e in config.experiment] == [
        (["diamond"], [], [2], 3),
        (["diamond"], [], [5], 3),
    ]


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        ({"implementations": ["sequential"], "threads": [1]}, "threads"),
        ({"implementations": ["dfs"], "dim": [5]}, "dim"),
        ({"implementations": ["gpu-fused"], "filters": ["none"]}, "filters"),
        ({"implementations": ["sequential", "parallel"], "threads": [1]}, None),
        ({"implementations": ["gpu-fused"], "filters": ["level,tree,hubs"]}, None),
        ({"problem": "closure", "datasets": ["kegg-like"], "count": 9}, "count"),
    ],
)
def test_a_key_that_changes_nothing_is_refused_as_a_flag_and_in_a_config(tmp_path, keys, refused):
    """One rule for both; a run's own config, which names every key, is none of a user's."""
    keys = {"datasets": ["diamond"]} | keys
    lines = [f"{name} = {json.dumps(value)}" for name, value in keys.items()]
    path = written(tmp_path, "\n".join(["[[experiment]]", *lines]))
    flags = {name: tuple(value) if isinstance(value, list) else value for name, value in keys.items()}
    if refused is None:
        assert load_config(path).experiment == config_from_flags(**flags).experiment
        return
    with pytest.raises(InputError, match=f"experiment 1, key '{refused}': .*leave '{refused}' out"):
        load_config(path)
    with pytest.raises(InputError, match=f"^--{refused}: .*leave --{refused} out"):
        config_from_flags(**flags)


def test_a_config_of_millions_of_cells_is_refused_at_once_with_their_number():
    wide = {"implementations": ["parallel"], "dim": list(range(1, 1001)), "threads": list(range(1, 1001)),
            "search": ["dfs", "bfs"], "order": ["lexicographic", "random"], 
            "filters": ["none", "level", "tree", "hubs"], "queries": ["random", "balanced"]}  # fmt: skip
    with pytest.raises(InputError, match="32,000,000 cells are more than the 100,000"):
        planned(wide)
    assert len(planned(wide | {"dim": [2, 3], "threads": [1]}).cells) == 64


def test_bad_flag_is_named_as_typed():
    with pytest.raises(InputError, match="^--filters: no filter is named 'hub'"):
        config_from_flags(datasets=("diamond",), filters=("hub",))
    with pytest.raises(InputError, match="^--time-limit: "):
        config_from_flags(datasets=("diamond",), time_limit=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_configs())
def test_every_shipped_config_and_its_short_form_make_a_plan(name):
    config = load_config(name)
    assert (config.name, bool(config.description)) == (name, True)
    assert make_plan(config).cells
    if "[short]" in (paths.shipped("configs") / f"{name}.toml").read_text(encoding="utf-8"):
        brief = load_config(name, short=True)
        assert (brief.name, bool(brief.description)) == (f"{name}-short", True)
        assert make_plan(brief).digest != make_plan(config).digest


SHORT = """description = 'whole'
[[experiment]]
datasets = 'kegg'
[[experiment]]
datasets = 'human'
[short]
[[short.experiment]]
datasets = 'diamond'
dim = %s
"""


def test_short_keys_replace_those_of_the_config_where_they_are_asked_for(tmp_path):
    path = written(tmp_path, SHORT % 5)
    assert [cell.dataset for cell in make_plan(load_config(path)).cells[::2]] == ["kegg", "human"]
    config = config_from_flags(path, short=True, trials=3)
    assert (config.name, config.description) == ("mine-short", "whole")
    assert {(cell.dataset, cell.dim, cell.trials) for cell in make_plan(config).cells} == {("diamond", 5, 3)}
    assert Config.model_validate(config.model_dump()) == config


def test_wrong_short_keys_are_named_and_a_short_form_that_is_missing_too(tmp_path):
    with pytest.raises(InputError, match="short.experiment 1, key 'dim'") as caught:
        load_config(written(tmp_path, SHORT % 0))
    assert caught.value.line == 9
    with pytest.raises(InputError, match="no short form.*leave --short out"):
        load_config(written(tmp_path, "[[experiment]]\ndatasets = 'kegg'\n"), short=True)
    with pytest.raises(InputError, match="--short needs a config"):
        config_from_flags(datasets=("diamond",), short=True)


def test_devices_are_cells_of_their_own_only_where_an_implementation_obeys_them(monkeypatch):
    one = planned({"implementations": ["sequential"], "devices": [1, 2]})
    assert [cell.devices for cell in one.cells] == [None]
    assert "devices" not in one.cells[0].identity()
    monkeypatch.setattr(Sequential, "axes", Sequential.axes | {"devices"})
    two = planned({"implementations": ["sequential"], "devices": [1, 2]})
    assert [(cell.devices, cell.params.devices) for cell in two.cells] == [(1, 1), (2, 2)]
    assert two.cells[1].label().endswith("2 GPUs")
    assert len({cell_of(cell.columns()) for cell in (*one.cells, *two.cells)}) == 3
