"""Work counters: the exact work of an implementation for (graph, parameters, seed), without times.

A counting kernel takes an int64 array; the build that is timed takes None instead, and the compiler removes the
counting. The constants are positions in the array. docs/explanation/machine.md has the meaning of each counter.
"""

import numpy as np

NAMES = (
    "queries", "label_vertices_expanded", "label_edges_scanned", "hub_edges_scanned", "levels_compared",
    "excluded_by_level", "labels_tested", "excluded_by_labels", "accepted_by_tree", "hubs_tested", "excluded_by_hubs",
    "accepted_by_hubs", "searches", "vertices_expanded", "edges_scanned",
)  # fmt: skip
(
    QUERIES, LABEL_EXPANDED, LABEL_SCANNED, HUB_SCANNED, LEVELS_COMPARED,
    BY_LEVEL, LABELS_TESTED, BY_LABELS, BY_TREE, HUBS_TESTED, BY_HUBS,
    HUBS_ACCEPT, SEARCHES, EXPANDED, SCANNED,
) = range(len(NAMES))  # fmt: skip
#: who answered, which is no amount of work
OUTCOMES = ("excluded_by_level", "excluded_by_labels", "accepted_by_tree", "excluded_by_hubs", "accepted_by_hubs")


def zeros() -> np.ndarray:
    """Returns a new array of counters, int64[len(NAMES)]."""
    return np.zeros(len(NAMES), np.int64)


def named(*counts: np.ndarray) -> dict[str, int]:
    """Returns the sums of several arrays (one per thread), by name."""
    return dict(zip(NAMES, (int(total) for total in np.sum(counts, axis=0)), strict=True))


def with_traffic(
    counts: dict[str, int], pairs: int, record_bytes: int, table_bytes: int, level_bytes: int
) -> dict[str, int]:
    """Returns the counters with the least memory traffic that they imply, for each phase.

    pairs: label pairs, each one pass over the edges; record_bytes: of the labels of one vertex; table_bytes: of all;
    level_bytes: of one level in the filter's array. Bytes read count every read; bytes streamed only what is read once
    per pass. A gather is one read at a random place of the table. Stamps, the stack and the rest of a cache line are
    not counted.
    """
    label_reads = 12 * (counts["label_edges_scanned"] + counts["hub_edges_scanned"])
    label_reads += 16 * counts["label_vertices_expanded"]
    label_streamed = 4 * counts["label_edges_scanned"] + 16 * counts["label_vertices_expanded"]
    filtered = counts["labels_tested"] - counts["edges_scanned"] if table_bytes else 0
    tested = counts["labels_tested"] + filtered  # the filter reads two records, the search one
    query_reads = (
        8 * counts["queries"]
        + 2 * level_bytes * counts["levels_compared"]
        + record_bytes * tested
        + 4 * counts["edges_scanned"]
        + 16 * counts["vertices_expanded"]
        + 16 * counts["hubs_tested"]
    )
    return counts | {
        "label_bytes_read": label_reads,
        "label_bytes_written": 12 * counts["label_vertices_expanded"],
        "label_bytes_streamed": label_streamed,
        "label_pass_bytes": label_streamed // max(pairs, 1),
        "label_gathers": counts["label_edges_scanned"],
        "query_bytes_read": query_reads,
        "query_bytes_written": counts["queries"],
        "query_bytes_streamed": 9 * counts["queries"],
        "query_pass_bytes": 9 * counts["queries"],
        "query_gathers": tested if table_bytes else counts["edges_scanned"],
        "gather_table_bytes": table_bytes,
    }
