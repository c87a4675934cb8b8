"""Providing the graphs of a plan: missing ones are fetched, or replaced by look-alikes where the plan allows it."""

from __future__ import annotations

import json
from dataclasses import replace

from grailbench.data.locate import dataset_named, look_alike_of, look_up
from grailbench.harness.plan import Cell, Plan
from grailbench.util.words import count

FETCH_JOBS = 4


def missing(plan: Plan) -> list[str]:
    """Names of the published graphs of a plan that are not in the cache."""
    places = filter(None, map(look_up, plan.by_dataset()))
    return [place.name for place in places if place.dataset is not None and not place.here]


def provide(plan: Plan, fetch: bool, note) -> Plan:
    """Fetch missing graphs, and replace those that could not be fetched by look-alikes, under their own names.

    `note` is called with messages for the user. Cells without `fallback` keep their missing graph; the runner skips
    them with the reason. Raises InputError for a mirror that is neither a folder nor a URL.
    """
    lacking = missing(plan)
    if lacking and fetch:
        _fetch(lacking, note)
        lacking = missing(plan)
    willing = {cell.dataset for cell in plan.cells if cell.fallback == "like"}
    replaced = [name for name in lacking if name in willing and look_alike_of(name)]
    lost = [name for name in lacking if name not in replaced]
    if lost and fetch:
        note(f"not to be had: {', '.join(lost)}; GRAILBENCH_MIRROR may name a folder or URL that has their archives")
    if not replaced:
        return plan
    names = ", ".join(replaced)
    note(f"not to be had: {names}; generated look-alikes stand in, under their own names (NAME-like)")
    cells: dict[str, Cell] = {}
    for cell in plan.cells:
        if cell.dataset in replaced and cell.fallback == "like":
            cell = replace(cell, dataset=look_alike_of(cell.dataset), stands_for=cell.dataset)
        cells.setdefault(json.dumps(cell.identity(), sort_keys=True), cell)
    return replace(plan, cells=tuple(cells.values()))


def _fetch(names: list[str], note) -> None:
    from grailbench.data.fetch import fetch

    note(f"fetching {count(len(names), 'graph')}: {', '.join(names)}")
    results = fetch([dataset_named(name) for name in names], jobs=FETCH_JOBS)
    came = [result.name for result in results if result.status != "missing"]
    reasons = dict.fromkeys(reason for result in results if result.status == "missing" for reason in result.reasons)
    if came:
        note(f"fetched {len(came)}: {', '.join(came)}")
    for reason in list(reasons)[:4]:
        note(f"  {reason}")
