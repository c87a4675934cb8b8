"""Work counters: what an implementation did, exactly, for (graph, parameters, seed); never how long it took.

A kernel that counts takes an int64 array, and `None` in the build that is timed: the compiler drops the counting from
that one. Positions in the array are the constants below; `named` turns an array into the dictionary that rows carry.
What each means is in docs/measuring.md.
"""

from __future__ import annotations

import numpy as np

NAMES = (
    "queries",
    "label_vertices_expanded",
    "label_edges_scanned",
    "hub_edges_scanned",
    "levels_compared",
    "excluded_by_level",
    "labels_tested",
    "excluded_by_labels",
    "accepted_by_tree",
    "hubs_tested",
    "excluded_by_hubs",
    "accepted_by_hubs",
    "searches",
    "vertices_expanded",
    "edges_scanned",
)
(
    QUERIES,
    LABEL_EXPANDED,
    LABEL_SCANNED,
    HUB_SCANNED,
    LEVELS_COMPARED,
    BY_LEVEL,
    LABELS_TESTED,
    BY_LABELS,
    BY_TREE,
    HUBS_TESTED,
    BY_HUBS,
    HUBS_ACCEPT,
    SEARCHES,
    EXPANDED,
    SCANNED,
) = range(len(NAMES))


def zeros() -> np.ndarray:
    """int64[len(NAMES)]: a fresh array of counters."""
    return np.zeros(len(NAMES), np.int64)


def named(*counts: np.ndarray) -> dict[str, int]:
    """The sums of several arrays (one a thread), by name."""
    return dict(zip(NAMES, (int(total) for total in np.sum(counts, axis=0)), strict=True))


def with_traffic(
    counts: dict[str, int], pairs: int, record_bytes: int, table_bytes: int, level_bytes: int
) -> dict[str, int]:
    """The counters and the memory traffic they imply at the least, phase by phase.

    pairs: label pairs, each one pass over the edges; record_bytes: of one vertex's labels; table_bytes: of all;
    level_bytes: of one level in the filter's array. Bytes read count every read, of the cache too; bytes streamed
    only what goes by once a pass (edges, queries, answers), and `_pass_bytes` is one pass of it. A gather is one
    read at a random place of the label table, which has `gather_table_bytes`. Not counted are visit stamps, the
    stack, and whatever a cache line brings along: a floor, not an estimate. Of the hubs filter the bytes are counted,
    but no gathers: its words are a smaller table than the label records.
    """
    label_reads = 12 * (counts["label_edges_scanned"] + counts["hub_edges_scanned"])
    label_reads += 16 * counts["label_vertices_expanded"]
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
        "label_bytes_streamed": 4 * counts["label_edges_scanned"] + 16 * counts["label_vertices_expanded"],
        "label_pass_bytes": (4 * counts["label_edges_scanned"] + 16 * counts["label_vertices_expanded"])
        // max(pairs, 1),
        "label_gathers": counts["label_edges_scanned"],
        "query_bytes_read": query_reads,
        "query_bytes_written": counts["queries"],
        "query_bytes_streamed": 9 * counts["queries"],
        "query_pass_bytes": 9 * counts["queries"],
        "query_gathers": tested if table_bytes else counts["edges_scanned"],
        "gather_table_bytes": table_bytes,
    }
