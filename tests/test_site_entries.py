"""Addresses of a site's pages: safe on any file system, one for each name, the same every time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grailbench.report.site.entries import graph_address, implementation_address, slug

SAFE = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?")


@given(st.text(st.characters()))
def test_every_name_gives_a_file_name(name):
    found = slug(name)
    assert SAFE.fullmatch(found)
    assert len(found) <= 60
    assert slug(name) == found


@given(st.lists(st.text(st.sampled_from("aA-._/:é "), max_size=6), unique=True, max_size=20))
def test_no_two_names_share_a_file_also_where_case_is_ignored(names):
    assert len({slug(name).casefold() for name in names}) == len(names)


@pytest.mark.parametrize("name", ["kegg", "cit-patents-like", "uniprotenc_22"])
def test_plain_names_stay(name):
    assert graph_address(name) == f"graphs/{name}.html"


def test_index_is_no_page_of_a_graph_of_that_name():
    assert graph_address("index") != "graphs/index.html"


def test_one_name_in_two_problems_has_two_pages():
    assert implementation_address("fused", "bfs") != implementation_address("fused", "sssp")
