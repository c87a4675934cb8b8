"""The page of recorded GPU runs has the tables that its rows make, and the documents the bytes that graphs take."""

import h200_tables
import pytest
from recorded import FOLDER, TEXT

from grailbench.device.leveled import leveled_bytes


@pytest.mark.slow
def test_making_the_tables_of_the_page_anew_changes_nothing():
    assert sorted(h200_tables.placed(TEXT)) == sorted(h200_tables.TABLES)
    assert h200_tables.rendered(TEXT) == TEXT


@pytest.mark.slow
def test_a_changed_number_of_a_table_shows():
    line = next(line for line in h200_tables.fused_labels() if line.startswith("| kegg "))
    assert h200_tables.rendered(TEXT.replace(line, line.replace("| kegg |", "| kegg | 9"))) == TEXT
    assert TEXT.count(line) == 1


def test_bytes_of_a_graph_on_the_device_are_those_that_the_documents_say():
    some, vertex, edge, deep = (
        leveled_bytes(1000 + more[0], 5000 + more[1], 1000 + more[2], 10, True)
        for more in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    )
    text = " ".join((FOLDER.parents[2] / "docs" / "algorithms.md").read_text(encoding="utf-8").split())
    assert f"takes {edge - some} bytes an edge" in text
    assert f"{vertex - some} a vertex, a deep edge {deep - some} more" in text
