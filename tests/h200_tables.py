"""The tables of the page on the recorded H200 runs that are made from their rows.

Each stands on the page between `<!-- table NAME -->` and `<!-- end -->`. `python tests/h200_tables.py` writes them
anew; a test holds that this changes nothing.
"""

from __future__ import annotations

import re
import sys
from functools import cache

from recorded import FOLDER, rows, short

from grailbench.bench import provenance
from grailbench.report import published

PAGE = FOLDER / "README.md"
PHASES = ("subsizes_dag", "parent_sssp", "edges_rc", "subsizes_dt", "post_order", "min_post", "overhead")
#: what a graph was asked, but for tables of other batches
BATCHES = ("random-100000-s1", "random-20000-s1", "random-16-s1")
#: look-alikes of printed graphs that are not at hand: their rows come from one run
LIKES = ("cit-patents", "uniprotenc_100", "uniprotenc_150")
LARGE = ("cit-patents-like", "uniprotenc_100-like", "uniprotenc_150-like", "dag_01-like", "dag_11-like",
         "citations-n3800000-k4.6-w500000-s1")  # fmt: skip
MEMORY = {"fused": ("kegg", "human", "citeseer-large", "uniprotenc_22"), "fused-large": LARGE}
NONE = "–"


@cache
def sound(run):
    """The sound rows of a run; `phase` is whole, 'label/sizes'."""
    frame = rows(run)
    frame = frame[frame.status == "ok"]
    return frame.assign(phase=(frame.under + "/" + frame.phase).str.removeprefix("/"))


class Cells:
    """The times of one graph in one run."""

    def __init__(self, run, dataset, dim, queries=BATCHES):
        frame = sound(run)
        right = (frame.dataset == dataset) & (frame.dim == dim) & frame.query_set.isin(queries)
        self.frame = frame[right]

    def of(self, impl, filters=None):
        """Rows of an implementation; `gpu-fused` has all filters, the others none unless told."""
        filters = filters or ("level,tree,hubs" if impl == "gpu-fused" else "none")
        fits = self.frame.filters.isna() if impl in ("gpu", "gpu-32") else self.frame.filters == filters
        return self.frame[(self.frame.impl == impl) & fits]

    def mean(self, impl, phase, filters=None):
        return self._ms(impl, phase, filters).mean()

    def median(self, impl, phase, filters=None):
        return self._ms(impl, phase, filters).median()

    def _ms(self, impl, phase, filters):
        found = self.of(impl, filters)
        return found[found.phase == phase].ms

    def counter(self, name):
        return next(c[name] for c in self.of("gpu").counters if c)


def ms(value):
    """Milliseconds, or a dash where nothing was measured."""
    return NONE if value != value else short(value)


def ratio(slow, fast):
    """How many times as long, or a dash."""
    found = slow / fast
    places = 2 if found < 1 else 1 if found < 100 else 0
    return NONE if found != found else f"{found:,.{places}f}x"


def line(*values):
    return f"| {' | '.join(values)} |"


def heads(*names):
    return [line(*names), line(*["---"] * len(names))]


# ------------------------------------------------------------------ the thesis's tables


def printed_graphs(number):
    """Canonical name, name on the page, whether it is a look-alike, and the printed table, of each row of one."""
    table = published.table(number)
    for dataset in table.rows:
        like = dataset in LIKES
        yield dataset, f"{number} {table.title(dataset)}{'-like' if like else ''}", like, table


def printed_alone(number, dataset, columns, ours):
    """The line of a printed graph that is not at hand; `ours` columns of ours stay blank."""
    table = published.table(number)
    values = [beside(NONE, table, dataset, column) for column in columns]
    return f"| {number} {table.title(dataset)} | {' | '.join(values)} |{' |' * ours}"


def beside(value, table, dataset, column):
    """The measured value and, in brackets, the printed one; a star where print has an erratum."""
    star = "\\*" if table.notes(dataset, column) else ""
    return f"{value} ({table.rows[dataset][column]}{star})"


def both(dataset, like, dim, ours="fused-large"):
    """The cells of the thesis's pipeline, and those of ours; of look-alikes from the run `ours`."""
    if like:
        return Cells("thesis-gpu-like", f"{dataset}-like", dim), Cells(ours, f"{dataset}-like", dim)
    return Cells("thesis-gpu", dataset, dim), Cells("fused", dataset, dim)


