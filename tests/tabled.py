"""Tables of a report as tests look at them."""

from grailbench.harness.cells import cells
from grailbench.report.papers import beside, thesis
from grailbench.report.render import records
from grailbench.report.render.markdown import markdown

ENVIRONMENT = {
    "cpu": "Test CPU",
    "cores": 2,
    "memory_bytes": 2**33,
    "os": "Linux",
    "commit": "a" * 40,
    "dirty": True,
}


def parts(table):
    """Headers, lines and notes."""
    return table.headers, table.lines, table.notes


def table_markdown(filled):
    """A table beside print as Markdown."""
    return markdown(beside.table(filled))


def all_records(report):
    """The plain records of all tables of a report, as `--json` prints them."""
    return [record for table in report.shown for record in records(table)]


def rows(dataset="kegg", impl="sequential", dim=2, search="dfs", ms=(2.0, 4.0), phase="query", **other):
    """A row a trial, as the runner writes them."""
    base = {
        "dataset": dataset, "impl": impl, "dim": dim, "search": search, "filters": "none", "threads": None,
        "order": "random", "seed": 1, "query_set": "random-100000-s1", "queries": 100_000, "positives": 20146,
        "status": "ok", "reason": None, "phase": phase, "under": "",
    }  # fmt: skip
    return [{**base, "trial": i, "ms": value, **other} for i, value in enumerate(ms)]


def unguided(dataset="kegg", **other):
    return rows(dataset, "dfs", dim=None, search=None, filters=None, order=None, **other)


def parallel(threads=2, **other):
    return rows(impl="parallel", threads=threads, **other)


def built(*groups, name="2.4", planned=None):
    frame = [row for group in groups for row in group]
    return thesis.build(name, cells(frame, planned))


def filled_rows(table):
    """How many rows have a measured value."""
    return sum(any(e.measured is not None for e in row.entries.values()) for row in table.rows)


def entry(table, column, dataset="kegg"):
    return next(row for row in table.rows if row.dataset == dataset).entries[column]


def peer_rows(dataset, ours, theirs):
    return rows(dataset, ms=(ours,), filters="level,tree", threads=None) + rows(
        dataset, "peer:pyreachability-GRAIL", search=None, filters=None, order=None, ms=(theirs,)
    )


def peer(name="grail", **other):
    return rows("kegg", f"peer:pyreachability-{name}", **{"search": None, "filters": None, "order": None} | other)
