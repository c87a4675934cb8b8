"""What documents say of bytes on the device is so."""

from commands import ROOT

from grailbench.cuda.graphs import leveled_bytes


def test_bytes_of_a_graph_on_the_device_are_those_that_the_documents_say():
    some, vertex, edge, deep = (
        leveled_bytes(1000 + more[0], 5000 + more[1], 1000 + more[2], 10, True)
        for more in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    )
    text = " ".join((ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8").split())
    assert f"takes {edge - some} bytes an edge" in text
    assert f"{vertex - some} a vertex, a deep edge {deep - some} more" in text