def thesis_labels():
    """Tables 6.1-6.3: the thesis's columns, then ours."""
    columns = ("Subsizes DAG", "Parent SSSP", "Edges RC", "Subsizes DT", "Post-order", "Min P.O.", "Overhead", "Total")
    ours = ("CPU ICT", "`parallel`", "`gpu-fused`, host", "device", "CPU ICT / device", "from edges: `sequential`")
    yield from heads("", *columns, *ours, "`gpu-fused`", "ratio")
    for number in ("6.1", "6.2", "6.3"):
        for dataset, title, like, table in printed_graphs(number):
            thesis, cells = both(dataset, like, 1)
            names = list(table.values)
            if like:
                yield printed_alone(number, dataset, names, 7)
            parts = [thesis.mean("gpu", f"label/{phase}") for phase in PHASES]
            parts[-1] = thesis.mean("gpu", "label") - sum(parts[:-1])  # old rows lack what lay before and after
            values = [*map(ms, parts), ms(thesis.mean("gpu", "label")), ms(cells.mean("sequential", "label"))]
            if not like:
                told = [*names[:7], "Total", "CPU ICT"]
                values = [beside(value, table, dataset, name) for value, name in zip(values, told, strict=True)]
            cpu, device = cells.mean("sequential", "label"), cells.mean("gpu-fused", "label/on_device")
            values += [ms(cells.mean("parallel", "label")), ms(cells.mean("gpu-fused", "label")), ms(device)]
            yield line(title, *values, ratio(cpu, device), *from_edges(cells))


def from_edges(cells):
    """From edges in memory to a ready index, one core and ours, and their ratio; dashes for older rows."""
    cpu, fused = (cells.mean(impl, "ready") for impl in ("sequential", "gpu-fused"))
    return ms(cpu), ms(fused), ratio(cpu, fused)


def thesis_searches():
    """Tables 6.4-6.6: the thesis's columns but BFS on the CPU, then ours."""
    names = ("CPU Filter", "GPU Search", "Queries on GPU", "Positive Queries", "Sequential DFS")
    yield from heads("", *names, "`parallel`", "`gpu-fused`", "`sequential` / `gpu-fused`", "`parallel` / `gpu-fused`")
    for number in ("6.4", "6.5", "6.6"):
        for dataset, title, like, table in printed_graphs(number):
            thesis, cells = both(dataset, like, 2, "thesis-gpu-like")  # asked as many pairs
            if like:
                yield printed_alone(number, dataset, names, 4)
            cpu = cells.mean("sequential", "query")
            values = [ms(thesis.mean("gpu", f"query/{part}")) for part in ("cpu_filter", "gpu_search")]
            values += [f"{thesis.counter(name):,}" for name in ("queries_on_gpu", "positives")] + [ms(cpu)]
            if not like:
                values = [beside(value, table, dataset, name) for value, name in zip(values, names, strict=True)]
            parallel, ours = cells.mean("parallel", "query"), cells.mean("gpu-fused", "query")
            yield line(title, *values, ms(parallel), ms(ours), ratio(cpu, ours), ratio(parallel, ours))


# ------------------------------------------------------------------ ours


def graphs(run):
    return list(dict.fromkeys(sound(run).dataset))


def fused_labels():
    """Medians, one core beside ours: labels, and the whole way from edges."""
    dims = [f"d={d}: {name}" for d in (1, 2) for name in (
        "`sequential`", "`gpu-fused` device / host", "ratio, device", "from edges: `sequential`", "`gpu-fused`",
        "ratio, from edges")]  # fmt: skip
    yield from heads("graph", *dims)
    for dataset in graphs("fused"):
        yield line(dataset, *(value for d in (1, 2) for value in label_columns(Cells("fused", dataset, d))))


def label_columns(cells):
    cpu, device = cells.median("sequential", "label"), cells.median("gpu-fused", "label/on_device")
    ours = f"{ms(device)} / {ms(cells.median('gpu-fused', 'label'))}"
    whole = [cells.median(impl, "ready") for impl in ("sequential", "gpu-fused")]
    return ms(cpu), ours, ratio(cpu, device), *map(ms, whole), ratio(*whole)


def fused_searches():
    """100,000 pairs, host to host, d = 2."""
    filtered = ("`parallel`, same filters", "ratio")
    yield from heads("graph", "random: `gpu-fused`", "`parallel`", "ratio", *filtered, "balanced: `gpu-fused`",
                     "`parallel`", "ratio")  # fmt: skip
    for dataset in graphs("fused"):
        values = []
        for kind in ("random", "balanced"):
            cells = Cells("fused", dataset, 2, [f"{kind}-100000-s1"])
            ours, theirs = cells.median("gpu-fused", "query"), cells.median("parallel", "query")
            values += [ms(ours), ms(theirs), ratio(theirs, ours)]
            if kind == "random":
                same = cells.median("parallel", "query", "level,tree,hubs")
                values += [ms(same), ratio(same, ours)]
        yield line(dataset, *values)


def ten_million():
    """Ten million random pairs, d = 2."""
    yield from heads("graph", "on the device, ms", "G queries/s", "host to host", "`parallel`", "ratio, device",
                     "ratio, host to host")  # fmt: skip
    for dataset in graphs("fused"):
        cells = Cells("fused", dataset, 2, ["random-10000000-s1"])
        device, host = (cells.median("gpu-fused", phase) for phase in ("query/on_device", "query"))
        cpu = cells.median("parallel", "query")
        rate = NONE if device != device else f"{10 / device:.1f}"
        yield line(dataset, ms(device), rate, ms(host), ms(cpu), ratio(cpu, device), ratio(cpu, host))


