"""The one oracle: reachability in plain Python on edge lists, too small to be wrong.

A graph is `(vertices, edges)`: ids 0..vertices-1 and a list of pairs; cycles, self-loops, duplicates allowed.
Every vertex reaches itself. `SUPER_ROOT` is the vertex that condensation adds: it reaches everything, and
nothing but itself reaches it.
"""

SUPER_ROOT = -1


def reachable_from(vertices, edges, source):
    """The set of vertices that `source` reaches, itself included."""
    if source == SUPER_ROOT:
        return {SUPER_ROOT, *range(vertices)}
    children = {}
    for u, v in edges:
        children.setdefault(u, []).append(v)
    seen, todo = {source}, [source]
    while todo:
        for v in children.get(todo.pop(), []):
            if v not in seen:
                seen.add(v)
                todo.append(v)
    return seen


def reaches(vertices, edges, source, target):
    """Whether there is a path from `source` to `target`; the empty path counts."""
    return target in reachable_from(vertices, edges, source)


def closure(vertices, edges):
    """For each vertex 0..vertices-1 the set of vertices that it reaches."""
    return [reachable_from(vertices, edges, u) for u in range(vertices)]


def distances_from(vertices, edges, source):
    """`{vertex: length of a shortest path from source}` of what is reached; `edges` are (u, v, weight >= 0)."""
    found = {source: 0}
    for _ in range(vertices):  # Bellman and Ford
        for u, v, weight in edges:
            if u in found and found[u] + weight < found.get(v, float("inf")):
                found[v] = found[u] + weight
    return found


def components(vertices, edges):
    """For each vertex the number of its strong component; components are numbered by their least vertex."""
    reach = closure(vertices, edges)
    least = [min(v for v in reach[u] if u in reach[v]) for u in range(vertices)]
    number = {v: i for i, v in enumerate(sorted(set(least)))}
    return [number[v] for v in least]


def condensed_edges(vertices, edges):
    """The set of edges between components, and those of the super-root (numbered last) to every root."""
    component = components(vertices, edges)
    count = len(set(component))
    inner = {(component[u], component[v]) for u, v in edges if component[u] != component[v]}
    with_parent = {v for _, v in inner}
    return inner | {(count, root) for root in range(count) if root not in with_parent}


def grail_labels(children, root):
    """One GRAIL label pair by the recursion of Caiazza 2019, algorithm 1: `{vertex: (start, end, tree)}`.

    `children` maps a vertex to its children in visiting order; `tree` is the least rank in the spanning subtree.
    """
    labels = {}

    def visit(u):
        tree = len(labels) + 1
        for v in children[u]:
            if v not in labels:
                visit(v)
        rank = len(labels) + 1
        labels[u] = (min([rank, *(labels[v][0] for v in children[u])]), rank, tree)

    visit(root)
    return labels
