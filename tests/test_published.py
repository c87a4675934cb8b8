"""The papers' tables: transcription and errata."""

from fnmatch import fnmatchcase

import pytest
from commands import ROOT

from grailbench.data.registry import registry
from grailbench.errors import InputError
from grailbench.graph.generate.networks import NETWORKS
from grailbench.harness.cells import of_machine, read
from grailbench.harness.folder import recorded_runs
from grailbench.report import published
from grailbench.report.papers.thesis import of_run

ROWS = {
    "2.1": 10, "2.2": 4, "2.3": 5, "2.4": 10, "2.5": 4, "2.6": 5, "6.1": 10, "6.2": 4, "6.3": 5,
    "6.4": 10, "6.5": 4, "6.6": 5, "computation-1": 7, "computation-2": 10,
}  # fmt: skip

# read off the papers by eye, not from the CSV files
CELLS = [
    ("2.1", "kegg", "Vertices", "3618"),
    ("2.1", "kegg", "Edges", "5576"),
    ("2.1", "xmark", "Avg Degree", "1.16"),
    ("2.2", "yago", "Edges", "47568"),
    ("2.3", "uniprotenc_22", "Edges", "3151600"),
    ("2.3", "cit-patents", "Avg Degree", "4.5"),
    ("2.4", "kegg", "Pure DFS", "209.85"),
    ("2.4", "kegg", "Parallel BFS", "17.20"),
    ("2.4", "agrocyc", "Positive Queries", "122"),
    ("2.4", "xmark", "Index CT", "0.25"),
    ("2.5", "citeseer", "Pure DFS", "14290.22"),
    ("2.5", "pubmed", "Sequential DFS", "11.2"),
    ("2.6", "citeseer-large", "Positive Queries", "0.40"),
    ("2.6", "cit-patents", "Sequential BFS", "3423.0"),
    ("2.6", "uniprotenc_22", "Parallel DFS", "4.13"),
    ("6.1", "human", "Edges RC", "0.75"),
    ("6.2", "go", "Total", "313.8"),
    ("6.3", "uniprotenc_150", "CPU ICT", "44.18"),
    ("6.4", "amaze", "Queries on GPU", "22008.8"),
    ("6.5", "yago", "GPU Search", "756.5"),
    ("6.6", "uniprotenc_150", "Queries on GPU", "48582.5"),
    ("computation-1", "go-uniprot", "# Edges (m)", "34770235"),
    ("computation-2", "dag_11", "# Edges (m)", "149989194"),
]


@pytest.mark.parametrize("name", published.SLIDES)
def test_look_alikes_of_the_slides_have_the_printed_counts(name):
    rows = published.table(name).rows
    assert [*rows] == [f"{name}-{number}" for number in range(1, 6)]
    for graph, row in rows.items():
        model = NETWORKS[f"{graph}-like"]
        edges = None if model.kind == "geometric" else int(row["# Edges"])  # else they follow from the radius
        assert (model.vertices, model.edges) == (int(row["# Nodes"]), edges)
        degree = round(2 * int(row["# Edges"]) / int(row["# Nodes"]))
        assert (degree == int(row["Average Degree"])) != bool(published.table(name).notes(graph, "Average Degree"))


def test_every_table_has_its_printed_number_of_rows():
    assert {name: len(published.table(name).rows) for name in published.CAPTIONS} == ROWS


def test_cells_read_as_printed():
    assert [(*at, published.table(at[0]).rows[at[1]][at[2]]) for *at, _ in CELLS] == CELLS


def test_columns_and_rows_keep_the_printed_order():
    large = published.table("2.6")
    assert large.columns == ("Data set", "Positive Queries", "Pure DFS", "Index CT", "Sequential DFS",
                             "Parallel DFS", "Sequential BFS", "Parallel BFS")  # fmt: skip
    assert [large.title(d) for d in large.rows] == [
        "Citeseer", "Cit-Patents", "Uniprotenc 100", "Uniprotenc 150", "Uniprotenc 22"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["6.1", "6.2", "6.3"])
