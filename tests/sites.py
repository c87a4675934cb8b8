"""A small site for tests: runs with whatever a site must cope with, and pages as their elements."""

from stored import ENVIRONMENT, HOSTILE, everything, row, store, trials

from grailbench.report.site import build, entries

MARKS = f"\u202e{HOSTILE}"  #: the name of a run that turns text round and tries to be code


def runs(folder):
    """Three folders of runs: of everything, of a closure, and of workers on two machines."""
    solved = {"problem": "closure", "phase": "solve", "dim": None, "search": None, "query_set": "all", "planned": 3}
    closure = [row(**solved, impl=impl, ms=ms + trial, trial=trial, rate=None, positives=7, index_bytes=2048)
               for impl, ms in (("tiled", 4.0), ("naive", 8.0)) for trial in range(3)]  # fmt: skip
    shared = [*trials(worker="a"), *trials(worker="b", dataset="human", count=1, planned=1)]
    afar = {name: {**ENVIRONMENT, "fingerprint": name * 16, "cpu": f"CPU {name}"} for name in "ab"}
    cells = {"c" * 40: closure, "everything": everything(), "shared": shared}
    return [
        store(folder / name, rows, ENVIRONMENT | ({"workers": afar, "client": True} if name == "shared" else {}))
        for name, rows in cells.items()
    ]


def built(folder, out, **other):
    """The paths of a site of `runs`."""
    found = [each._replace(name=MARKS) if each.name == "everything" else each for each in entries.chosen(runs(folder))]
    return build.build(found, out, **other)
