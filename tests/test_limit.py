"""The floor that counters set, on a machine made up for the purpose."""

import pytest

from grailbench.errors import MachineLacks
from grailbench.report import limit

DOCUMENT = {
    "machine": {"caches": {"L1d": "32 KiB", "L3": "1 MiB"}},
    "cpu": {
        "measurements": [
            {"what": "read", "threads": 1, "bytes": 1 << 30, "median": 10.0},
            {"what": "gather", "threads": 1, "bytes": 1 << 14, "median": 2.0},
            {"what": "gather", "threads": 1, "bytes": 1 << 20, "median": 0.5},
            {"what": "read", "threads": 8, "bytes": 1 << 30, "median": 40.0},
            {"what": "gather", "threads": 8, "bytes": 1 << 14, "median": 16.0},
        ]
    },
}
ONE = limit.Ceilings.of(DOCUMENT, 1)


def counted(gathers, read, table):
    return {"query_gathers": gathers, "query_bytes_read": read, "query_bytes_written": 0, "gather_table_bytes": table}


def test_gathers_take_the_rate_of_the_largest_table_that_is_not_larger():
    assert limit.least_ms(counted(10**6, 0, 1 << 19), "query", ONE) == (0.5, "gather")
    assert limit.least_ms(counted(10**6, 0, 1 << 20), "query", ONE) == (2.0, "gather")


def test_a_table_smaller_than_any_measured_takes_the_fastest_rate():
    assert limit.least_ms(counted(10**6, 0, 8), "query", ONE)[0] == 0.5


def test_streamed_bytes_bind_only_beyond_the_cache():
    assert limit.least_ms(counted(1, 1 << 20, 8), "query", ONE)[1] == "gather"
    assert limit.least_ms(counted(1, 10**8, 8), "query", ONE) == (10.0, "stream")


def test_a_cell_of_many_threads_stands_against_the_ceilings_of_all():
    assert limit.Ceilings.of(DOCUMENT, 4).gathers_per_ms(1 << 14) == 16e6


def test_without_ceilings_the_remedy_is_named():
    with pytest.raises(MachineLacks, match="grailbench limits"):
        limit.limits([], None)
