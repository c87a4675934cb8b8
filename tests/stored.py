"""Runs made up for tests of reports: rows as the runner writes them, in a folder."""

import json
from pathlib import Path

from grailbench.harness import folder as results
from grailbench.harness.cells import Run
from grailbench.harness.rows import FIELDS, cell_of

WEIGHTS = ("subsizes_dag", "parent_sssp", "edges_rc", "subsizes_dt", "post_order", "min_post", "overhead")

#: a dataset, a reason and a processor that must never be taken for markup
HOSTILE = '<script>alert("x")</script>'
SIZES = {"kegg": (3618, 5576), "human": (38812, 39817), "kegg-like": (3618, 5576)}


def row(**fields) -> dict:
    """One row of a sound cell of `sequential`, d = 2, on kegg, with these fields replaced."""
    name = fields.get("dataset", "kegg")
    vertices, edges = SIZES.get(name, (1000, 2000))
    base = dict.fromkeys(FIELDS) | {
        "run": "r", "dataset": name, "kind": "synthetic" if name.endswith("-like") else "real", "impl": "sequential",
        "dim": 2, "search": "dfs", "filters": "none", "order": "random", "seed": 1, "query_set": "random-100000-s1",
        "under": "", "planned": 2, "positives": 20240, "queries": 100_000, "status": "ok", "verified": "closure",
        "vertices": vertices, "edges": edges, "at": "2025-01-01T00:00:00.000+00:00",
    }  # fmt: skip
    found = base | fields
    return {**found, "key": repr(cell_of(found))}


def trials(label=0.5, query=2.0, parts=None, apart=None, count=2, slower=0.01, **fields) -> list[dict]:
    """Whole trials: `label` and `query` ms, `parts` {(under, phase): ms} and phases `apart` {phase: ms}; each trial is
    `slower` than the one before by this share of the first."""
    out = []
    for trial in range(count):
        factor = 1 + trial * slower
        times = {("", "label"): label, **(parts or {}), **{("", name): ms for name, ms in (apart or {}).items()}}
        times["", "query"] = query
        for (under, phase), ms in times.items():
            out.append(row(phase=phase, under=under, trial=trial, ms=ms * factor, **fields))
    return out


def enough(**fields) -> list[dict]:
    """As many trials as tell that they are stable, with the medians of two."""
    return trials(count=10, slower=0.01 / 9, planned=10, **fields)


def unguided(**fields) -> list[dict]:
    """Trials of `dfs`, which has no parameters."""
    return trials(**({"impl": "dfs", "dim": None, "search": None, "filters": None, "order": None} | fields))


def lost(status, reason, **fields) -> list[dict]:
    """The one row of a cell that has no times."""
    return [row(**(fields | {"status": status, "reason": reason, "positives": None, "counters": None}))]


def everything() -> list[dict]:
    """Rows with whatever a report must cope with: parts of phases, counters, lost cells, look-alikes, two query sets,
    a peer, hostile names."""
    counted = {"counters": {"edges_scanned": 1200, "searches": 300}}
    return [
        *unguided(query=40.0, counters={"edges_scanned": 90_000, "searches": 100_000}),
        *trials(query=20.0, **counted),
        *trials(query=8.0, impl="gpu", search=None, filters=None, label=4.0, apart={"transfer": 1.0},
                parts={("label", "subsizes"): 1.5, ("label", "post-order"): 2.0}),
        *trials(impl="gpu", search=None, filters=None, dim=1, label=7.0,
                parts={("label", name): 1.0 for name in WEIGHTS}),
        *trials(query=1.0, filters="level,tree", **counted),
        *trials(query=1.5, impl="peer:pyreachability-grail", search=None, filters=None, threads=1),
        *trials(query=90.0, query_set="balanced-100000-s1"),
        *unguided(dataset="human", query=3.0),
        *trials(dataset="human", query=1.2, planned=5),
        *lost("wrong", f"pair 17: {HOSTILE}", dataset="human", filters="level,tree"),
        *lost("failed", '"><img src=x onerror=alert(1)>', dataset="human", impl="gpu", search=None, filters=None),
        *unguided(dataset="kegg-like", query=41.0, stands_for="kegg"),
        *trials(dataset="kegg-like", query=19.0),
        *unguided(dataset=HOSTILE, kind="imported", query=7.0),
        *lost("skipped", "citeseer was not fetched yet", dataset="citeseer", kind=None, vertices=None, edges=None),
    ]  # fmt: skip


ENVIRONMENT = {
    "cpu": f"Test CPU {HOSTILE}", "cores": 2, "memory_bytes": 8 << 30, "packages": {"numba": "0.1"},
    "command": ["grailbench", "run"], "fingerprint": "f", "at": "2025-01-01",
}  # fmt: skip


def made(rows, environment=None, name="1") -> Run:
    """A run of these rows, without a folder."""
    return Run(Path(name), environment or {}, list(rows))


def store(folder, rows, environment=None):
    """Write a run into `folder` and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / results.ROWS).write_text("".join(json.dumps(each) + "\n" for each in rows))
    (folder / results.ENVIRONMENT).write_text(json.dumps(ENVIRONMENT if environment is None else environment))
    (folder / results.PLAN).write_text("{}")
    return folder


STEPS = ("child_order", "dag_to_dt", "sizes", "post_order", "min_post", "overhead")
BENCHMARK = {"citeseer-large": (693_948, 925_779, 613_497), "cit-patents-like": (3_774_769, 17_034_732, 515_785)}
HOME_MADE = {"dag_01-like": (250_001, 12_518_780, 6), "dag_11-like": (1_500_001, 149_989_200, 6)}


def evaluation() -> list[dict]:
    """A run of Computation 2020 in small: two graphs of each table, three implementations, d = 1, 2 and 5; a cell that
    is out of memory, and one out of time."""
    out = []
    gpu = {"search": None, "filters": None}
    for name, (vertices, edges, roots) in {**BENCHMARK, **HOME_MADE}.items():
        for dim in (1, 2, 5):
            of = {"dataset": name, "vertices": vertices, "edges": edges, "roots": roots, "dim": dim, "read_ms": 50.0,
                  "positives": 7}  # fmt: skip
            base = edges / 1e5 * dim
            lost_here = name == "dag_11-like" and dim == 5
            if lost_here:
                out += lost("timeout", "the cell's time limit was reached", **of)
                out += lost("out of memory", "needs 200.00 GiB", impl="gpu-path", **gpu, **of)
            else:
                out += trials(label=base, query=40.0, host_peak_bytes=edges * 20, **of)
                parts = {("label", step): base / 60 for step in STEPS}
                out += trials(
                    impl="gpu-path", label=base / 10, query=20.0, parts=parts, apart={"transfer": base / 10},
                    host_peak_bytes=edges * 22, device_peak_bytes=edges * 30, **gpu, **of,
                )  # fmt: skip
            out += trials(impl="parallel", threads=16, label=base / 2, query=10.0, host_peak_bytes=edges * 21, **of)
    return out