def large():
    """Large synthetic graphs: labels on the device and from edges, searches."""
    names = ("`sequential`", "`gpu-fused` device", "ratio, device", "from edges: `sequential`", "`gpu-fused`", "ratio")
    yield from heads("graph", *names, "query: `parallel`", "`gpu-fused`", "ratio, host to host")
    for dataset in LARGE:
        cells = Cells("fused-large", dataset, 2)
        cpu, device = cells.median("sequential", "label"), cells.median("gpu-fused", "label/on_device")
        whole = [cells.median(impl, "ready") for impl in ("sequential", "gpu-fused")]
        asked = [cells.median(impl, "query") for impl in ("parallel", "gpu-fused")]
        values = [ms(cpu), ms(device), ratio(cpu, device), *map(ms, whole), ratio(*whole), *map(ms, asked)]
        yield line(dataset, *values, ratio(*asked))


def parts():
    """Where the time of `gpu-fused` from edges goes, d = 2; all on the host but `label`."""
    names = ("condense", "renumber", "transfer", "allocate", "label")
    yield from heads("graph", "from edges", *names)
    for run, datasets in MEMORY.items():
        for dataset in datasets:
            cells = Cells(run, dataset, 2, ["random-100000-s1", "random-16-s1"])
            spent = [cells.median("gpu-fused", f"ready/{name}") for name in names]
            yield line(dataset, ms(cells.median("gpu-fused", "ready")), *map(ms, spent))


def memory():
    """What `gpu-fused` had at most on the device, d = 2: MB, bytes a vertex and an edge; of these the index."""
    yield from heads("graph", "vertices", "edges", "queries", "MB", "bytes a vertex", "bytes an edge",
                     "index, bytes a vertex")  # fmt: skip
    for run, datasets in MEMORY.items():
        for dataset in datasets:
            cells = Cells(run, dataset, 2).of("gpu-fused")
            if cells.empty:
                continue
            row = cells.sort_values("queries").iloc[-1]
            peak = row.device_peak_bytes
            values = [f"{int(row[name]):,}" for name in ("vertices", "edges", "queries")]
            values += [f"{peak / 1e6:,.0f}", short(peak / row.vertices), short(peak / row.edges)]
            yield line(dataset, *values, f"{row.index_bytes / row.vertices:.0f}")


def whole_way(problem, phase, names):
    """A line a graph: one core, then another implementation, `phase` and the way from edges; both medians in ms."""
    frame = sound("from-edges")
    cells = frame[frame.problem == problem].groupby(["dataset", "impl", "phase"]).ms.median()
    for dataset in dict.fromkeys(frame[frame.problem == problem].dataset):
        cpu, gpu = ([cells.get((dataset, name, each), float("nan")) for each in (phase, "ready")] for name in names)
        yield line(dataset, *map(ms, (cpu[0], gpu[0])), ratio(cpu[0], gpu[0]), *map(ms, (cpu[1], gpu[1])),
                   ratio(cpu[1], gpu[1]))  # fmt: skip


def traversals_from_edges():
    """All 16 searches, the graph on the device, and the same from edges in memory to distances on the host."""
    columns = ("16 searches", "GPU", "ratio", "from edges", "GPU", "ratio")
    yield from heads("BFS: one core, `fused`", *columns)
    yield from whole_way("bfs", "solve", ("sequential", "fused"))
    yield line("**SSSP: `dijkstra`, `near-far`**", *[""] * len(columns))
    yield from whole_way("sssp", "solve", ("dijkstra", "near-far"))


def closures_from_edges():
    """The closure from a matrix on the host to one, and from edges."""
    columns = ("host to host", "GPU", "ratio", "from edges", "GPU", "ratio")
    yield from heads("first, second implementation", *columns)
    for names in (("tiled", "warshall-bits-gpu"), ("condense-bits", "warshall-bits-gpu")):
        for found in whole_way("closure", "solve", names):
            yield found.replace("| erdos", f"| `{names[0]}`, `{names[1]}`: erdos", 1)


def commits():
    """Which commit each run comes from."""
    words = {"commit": "named by the run", "code": "by the hash of the code in its rows", "none": "cannot be found"}
    yield from heads("run", "commit", "how it is known")
    for name, entry in provenance.manifest().items():
        if name.startswith("h200/"):
            found = ", ".join(f"`{commit[:9]}`" for some in entry["codes"].values() for commit in some)
            yield line(name.removeprefix("h200/"), found or NONE, words[entry["found"]])


TABLES = {
    "thesis-labels": thesis_labels,
    "thesis-searches": thesis_searches,
    "fused-labels": fused_labels,
    "fused-searches": fused_searches,
    "ten-million": ten_million,
    "large": large,
    "parts": parts,
    "memory": memory,
    "traversals-from-edges": traversals_from_edges,
    "closures-from-edges": closures_from_edges,
    "commits": commits,
}
_PLACE = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rendered(text):
    """The page with its tables made anew."""
    return _PLACE.sub(lambda found: found[1] + "".join(f"{line}\n" for line in TABLES[found[2]]()) + found[3], text)


def placed(text):
    """Names of the tables that the page has."""
    return [found[2] for found in _PLACE.finditer(text)]


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE}: {len(placed(PAGE.read_text()))} tables\n")
