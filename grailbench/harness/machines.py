"""Which machine measured a row, in runs whose cells were run on workers.

Such a row has `worker`, a key of `workers` in the environment of its run: the environment there. The rows of a local
run have none, and are of the run's own environment or of an earlier one. The environment of a session that gave its
cells to workers says `client`: it measured nothing itself.
"""

from collections.abc import Iterable, Mapping

from grailbench.errors import InputError
from grailbench.util import words

_SHOWN = 8  #: digits of a fingerprint that name a machine


def sessions(environment: Mapping) -> list[Mapping]:
    """The environments in which rows of a run were measured, or may have been, each with its `fingerprint`; those of
    workers, which are pinned to cores, each once."""
    workers = environment.get("workers") or {}
    local = [each for each in (*environment.get("earlier", ()), environment)
             if not each.get("client") and "pinned" not in each]  # fmt: skip
    return [*local, *workers.values()]


def by_machine(environment: Mapping, rows: Iterable[Mapping]) -> dict[str | None, tuple[Mapping, list[Mapping]]]:
    """The rows by the fingerprint of the machine that measured them, with its environment; those with most rows first.

    Rows of local sessions are taken to be of one machine, that of the last. Raises InputError for a row of a worker
    that the environment does not have.
    """
    workers = environment.get("workers") or {}
    local = next((each for each in (environment, *reversed(environment.get("earlier", ()))) if not each.get("client")),
                 environment)  # fmt: skip
    found: dict[str | None, tuple[Mapping, list[Mapping]]] = {}
    for row in rows:
        key = row.get("worker")
        if key is not None and key not in workers:
            raise InputError(f"a row is of worker {key!r}, and the run's environment has none of that name")
        its = local if key is None else workers[key]
        found.setdefault(its.get("fingerprint"), (its, []))[1].append(row)
    return dict(sorted(found.items(), key=lambda each: -len(each[1][1])))


def measuring(environment: Mapping, rows: Iterable[Mapping]) -> Mapping:
    """The environment in which the rows of a run were measured, with others that measured some as `earlier` ones. That
    of a run without workers is its own."""
    workers = environment.get("workers")
    rows = list(rows)
    if not workers or not rows:
        return environment
    first, *earlier = (each for each, _ in by_machine(environment, rows).values())
    if any(row.get("worker") is None for row in rows):
        earlier += [each for each in environment.get("earlier", ()) if not each.get("client")
                    and all(each is not other for other in (first, *earlier))]  # fmt: skip
    own = {"command": environment.get("command"), **{name: value for name, value in first.items() if name != "earlier"}}
    return {**own, "workers": workers, "earlier": earlier}


def named(fingerprint: str | None) -> str:
    """The name of a machine for people and options: the first digits of its fingerprint."""
    return "unknown" if fingerprint is None else fingerprint[:_SHOWN]


def one(environment: Mapping, rows: Iterable[Mapping], machine: str | None) -> tuple[Mapping, list[Mapping]]:
    """The rows of one machine and the environment there. `machine` names it, or is None if there is but one.

    Raises InputError, which names the machines, if it must be chosen, or none is named so.
    """
    rows = list(rows)
    found = by_machine(environment, rows)
    if machine is None and len(found) < 2:
        return environment, rows
    fits = [each for name, each in found.items() if machine and named(name).startswith(machine[:_SHOWN])]
    if len(fits) == 1:
        its, chosen = fits[0]
        there = {key: each for key, each in (environment.get("workers") or {}).items() if _like(each, its)}
        earlier = [each for each in environment.get("earlier", ()) if _like(each, its) and each is not its]
        own = {"command": environment.get("command"), "workers": there, "earlier": earlier}
        return {**its, **own}, chosen
    listed = "; ".join(f"{named(name)}: {words.machine(its, whole=False)}, {len({row['key'] for row in own})} cells"
                       for name, (its, own) in found.items())  # fmt: skip
    what = f"no machine of the run is named {machine!r}"
    if machine is None:
        what = "its cells were measured on unlike machines, whose times are no ratio"
    raise InputError(what, remedy=f"--machine chooses one: {listed}")


def _like(one: Mapping, other: Mapping) -> bool:
    """Whether two sessions measured on machines of one fingerprint."""
    return one.get("fingerprint") == other.get("fingerprint") and not one.get("client")
