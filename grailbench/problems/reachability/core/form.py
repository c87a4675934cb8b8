"""Says in counters which form the index of a core has: it differs between graphs and budgets."""

from __future__ import annotations

#: What `sizes` returns. Where all bytes are 0, trees answer everything; else the one that is not 0 tells the form.
SIZES = (
    "peeled_above", "peeled_below", "core_vertices", "closure_rows", "closure_columns",
    "bytes_of_bits", "bytes_of_patterns", "bytes_of_labels",
)  # fmt: skip


def sizes(
    vertices: int, above: int, core: int, shape: tuple[int, int], bits: int = 0, patterns: int = 0, labels: int = 0
) -> dict[str, int]:
    """Returns the counters named in `SIZES`.

    vertices: of the DAG without its super-root; above, core: of them, as in `Peeled`; shape: rows and columns of the
    closure, 0 without one; bits, patterns, labels: bytes of the closure as plain bits, of the closure of the contracted
    core, or of the labels, filters and edges of a core that has no closure.
    """
    return dict(zip(SIZES, (above, vertices - above - core, core, *shape, bits, patterns, labels), strict=True))
