"""What comes before a run: its plan, the folder of the run that is continued, if any, and the graphs, which are fetched
or replaced by look-alikes where they are missing."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from grailbench.data.locate import dataset_named, look_alike_of, look_up
from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness.plan import Cell, Config, Plan, config_from_flags, flag_name, make_plan
from grailbench.harness.rows import cell_of
from grailbench.util.words import count, listing

_SHOWN = 4  #: differences that an error lists
FETCH_JOBS = 4


def plan_of(flags: dict, resume: str | None = None, out: str | None = None) -> tuple[Plan, Path | None]:
    """The plan to run, and the folder of the run to continue, if any.

    flags   as `config_from_flags` takes them
    resume  None for a new run; the name of a run; or '' for the run in `out` or, without `out`, the newest run of this
            plan, or of any plan if the flags name neither graphs nor a config

    A run that is continued without naming graphs keeps its config, in which the given flags replace keys
    (`require_same` checks them). Raises InputError when there is no such run, or nothing to run.
    """
    if resume and out:
        raise InputError("--resume=RUN and --out name two folders", remedy="leave one out")
    folder = results.find_run(resume or out) if resume is not None and (resume or out) else None
    if resume is None or any(flags.get(name) for name in ("config", "datasets", "sets")):
        plan = make_plan(config_from_flags(**flags))
        return plan, results.latest_run(plan.digest) if resume == "" and folder is None else folder
    folder = folder or results.latest_run()
    base = stored_config(folder)
    return make_plan(config_from_flags(base, **{k: v for k, v in flags.items() if k != "config"})), folder


def stored_config(folder: Path) -> Config:
    """The config with which a run was started. Raises InputError when this version cannot read it."""
    try:
        return Config.model_validate(results.read_json(folder / results.PLAN).get("config"))
    except ValidationError:
        raise InputError("has no plan that this version can read", path=folder / results.PLAN) from None


def require_same(folder: Path, plan: Plan) -> bool:
    """Whether a plan is the one with which a run was started; False when it has the same cells with more trials.

    Raises InputError, naming the differences and the remedy, when it differs in anything else.
    """
    before = stored_config(folder)
    old, new = _by_identity(make_plan(before)), _by_identity(plan)
    if old.keys() == new.keys() and all(_extends(old[key], cell) for key, cell in new.items()):
        return all(old[key].trials == cell.trials for key, cell in new.items())
    found = list(_differences(before, plan.config)) or [f"{len(old):,} cells in the run, {len(new):,} asked"]
    raise InputError(
        f"was begun with another plan: {listing(dict.fromkeys(found), _SHOWN, between='; ')}", path=folder,
        remedy="--resume without these options goes on with it, more --trials extend it; a new run needs no --resume",
    )  # fmt: skip


def _by_identity(plan: Plan) -> Mapping[tuple, Cell]:
    return {(cell_of(cell.columns()), cell.from_edges): cell for cell in plan.cells}


def _extends(old: Cell, new: Cell) -> bool:
    """Whether two cells differ in their trials alone, of which the new one has no fewer."""
    same = ("warmup", "time_limit", "memory_limit", "retry", "process", "fallback")
    return new.trials >= old.trials and all(getattr(old, name) == getattr(new, name) for name in same)


def _differences(before: Config, now: Config) -> Iterator[str]:
    """The differences between two configs, block by block, in words: 'count: 50 in the run, 7 asked'."""
    if len(before.experiment) != len(now.experiment):
        yield f"experiments: {len(before.experiment)} in the run, {len(now.experiment)} asked"
        return
    for old, new in zip(before.experiment, now.experiment, strict=True):
        for name, was in old:
            value = getattr(new, name)
            if value != was and not (name == "trials" and value > was):
                one, other = (" ".join(map(str, each)) if isinstance(each, list) else each for each in (was, value))
                option = flag_name(name).removeprefix("--")
                yield f"{option}: {one or 'none'} in the run, {other or 'none'} asked"


# ------------------------------------------------------------------ graphs


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
        note(f"cannot be fetched: {', '.join(lost)}; GRAILBENCH_MIRROR may name a folder or URL with their archives")
    if not replaced:
        return plan
    names = ", ".join(replaced)
    note(f"cannot be fetched: {names}; generated look-alikes replace them, under their own names (NAME-like)")
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
    came = [result.dataset.name for result in results if result.status != "missing"]
    reasons = dict.fromkeys(reason for result in results if result.status == "missing" for reason in result.reasons)
    if came:
        note(f"fetched {len(came)}: {', '.join(came)}")
    for reason in list(reasons)[:4]:
        note(f"  {reason}")
