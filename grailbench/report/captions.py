"""The title and caption of every figure by its name: those of runs in the order of a report, then those of others.

The command line imports this module to know the names without importing the drawing code.
"""

from __future__ import annotations

CAPTIONS = {
    "printed": (
        "Printed against measured",
        "Each mark is a time printed in the thesis (across) and the mean measured here (up), on log axes, with "
        "its 95 % interval. On the diagonal both are equal; below it this code on this machine took less time. It "
        "crosses machines.",
    ),
    "phases": (
        "Where the time goes",
        "Mean ms of one trial, cut into its phases: the index (label) and one batch of queries. Every graph has a "
        "scale of its own. Phases that are parts of another are drawn in its place; what they leave is its rest.",
    ),
    "weights": (
        "Weight of sub algorithms",
        "Share of each phase in labeling by the thesis's pipeline, one label pair: averages over the graphs of a data "
        "set (tables 6.1-6.3), then graph by graph; printed averages are over the graphs measured here. "
        "Uploading the graph and allocating buffers are in print's overhead and not in ours.",
    ),
    "edges": (
        "Time against edges",
        "Median ms over the trials and its 95 % interval against the graph's edges, on log axes, one mark a graph and "
        "configuration. "
        "Filled marks are real or imported graphs, open marks generated ones.",
    ),
    "speedup": (
        "Speed-up",
        "Median time of the reference divided by that of each configuration, same graph, queries and run: above 1 "
        "is faster than the reference.",
    ),
    "counters": (
        "Work counted",
        "Exact work for one graph, configuration and seed, whatever the machine; counted outside the timed trials.",
    ),
    "tradeoff-build": (
        "Time of the answers against the build",
        "Each mark is a configuration: the median of a batch of queries (up, with its 95 % interval) against building "
        "the labels, or from edges in memory to a ready index (across), on log axes; lower and further left is better. "
        "Filled marks are on the Pareto front, which the staircase joins: no other is better in one and as good in the "
        "other. On a dashed line the build takes as long as so many queries.",
    ),
    "tradeoff-memory": (
        "Time of the answers against memory",
        "Each mark is a configuration: the median of its answers (up, with its 95 % interval) against the bytes that "
        "it holds beyond its input, and the peaks of host and device (across), on log axes; lower and further left is "
        "better. Filled marks are on the Pareto front, which the staircase joins.",
    ),
    "tradeoff-energy": (
        "Time of the answers against energy",
        "Each mark is a configuration: the median of its answers (up, with its 95 % interval) against the joules that "
        "they, and its build, take (across), on log axes; lower and further left is better. Filled marks are on the "
        "Pareto front, which the staircase joins.",
    ),
    "strips": (
        "Every trial",
        "Each dot is a trial of a phase, in ms on a log axis; within a strip the first trial is lowest, so that a "
        "drift slants. The bar is the 95 % interval of the median, the line in it the median.",
    ),
    "computation-4": (
        "Labeling times (Computation 2020, figure 4)",
        "Mean seconds to label, by label pairs d, on log axes; uploading the graph, allocating and renumbering it are "
        "counted. Intervals: the bounds (95 %) of the parts, summed. Open marks are generated graphs.",
    ),
    "computation-5": (
        "Memory (Computation 2020, figure 5)",
        "Peak MiB by label pairs d, on log axes, measured: of the host what the cell's process had resident, "
        "interpreter and libraries included; of the device the high-water mark of our arrays.",
    ),
    "computation-6": (
        "Query times (Computation 2020, figure 6)",
        "Mean ms of a batch of 100,000 random queries, or of as many as stand behind the graph's name, by label pairs "
        "d, on log axes, with its 95 % interval; filter, transfers and search.",
    ),
    "computation-7": (
        "Share of the steps (Computation 2020, figure 7)",
        "Shares of a trial's labeling, averaged over graphs and d. Steps: of the labeling. All: with reading the graph "
        "from the cache, allocation, transfer and renumbering.",
    ),
    "computation-8": (
        "Why warps stall (Computation 2020, figure 8)",
        "Shares of all stalls of the profiled kernels, by NVIDIA Nsight Compute, in the paper's words; its own figure "
        "is of another device and another profiler.",
    ),
    "closure-5": (
        "Closure times, small graphs (Fenz et al. 2022, figure 5)",
        "Mean ms from host memory to host memory against vertices, log time; the shade is the 95 % interval of "
        "the mean. In brackets the report's kernel numbers; those without are ours.",
    ),
    "closure-6": (
        "Copies (Fenz et al. 2022, figure 6)",
        "Mean ms of device time to copy the input to the device and the closure back, over the kinds of graph of one "
        "size; the shade is from the least to the greatest of them. sssp-each copies row by row, timed by the host; "
        "zero-copy copies nothing.",
    ),
    "closure-7": (
        "CPU against GPU (Fenz et al. 2022, figure 7)",
        "Mean ms from host memory to host memory on Erdős-Rényi graphs of low and high density, log time.",
    ),
    "closure-8": (
        "Closure times, large graphs (Fenz et al. 2022, figure 8)",
        "Mean ms from host memory to host memory, log time; the shade is the 95 % interval of the mean.",
    ),
    "closure-kernels": (
        "Device time of the closure itself",
        "Mean ms of phase kernel (events on the device): neither copies nor counting. Log axes.",
    ),
    "traversal-bfs": (
        "Breadth-first search (Pathak et al., results)",
        "Median ms of one search and its 95 % interval, log axis; graphs in the order of the run. "
        "sequential is one core; fused is ours.",
    ),
    "traversal-sssp": (
        "Shortest paths from a source (Pathak et al., results)",
        "Median ms of one search and its 95 % interval, log axis. harish-racy has no time where a "
        "search of it was wrong. dijkstra is one core; near-far is ours.",
    ),
    "traversal-coarsening": (
        "Thread coarsening (Pathak et al., results)",
        "Median ms of one search with that many vertices a thread over that with one; the shade is the 95 % interval "
        "of the former.",
    ),
    "traversal-apsp": (
        "All pairs (Pathak et al., results)",
        "Median ms of the whole matrix and its 95 % interval, log axis.",
    ),
    "reading": (
        "Reading a graph",
        "Median ms, and its 95 % interval, from a file that the system has in memory to edge arrays, against the "
        "graph's edges, on log axes; a mark a graph and reader.",
    ),
    "traversal-teps": (
        "Edges traversed a second",
        "Million edges of the part reached a second, each counted once, harmonic mean over the sources as Graph500 has "
        "it; log axis.",
    ),
}

