"""A small site for tests: runs with whatever a site must cope with, and pages as their elements."""

from __future__ import annotations

from html.parser import HTMLParser

from stored import ENVIRONMENT, HOSTILE, everything, row, store, trials

from grailbench.report.site import build, entries

MARKS = f"\u202e{HOSTILE}"  #: the name of a run that turns text round and tries to be code
VOID = {"meta", "link", "br", "img", "input", "hr", "path", "use", "circle", "rect"}


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
    return build.build(entries.sources(found), out, **other)


class Page(HTMLParser):
    """A page: its elements as (name, attributes, text inside), in the order of their starts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(text)
        assert [each[0] for each in self._open] == []

    def handle_starttag(self, name, attributes):
        element = (name, dict(attributes), [])
        self.elements.append(element)
        if name not in VOID:
            self._open.append(element)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes), []))

    def handle_endtag(self, name):
        if name not in VOID:
            assert self._open.pop()[0] == name

    def handle_data(self, data):
        for _, _, text in self._open:
            text.append(data)

    def all(self, *names):
        """The attributes and the text of the elements of these names."""
        return [(attributes, "".join(text)) for name, attributes, text in self.elements if name in names]

    @property
    def ids(self):
        return [attributes["id"] for _, attributes, _ in self.elements if "id" in attributes]