def test_gpu_phases_add_up_to_the_printed_total(name):
    printed = published.table(name)
    for dataset in printed.rows:
        *phases, total, _ = (printed.number(dataset, column) for column in printed.values)
        assert sum(phases) == pytest.approx(total, abs=0.9), dataset


@pytest.mark.parametrize(("search", "cpu"), [("6.4", "2.4"), ("6.5", "2.5"), ("6.6", "2.6")])
def test_sequential_times_of_chapter_6_are_those_of_chapter_2_except_where_errata_say(search, cpu):
    later, earlier = published.table(search), published.table(cpu)
    for dataset in later.rows:
        for column in ("Sequential DFS", "Sequential BFS"):
            same = later.number(dataset, column) == earlier.number(dataset, column)
            assert same != bool(later.notes(dataset, column)), (dataset, column)


@pytest.mark.parametrize("name", ["2.1", "2.2", "2.3", "computation-1", "computation-2"])
def test_average_degree_is_edges_by_vertices_except_where_errata_say(name):
    printed = published.table(name)
    _, vertices, edges, degree = printed.columns
    for dataset in printed.rows:
        exact = printed.number(dataset, edges) / printed.number(dataset, vertices)
        if not printed.notes(dataset, degree):
            places = len(printed.rows[dataset][degree].partition(".")[2])
            assert round(exact, places) == printed.number(dataset, degree), dataset


def test_every_erratum_names_a_cell_that_is_printed():
    seen = 0
    for name in published.CAPTIONS:
        for erratum in published.table(name).errata:
            seen += 1
            if erratum.row:
                assert erratum.column in published.table(name).rows[erratum.row]
            assert erratum.note
            assert erratum.source
    assert seen == 33


def test_registry_and_printed_tables_agree_on_vertices_and_edges():
    known = registry()
    for name in ("2.1", "2.2", "2.3", "computation-1"):
        printed = published.table(name)
        _, vertices, edges, degree = printed.columns
        for dataset in printed.rows:
            row = known[dataset].printed(super_root=name != "computation-1")
            counts = printed.number(dataset, vertices), printed.number(dataset, edges), printed.rows[dataset][degree]
            assert (row.vertices, row.edges, row.degree) == counts


def test_unknown_table_names_those_there_are():
    with pytest.raises(InputError, match=r"2\.4"):
        published.table("9.9")


def test_every_known_reason_is_of_printed_cells_and_names_a_side_a_kind_and_a_page():
    tables = [published.table(name) for name in published.CAPTIONS]
    for reason in published.known_reasons():
        assert any(
            fnmatchcase(row, reason.row) and fnmatchcase(column, reason.column)
            for table in tables
            if reason in table.reasons
            for row in table.rows
            for column in table.values
        )
        assert reason.side in ("above", "below", "*")
        assert reason.kind in ("machine", "order", "pairs", "method", "not known")
        assert reason.note
        assert (ROOT / reason.source).is_file()


def test_the_first_reason_that_fits_is_said_of_a_ratio_that_is_far_on_its_side():
    printed = published.table("2.6")
    said = [printed.reason("uniprotenc_22", "Index CT", ratio) for ratio in (0.1, 1.0, 2.9, 3.0, 22.0)]
    assert said[:3] == ["", "", ""]
    assert said[3] == said[4]
    assert said[4].startswith("order: children are visited in random order")
    assert (
        published.table("2.4").reason("kegg", "Sequential DFS", 3.0).startswith("not known: searches of kegg and amaze")
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["h200/thesis-gpu", "xeon-2core/thesis-cpu"])
def test_no_recorded_time_is_far_from_print_without_a_reason_nor_set_against_an_erratum(name):
    for table in of_run(of_machine(read(recorded_runs()[name])).cells):
        for row in table.rows:
            for column, entry in row.entries.items():
                far = table.third == "ratio" and entry.ratio and not 1 / 3 < entry.ratio < 3
                assert bool(entry.reason) == bool(far), (table.name, row.dataset, column)
                assert not (table.third == "ratio" and entry.ratio and entry.printed_notes)
