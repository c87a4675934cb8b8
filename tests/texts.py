"""Graphs as text, written apart from any reader, for tests of readers."""


def as_gra(vertices, edges, header="graph_for_greach\n", blank=" ", end="\n", order=None):
    children = [[] for _ in range(vertices)]
    for u, v in edges:
        children[u].append(v)
    rows = [f"{u}:{''.join(f'{blank}{v}' for v in children[u])}{blank}#" for u in order or range(vertices)]
    return header.replace("\n", end) + end.join([str(vertices), *rows, ""])


def as_edges(edges, blank="\t", end="\n", tail=""):
    return "".join(f"{u}{blank}{v}{tail}{end}" for u, v in edges)


def as_mtx(vertices, edges, kind="pattern general", value=""):
    return f"%%MatrixMarket matrix coordinate {kind}\n% made by a test\n{vertices} {vertices} {len(edges)}\n" + "".join(
        f"{u + 1} {v + 1}{value}\n" for u, v in edges
    )


def as_metis(vertices, pairs, form="", before="", after=""):
    beside = [[] for _ in range(vertices)]
    for u, v in pairs:
        beside[u].append(v)
        beside[v].append(u)
    lines = [before + "".join(f" {v + 1}{after}" for v in row) for row in beside]
    return f"% comment\n{vertices} {len(pairs)} {form}\n" + "\n".join([*lines, ""])
