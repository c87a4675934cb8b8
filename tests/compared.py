"""Runs made up for tests of comparisons."""

import numpy as np
from stored import store

from grailbench.harness.rows import FIELDS

HERE, THERE = "a" * 16, "b" * 16


def steady(median=10.0, seed=0, trials=20, scale=0.02):
    """Times of about `median` ms with skewed noise."""
    noise = scale * np.random.default_rng(seed).gamma(2.0, size=trials)
    return median * (1.0 + noise - 1.678 * scale)


def cell(impl="sequential", ms=None, dataset="kegg", status="ok", phase="query", **other):
    """Rows of one cell as the runner writes them: `ms` a trial, or one row that says why there is none."""
    row = dict.fromkeys(FIELDS) | {
        "run": "r", "dataset": dataset, "kind": "real", "impl": impl, "dim": 2, "search": "dfs", "filters": "none",
        "order": "random", "seed": 1, "query_set": "random-100-s1", "under": "", "planned": 20, "status": status,
        "queries": 100, "positives": 7, "checksum": "c0ffee", "graph_sha256": dataset * 4, "at": "now",
        "counters": {"edges_scanned": 1000, "excluded_by_labels": 60},
    } | other  # fmt: skip
    row["key"] = f"{impl}{dataset}{row['dim']}"
    if status != "ok":
        return [row | {"reason": "planted"}]
    times = steady() if ms is None else ms
    return [row | {"phase": phase, "trial": trial, "ms": float(value)} for trial, value in enumerate(times)]


def both(label, query, **other):
    """Rows of a cell with its two phases, trial after trial."""
    parts = zip(cell(ms=label, phase="label", **other), cell(ms=query, **other), strict=True)
    return [row for pair in parts for row in pair]


def writer(folder):
    """Writes rows as a run of that name on a machine, into `folder`; it returns the run's folder."""

    def make(name, *cells, machine=HERE, **environment):
        rows = [row for rows in cells for row in rows]
        env = {"cpu": "an abacus", "cores": 2, "fingerprint": machine} | environment
        return store(folder / name, rows, env)

    return make
