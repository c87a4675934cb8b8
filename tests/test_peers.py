"""The adapters of other people's indexes."""

import pytest

from grailbench.errors import MachineLacks
from grailbench.reachability.index import NoTimer, Params, implementation
from grailbench.reachability.peers import pyreachability as adapter


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


def _tiny():
    from strategies import dag_of

    return dag_of(50, [(u, u + 1) for u in range(49)])