#: figures that are not of a run
OTHERS = {
    "history": (
        "Times over runs",
        "Median ms by run, in the order in which the runs of a machine began, and its 95 % interval; log time. Several "
        "runs of one code are one point, from their least to their greatest median. Names above are code that "
        "'grailbench compare' marks, with the ratio to the point before it. The cells with the worst marks come first; "
        "the CSV has all.",
    ),
    "profile-ends": (
        "Trees at the ends, and the core",
        "Share of the vertices of the condensed graph in the trees above (sources with at most one child, peeled again "
        "and again), in the trees below (then sinks with at most one parent), and in the core between them, and the "
        "size of the core's closure as bits. In trees an interval answers every pair.",
    ),
    "profile-levels": (
        "Vertices of each level",
        "Vertices of the condensed graph by level, the longest path from a root, which is on level 1; log axis. Where "
        "there are many levels, a mark is the mean of several.",
    ),
    "profile-degrees": (
        "Degrees",
        "Vertices of the condensed graph by the number of their distinct parents and children, on log axes, which have "
        "no place for those without any; the CSV has them.",
    ),
    "profile-settled": (
        "What answers the pairs",
        "Share of the pairs that each step answers, in its order: equal strong components, levels (no), d = 2 interval "
        "labels (no), spanning trees (yes), 64 hubs (yes or no); a search answers the rest.",
    ),
    "outline-levels": (
        "Levels",
        "Strong components by level, the longest path from a root, which is on level 1; log axis. Where there are more "
        "than 64 levels, a mark is the mean of several.",
    ),
    "outline-degrees": (
        "Degrees in the file",
        "Vertices by in- and out-degree, every edge of the file counted, on log axes: a mark at 4 has those of degree "
        "4 to 7, and so on in powers of two. Degree 0 has no place there; the CSV has it.",
    ),
    "outline-components": (
        "Strong components",
        "Strong components by their number of vertices, on log axes: a mark at 4 has those of 4 to 7 vertices, and so "
        "on in powers of two.",
    ),
    "outline-ends": (
        "Trees above, trees below, core",
        "Share of the strong components in the trees above (sources with at most one child, peeled again and again), "
        "in the trees below (then sinks with at most one parent), and in the core between them. In trees an interval "
        "answers every pair.",
    ),
    "advise": (
        "What to build, what to ask",
        "Each mark is a configuration: the time of one query of a batch against the time from edges in memory to a "
        "ready index, and against the bytes of the index, on log axes; lower and further left is better. Medians, with "
        "the 95 % interval of the query. Open marks were measured in the first round alone, with few pairs and trials.",
    ),
}
