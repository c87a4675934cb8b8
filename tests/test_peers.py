"""The adapters of other people's indexes."""

import json

import pytest
from base_install import base_install
from commands import call_apart

from grailbench.errors import MachineLacks
from grailbench.harness.plan import Config, make_plan
from grailbench.problems.reachability.index import NoTimer, Params, implementation
from grailbench.problems.reachability.peers import libraries as adapter


def test_every_method_of_the_catalog_has_an_adapter():
    pytest.importorskip("pyreachability")
    assert sorted(adapter._peer().catalog.methods("all")) == sorted(adapter.METHODS)


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyreachability", None)
    with pytest.raises(MachineLacks, match=r"grailbench\[peers\]"):
        implementation("peer:pyreachability-grail").build(_tiny(), Params(), NoTimer())


def test_grail_is_given_the_number_of_label_pairs():
    pytest.importorskip("pyreachability")
    sizes = [
        implementation("peer:pyreachability-GRAIL").build(_tiny(), Params(dim=dim), NoTimer()).index_bytes
        for dim in (1, 2, 4)
    ]
    assert sizes[1] - sizes[0] > 0
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


@pytest.mark.parametrize("said", [{}, {"process": "shared"}, {"process": "own"}])
def test_peers_have_a_process_of_their_own_unless_told(said, diamond):
    impls = ["sequential", *(f"peer:pyreachability-{method}" for method in adapter.METHODS)]
    plan = make_plan(Config.model_validate({"experiment": [{"datasets": [diamond], "implementations": impls} | said]}))
    found = {cell.process for cell in plan.cells if cell.impl.startswith("peer:")}
    assert found == {said.get("process", "own")}
    assert plan.cells[0].process == said.get("process", "shared")


def test_peers_are_measured_on_the_base_install_with_the_peers_extra(diamond, tmp_path):
    pytest.importorskip("pyreachability")
    words = ["run", "--dataset", diamond, "--impl", "sequential", "--trials", "1", "--count", "50", "--json"]
    words += ["--impl", "peer:pyreachability-grail", "--impl", "peer:pyreachability-3hop"]
    code, out, err = call_apart(*words, "--out", tmp_path / "run", **base_install(tmp_path, "peers"))
    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["status"] for row in rows} == {"ok"}
    apart = {row["impl"] for row in rows if row["host_peak_bytes"]}
    assert apart == {"peer:pyreachability-grail", "peer:pyreachability-3hop"}


def _tiny():
    from strategies import dag_of

    return dag_of(50, [(u, u + 1) for u in range(49)])
