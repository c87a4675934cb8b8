"""The first tables of the page of recorded GPU runs hold what the rows beside it say, and what is printed."""

import pytest
from recorded import FOLDER, TEXT, rows, short

from grailbench.device.leveled import leveled_bytes
from grailbench.report import published

PHASES = ("subsizes_dag", "parent_sssp", "edges_rc", "subsizes_dt", "post_order", "min_post", "overhead")
#: what a graph was asked
BATCHES = ("random-100000-s1", "random-20000-s1", "random-16-s1")
#: look-alikes of printed graphs that are not at hand: their rows come from one run
LIKES = ("cit-patents", "uniprotenc_100", "uniprotenc_150")


def asked(run):
    """Sound rows of such batches; `phase` is whole, 'label/sizes'."""
    frame = rows(run)
    sound = frame[(frame.status == "ok") & frame.query_set.isin(BATCHES)]
    return sound.assign(phase=(sound.under + "/" + sound.phase).str.removeprefix("/"))


@pytest.fixture(scope="module")
def runs():
    return {run: asked(run) for run in ("thesis-gpu", "fused", "fused-large", "thesis-gpu-like")}


class Graph:
    """The mean times of one graph; `gpu` from the thesis's pipeline, the rest from the run of ours."""

    def __init__(self, runs, dataset, dim):
        like = dataset in LIKES
        name = f"{dataset}-like" if like else dataset
        self.theirs, self.ours = (
            runs[run][(runs[run].dataset == name) & (runs[run].dim == dim)]
            for run in (("thesis-gpu-like",) * 2 if like else ("thesis-gpu", "fused"))
        )

    def gpu(self, phase):
        frame = self.theirs[self.theirs.impl == "gpu"]
        if phase == "label/overhead":  # in these rows it lacks what came before and after the pipeline's own clock
            return self._mean(frame, "label") - sum(self._mean(frame, f"label/{part}") for part in PHASES[:-1])
        return self._mean(frame, phase)

    def counter(self, name):
        return next(c[name] for c in self.theirs[self.theirs.impl == "gpu"].counters if c)

    def mean(self, impl, phase):
        filters = self.ours.filters.isin(["level,tree,hubs"] if impl == "gpu-fused" else ["none"])
        return self._mean(self.ours[(self.ours.impl == impl) & filters], phase)

    @staticmethod
    def _mean(frame, phase):
        return frame[frame.phase == phase].ms.mean()


def names(number):
    """Canonical name, name on the page, of the rows of a printed table."""
    printed = published.table(number)
    for dataset in printed.rows:
        like = dataset in LIKES
        yield dataset, f"{number} {printed.title(dataset)}{'-like' if like else ''}", None if like else printed


def printed_alone(number, dataset, columns, ours):
    """The line of a printed graph that is not at hand; `ours` columns of ours stay blank."""
    printed = published.table(number)
    values = [beside("–", printed, dataset, column) for column in columns]
    return f"| {number} {printed.title(dataset)} | {' | '.join(values)} |{' |' * ours}"


def beside(value, printed, dataset, column):
    """The measured value and, in brackets, the printed one; a star where print has an erratum."""
    if printed is None:
        return value
    star = "\\*" if printed.notes(dataset, column) else ""
    return f"{value} ({printed.rows[dataset][column]}{star})"


def label_lines(runs):
    """Tables 6.1-6.3: the thesis's columns, then ours."""
    for number in ("6.1", "6.2", "6.3"):
        for dataset, title, printed in names(number):
            graph = Graph(runs, dataset, 1)
            columns = list(published.table(number).values)
            if printed is None:
                yield printed_alone(number, dataset, columns, 4)
            values = [
                beside(short(graph.gpu(f"label/{phase}")), printed, dataset, column)
                for phase, column in zip(PHASES, columns[:7], strict=True)
            ]
            values.append(beside(short(graph.gpu("label")), printed, dataset, "Total"))
            cpu, host, device = (
                graph.mean("sequential", "label"),
                graph.mean("gpu-fused", "label"),
                graph.mean("gpu-fused", "label/on_device"),
            )
            values.append(beside(short(cpu), printed, dataset, "CPU ICT"))
            values += [short(graph.mean("parallel", "label")), short(host), short(device), f"{cpu / device:.1f}"]
            yield f"| {title} | {' | '.join(values)} |"


def search_lines(runs):
    """Tables 6.4-6.6: the thesis's columns but BFS on the CPU, then ours."""
    for number in ("6.4", "6.5", "6.6"):
        for dataset, title, printed in names(number):
            graph = Graph(runs, dataset, 2)
            found = {
                "CPU Filter": short(graph.gpu("query/cpu_filter")),
                "GPU Search": short(graph.gpu("query/gpu_search")),
                "Queries on GPU": f"{graph.counter('queries_on_gpu'):,}",
                "Positive Queries": f"{graph.counter('positives'):,}",
                "Sequential DFS": short(cpu := graph.mean("sequential", "query")),
            }
            if printed is None:
                yield printed_alone(number, dataset, found, 4)
            values = [beside(value, printed, dataset, column) for column, value in found.items()]
            parallel, ours = graph.mean("parallel", "query"), graph.mean("gpu-fused", "query")
            values += [short(parallel), short(ours), f"{cpu / ours:.1f}", f"{parallel / ours:.1f}"]
            yield f"| {title} | {' | '.join(values)} |"


MEMORY = {
    "fused": ("kegg", "human", "citeseer-large", "uniprotenc_22"),
    "fused-large": ("cit-patents-like", "citations-n3800000-k4.6-w500000-s1", "dag_01-like", "dag_11-like"),
    "thesis-gpu-like": ("uniprotenc_150-like",),
}


def memory_lines(runs):
    """What `gpu-fused` had at most on the device, d = 2: MB, bytes a vertex and an edge; of these the index."""
    for run, datasets in MEMORY.items():
        for dataset in datasets:
            cells = runs[run][(runs[run].dataset == dataset) & (runs[run].impl == "gpu-fused") & (runs[run].dim == 2)]
            row = cells.sort_values("queries").iloc[-1]
            peak = row.device_peak_bytes
            values = [f"{int(row[name]):,}" for name in ("vertices", "edges", "queries")]
            values += [f"{peak / 1e6:,.0f}", short(peak / row.vertices), short(peak / row.edges)]
            yield f"| {dataset} | {' | '.join(values)} | {row.index_bytes / row.vertices:.0f} |"


def page_tables():
    """The tables of the page, each a list of its lines below the heading."""
    tables, current = [], []
    for line in [*TEXT.splitlines(), ""]:
        if line.startswith("|"):
            current.append(line)
        elif current:
            tables.append(current[2:])
            current = []
    return tables


def test_the_first_table_of_the_page_is_tables_61_to_63_with_our_columns(runs):
    assert page_tables()[0] == list(label_lines(runs))


def test_the_second_table_of_the_page_is_tables_64_to_66_with_our_columns(runs):
    assert page_tables()[1] == list(search_lines(runs))


def test_the_page_has_the_memory_of_the_rows_a_vertex_and_an_edge(runs):
    assert list(memory_lines(runs)) in page_tables()


def test_bytes_of_a_graph_on_the_device_are_those_that_the_documents_say():
    some, vertex, edge, deep = (
        leveled_bytes(1000 + more[0], 5000 + more[1], 1000 + more[2], 10, True)
        for more in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    )
    text = " ".join((FOLDER.parents[2] / "docs" / "algorithms.md").read_text(encoding="utf-8").split())
    assert f"takes {edge - some} bytes an edge" in text
    assert f"{vertex - some} a vertex, a deep edge {deep - some} more" in text
