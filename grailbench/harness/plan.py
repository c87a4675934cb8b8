"""Plans: the list of cells that a run executes, made from a config file or from flags.

A config is a TOML file with `name`, `description` and one or more `[[experiment]]` blocks, whose keys are the fields of
`Experiment`. Its table `[short]`, if it has one, holds keys that replace its own where a short form is asked for.
A cell is (problem, graph, implementation, d, search, filters, threads, devices, memory, order, query set, seed).
Axes that an implementation does not have (`Implementation.axes`) are left out, so that no cell is measured twice.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt

from grailbench.data.locate import locate, members
from grailbench.data.registry import registry
from grailbench.errors import InputError
from grailbench.harness import axes
from grailbench.harness.axes import EARLY, LATE
from grailbench.harness.rows import grouped
from grailbench.problems.contract import OTHERS, PROBLEMS, USUAL, Params, Spec, implementation, implementations, problem
from grailbench.util import memory, paths, settings
from grailbench.util.guard import MOST_SECONDS
from grailbench.util.words import listing


def _as_list(value):
    return value if isinstance(value, list) else [value]


def _of(work: Callable, *given):
    """What a function returns. Raises its InputError as a ValueError, which pydantic reports."""
    try:
        return work(*given)
    except InputError as error:
        raise ValueError(str(error)) from None


def _check_value(value, info: pydantic.ValidationInfo):
    """A value of an axis, checked and normalized by the problem of the experiment."""
    return _of(lambda: problem(info.data.get("problem", USUAL)).value(info.field_name, value))


def _bytes(value):
    """The bytes that a text such as '8GB' means; any other value as it is."""
    return _of(memory.parsed, value) if isinstance(value, str) and value != "0" else value


UNNAMED = "flags"  #: the name of a config that flags make
MOST_CELLS = 100_000  #: the largest number of cells of a plan
AXES = axes.NAMES  #: fields of an experiment that an implementation may have or not
_T = TypeVar("_T")
_Many = Annotated[list[_T], BeforeValidator(_as_list), Field(min_length=1)]
_Word = Annotated[Any, AfterValidator(_check_value)]
_Size = Annotated[int, BeforeValidator(_bytes)]


class _WithoutAxes(BaseModel):
    """The fields of an experiment that its axes depend on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    problem: str = USUAL
    datasets: Annotated[list[str], BeforeValidator(_as_list)] = []
    sets: Annotated[list[str], BeforeValidator(_as_list)] = []
    implementations: _Many[str]

    @pydantic.field_validator("problem")
    @classmethod
    def _known(cls, name: str) -> str:
        return _of(problem, name).name


def _field(axis: axes.Axis) -> tuple:
    """The type and default of the field of an axis."""
    number = Annotated[_Size if axis.size else int, Field(ge=axis.least)]
    return _Many[number if axis.number else _Word], [axis.usual]


_WithAxes = pydantic.create_model("_WithAxes", __base__=_WithoutAxes, **{axis.name: _field(axis) for axis in axes.AXES})


class Experiment(_WithAxes):
    """One block of a config: a matrix of cells. Each axis may be one value or a list.

    problem           one of `contract.PROBLEMS`
    datasets, sets    names of graphs, and of sets of the registry ('all' for every set)
    implementations   names as on the command line; each problem has a default
    dim, search, ...  the axes, see `harness.axes`
    queries, count    'random', or another kind that the problem has (reachability: 'balanced', or a file of
                      `u v [0|1]`); the number of pairs or sources, for which each problem has a default
    trials, warmup    timed and untimed passes of every cell; the answers are checked before both
    seed              of query sets, child orders and the order of trials; of several, each has cells of its own, which
                      tables of papers take together
    from_edges        also time the whole way from edges in memory to an index or to all answers (phase `ready`)
    single            also ask the first pairs of the batch one at a time (phase `single`)
    energy            also measure the energy of each phase (`Problem.repeated`), after all trials
    time_limit        seconds that all passes of a cell may take
    memory_limit      GiB that a cell with its own process may allocate
    retry             False: what ran out of time or memory with one query set of a graph is not tried with the others
    process           'own': each cell in its own process, which can be stopped and whose peak memory is measured;
                      'shared': all in one; by default each implementation decides
    fallback          'like': use the look-alike NAME-like where NAME cannot be fetched
    """

    queries: _Many[str] = ["random"]
    count: PositiveInt
    trials: PositiveInt = 20
    warmup: Annotated[int, Field(ge=0)] = 1
    seed: _Many[Annotated[int, Field(ge=0, lt=2**63)]] = [1]
    from_edges: bool = False
    single: bool = False
    energy: bool = False
    time_limit: Annotated[float, Field(gt=0, le=MOST_SECONDS)] | None = None
    memory_limit: Annotated[float, Field(gt=0, le=2**33)] | None = None
    retry: bool = True
    process: Literal["shared", "own"] | None = None
    fallback: Literal["like"] | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _fill_defaults(cls, given):
        """Add the default implementations and count of the problem."""
        if not isinstance(given, dict):
            return given
        named = given.get("problem", USUAL)
        try:
            known = problem(named if isinstance(named, str) else USUAL)
        except InputError:
            known = problem(USUAL)  # `_known` reports the error
        return {"implementations": list(known.usual), "count": known.count} | given


class Config(BaseModel):
    """A config: experiments under a name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default=UNNAMED, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    experiment: Annotated[
        list[Experiment], Field(min_length=1, description="a config needs one [[experiment]] block or more")
    ]


class Short(BaseModel):
    """The short form of a config: keys that replace its own under `--short`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str = ""
    experiment: Annotated[list[Experiment], Field(min_length=1)]


class _File(Config):
    """A file of a config: the config, and its short form."""

    short: Short | None = None


_Point = make_dataclass(
    "_Point",
    [(axis.name, Any, field(default=None)) if axis.late else (axis.name, Any) for axis in axes.AXES],
    frozen=True, kw_only=True,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cell(_Point):
    """One point of the matrix. It has a field for each axis, which is None if the implementation lacks that axis.

    `stands_for` is the name of the published graph that a look-alike replaces in this run.
    """

    dataset: str
    impl: str
    seed: int
    queries: Spec
    trials: int = 20
    warmup: int = 1
    from_edges: bool = False
    single: bool = False
    energy: bool = False
    time_limit: float | None = None
    memory_limit: float | None = None
    retry: bool = True
    process: str = "shared"
    fallback: str | None = None
    stands_for: str | None = None
    problem: str = USUAL

    @property
    def params(self) -> Params:
        """The parameters for the implementation."""
        given = {name: value for name in AXES if (value := getattr(self, name)) is not None}
        return problem(self.problem).params(seed=self.seed, **given)

    def columns(self) -> dict:
        """The columns of a row that identify its cell."""
        return dict(self._columns)

    @cached_property
    def _columns(self) -> dict:
        early, late = ({name: getattr(self, name) for name in names} for names in (EARLY, LATE))
        return {"dataset": self.dataset, "impl": self.impl, **early, "seed": self.seed,
                "query_set": self.queries.name, "problem": self.problem, **late}  # fmt: skip

    def label(self) -> str:
        """The cell in a few words: 'sequential d=2 dfs level,tree'."""
        problem = "" if self.problem == USUAL else self.problem
        queries = "" if self.queries.usual else self.queries.name
        return axes.label(self.impl, vars(self), before=problem, after=queries)

    def record(self) -> dict:
        """The cell as in a printed plan, without the default problem."""
        fields = ("trials", "warmup", "from_edges", "time_limit", "fallback", "stands_for")
        late = (("process", "shared"), ("memory_limit", None), ("retry", True), ("energy", False), ("single", False))
        own = {name: value for name, usual in late if (value := getattr(self, name)) != usual}
        return {**self._explicit(), **{name: getattr(self, name) for name in fields}, **own}

    def stored(self) -> dict:
        """The cell as in a stored plan: its record without what it does not have."""
        return {name: value for name, value in self.record().items() if value is not None}

    def _explicit(self) -> dict:
        """The columns without defaults that older runs did not have, so that keys and digests of these stay valid."""
        return {name: value for name, value in self._columns.items()
                if not (value == USUAL and name == "problem") and not (value is None and name in LATE)}  # fmt: skip

    def identity(self) -> dict:
        """What identifies the measurement of a cell, whatever the number of trials."""
        single = {"single": True} if self.single else {}
        return {**self._explicit(), "queries": self.queries.identity(), "from_edges": self.from_edges, **single}


@dataclass(frozen=True)
class Plan:
    """The cells of a run in the order of their execution, and the config that they were made from."""

    name: str
    cells: tuple[Cell, ...]
    config: Config

    @property
    def digest(self) -> str:
        """12 hex digits of the identities of the cells; plans with equal digests differ at most in their trials."""
        text = json.dumps([cell.identity() for cell in self.cells], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def by_dataset(self) -> dict[str, list[Cell]]:
        """The cells of each graph. The graphs are in the order of their first cells."""
        return grouped(self.cells, lambda cell: cell.dataset)

    def groups(self) -> list[tuple[str, str, list[Cell]]]:
        """The cells that are run together: (problem, graph, cells), in the order of `by_dataset`."""
        in_order = itertools.chain(*self.by_dataset().values())
        found = grouped(in_order, lambda cell: (cell.problem, cell.dataset))
        return [(*key, cells) for key, cells in found.items()]


def make_plan(config: Config) -> Plan:
    """Expand a config to its cells.

    Raises InputError for an unknown dataset, set or implementation, for no cells or more than `MOST_CELLS`, and for a
    graph that is known to be too large for its problem.
    """
    count = sum(map(_most_cells, config.experiment))
    if count > MOST_CELLS:
        what = f"{config.name}: {count:,} cells are more than the {MOST_CELLS:,} that a plan may have"
        raise InputError(what, remedy="fewer values on an axis, or several configs")
    cells: dict[str, Cell] = {}
    for experiment in config.experiment:
        for cell in _expand(experiment):
            key = json.dumps(replace(cell, from_edges=False, single=False).identity(), sort_keys=True)
            cells[key] = _merge(cells[key], cell) if key in cells else cell
    return Plan(config.name, tuple(cells.values()), config)


def _most_cells(experiment: Experiment) -> int:
    """The number of cells of an experiment before equal ones are merged, computed without making them."""
    graphs = len(set(experiment.datasets)) + sum(len(_members(name)) for name in experiment.sets)
    configurations = 0
    for name in experiment.implementations:
        obeyed = implementation(name, experiment.problem).axes
        configurations += math.prod(len(getattr(experiment, axis)) for axis in AXES if axis in obeyed)
    return graphs * configurations * len(experiment.queries) * len(experiment.seed)


def _expand(experiment: Experiment):
    names = _datasets(experiment)
    if not names:
        raise InputError("no graph to run on", remedy="name some with --dataset, --set or --config")
    solved = problem(experiment.problem)
    if experiment.from_edges and not solved.from_edges:
        raise InputError(f"{solved.name} ends with edges, so it is not timed from them", remedy="leave out from_edges")
    chosen = [implementation(impl, solved.name) for impl in experiment.implementations]
    if experiment.from_edges and not any(each.from_edges for each in chosen):
        some = " and ".join(each.name for each in chosen)
        raise InputError(f"{some}: it does not begin with edges in memory", remedy="leave out from_edges")
    if experiment.single and not solved.single:
        raise InputError(f"{solved.name} is not asked one question at a time", remedy="leave out single")
    for name in names if solved.most_vertices is not None else ():
        solved.require_few(name, locate(name).vertices)  # before it is fetched or generated
    specs = [
        (seed, solved.spec(text, experiment.count, seed)) for seed in experiment.seed for text in experiment.queries
    ]
    values = {axis: getattr(experiment, axis) for axis in AXES}
    values["threads"] = [Params(threads=count).workers for count in experiment.threads]
    options = ("trials", "warmup", "energy", "time_limit", "memory_limit", "retry", "fallback")
    same = experiment.model_dump(include=set(options))
    for name, impl in itertools.product(names, chosen):
        collapsed = [own if axis in impl.axes else [impl.fixed.get(axis)] for axis, own in values.items()]
        for *point, (seed, spec) in itertools.product(*collapsed, specs):
            yield Cell(
                dataset=name,
                impl=impl.name,
                seed=seed,
                **dict(zip(AXES, point, strict=True)),
                queries=solved.part(spec, impl),
                process=experiment.process or impl.process,
                problem=solved.name,
                from_edges=experiment.from_edges and impl.from_edges,
                single=experiment.single and impl.repeats,
                **same,
            )


def _merge(one: Cell, other: Cell) -> Cell:
    """Merge equal cells of two experiments: the cell is measured once, with the more demanding options of both."""
    merged: dict[str, Any] = {"process": "own" if "own" in (one.process, other.process) else "shared"}
    for name in ("from_edges", "single", "energy", "retry", "fallback"):
        merged[name] = getattr(one, name) or getattr(other, name)
    for name in ("trials", "warmup", "time_limit", "memory_limit"):
        both = getattr(one, name), getattr(other, name)
        merged[name] = None if None in both else max(both)
    return replace(one, **merged)


def _datasets(experiment: Experiment) -> list[str]:
    """The canonical names of the graphs of an experiment, each once. Raises InputError for an unknown set or graph."""
    names = [graph for name in experiment.sets for graph in _members(name)]
    for name in experiment.sets:
        if not _members(name):
            raise InputError(f"no set is named {name!r}", remedy=f"choose among {', '.join(members())}, all")
    names += [locate(name).name for name in experiment.datasets]
    return list(dict.fromkeys(names))


def _members(name: str) -> list[str]:
    """The graphs of a set; of 'all', the graphs of all sets of the registry. None of an unknown set."""
    return list(registry()) if name == "all" else members().get(name, [])


def config_path(where: str) -> Path:
    """The file of a config, given its path or the name of a shipped config."""
    path = Path(where)
    return path if path.suffix == ".toml" or path.is_file() else paths.shipped("configs") / f"{where}.toml"


def load_config(where: str, short: bool = False) -> Config:
    """Read a config, given its path or the name of a shipped config.

    short   True: its short form, under the name with '-short' added

    Raises InputError naming the file and the key, also if a short form is asked for and the config has none.
    """
    path = config_path(where)
    if not path.exists():
        shipped = ", ".join(shipped_configs())
        raise InputError(f"no config {where!r}", remedy=f"a TOML file, or one of {shipped}")
    labelled: list[tuple[str, Any]] = []

    def prepare(raw: dict) -> None:
        raw.setdefault("name", path.stem)
        for prefix, table in (("", raw), ("short.", raw.get("short"))):
            blocks = table.get("experiment") if isinstance(table, dict) else None
            if isinstance(blocks, list):
                labelled.extend((f"{prefix}experiment {number}", block) for number, block in enumerate(blocks, 1))
        for _, block in labelled:
            if isinstance(block, dict):
                block |= _placed(path.parent, block, block.get("problem", USUAL))

    file = settings.read(path, _File, prepare)
    own, brief = file.experiment, file.short
    for (label, given), block in zip(labelled, [*own, *(brief.experiment if brief else ())], strict=True):
        for name in given:
            _require_used(name, [block], f"{label}, key {name!r}", path)
    if not short:
        return Config(name=file.name, description=file.description, experiment=own)
    if brief is None:
        raise InputError("the config has no short form", path=path, remedy="leave --short out, or add a table [short]")
    described = brief.description or file.description
    return Config(name=f"{file.name}-short", description=described, experiment=brief.experiment)


def _placed(folder: Path, block: dict, named) -> dict:
    """The query sets and implementations that a block of that problem names, as lists, in which files, relative to
    `folder`, have their paths. Wrong values stay, since validation reports them."""
    found = {name: _as_list(block[name]) for name in ("queries", "implementations") if name in block}
    if "queries" in found and isinstance(named, str) and named in PROBLEMS:
        its = problem(named)
        found["queries"] = [its.beside(folder, each) if isinstance(each, str) else each for each in found["queries"]]
    if "implementations" in found:  # those that a file describes
        found["implementations"] = [str((folder / name).resolve()) if str(name).endswith(".toml") else name
                                    for name in found["implementations"]]  # fmt: skip
    return found


def shipped_configs() -> list[str]:
    """The names of the configs that come with the package."""
    return sorted(path.stem for path in paths.shipped("configs").glob("*.toml"))


def config_from_flags(config: str | Config | None = None, short: bool = False, **flags) -> Config:
    """A config made from flags, or a given config (by name or file) in whose experiments the flags replace keys.

    short   True: the short form of that config
    flags   fields of `Experiment`, None or empty if not given; datasets or sets replace both

    Raises InputError when there is nothing to run, or naming a flag that is wrong or that no implementation has.
    """
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in flags.items()
             if value not in (None, (), [])}  # fmt: skip
    if "datasets" in given or "sets" in given:
        given = {"datasets": [], "sets": [], **given}
    elif config is None:
        raise InputError("nothing to run", remedy="name graphs with --dataset or --set, or a --config")
    if short and (config is None or isinstance(config, Config)):
        raise InputError("--short needs a config", remedy="name one with --config, or leave --short out")
    base = Config(experiment=[Experiment()]) if config is None else config
    base = base if isinstance(base, Config) else load_config(base, short)
    blocks = [settings.check(Experiment, _replaced(block, given), named=flag_name) for block in base.experiment]
    for name in given:
        _require_used(name, blocks, flag_name(name))
    return base.model_copy(update={"experiment": blocks})


def _require_used(name: str, blocks: list[Experiment], label: str, path: Path | None = None) -> None:
    """Raise InputError when a flag or key (`label` in messages) changes nothing in any block, since the times would be
    misunderstood."""
    problems = {block.problem: problem(block.problem) for block in blocks}
    remedy = f"leave {label.rpartition('key ')[2]} out"
    if name == "count" and not any(solved.counted for solved in problems.values()):
        raise InputError(f"{label}: {' and '.join(problems)} takes the whole graph", path=path, remedy=remedy)
    if name not in AXES:
        return
    try:
        chosen = [(block, implementation(impl, block.problem)) for block in blocks for impl in block.implementations]
    except InputError as error:
        if error.path is not None or path is None:
            raise
        raise InputError(str(error), path=path) from None
    if any(name in found.axes or found.fixed.get(name) in getattr(block, name) for block, found in chosen):
        return
    obeying = dict.fromkeys(
        found.name for solved in problems for found in implementations(solved).values() if name in found.axes
    )
    ours = [each for each in obeying if not each.startswith(OTHERS)]
    who = listing(dict.fromkeys(f"{found.name} of {block.problem}" for block, found in chosen), between=" or ")
    others = f", or take {', '.join(ours)}" if ours else ""
    raise InputError(f"{label}: it changes nothing for {who}", path=path, remedy=remedy + others)


def _replaced(block: Experiment, given: dict) -> dict:
    """The keys of a block, replaced by the given flags. Another problem gets its default implementations and count."""
    keys, named = block.model_dump(), given.get("problem", block.problem)
    if named != block.problem:
        del keys["implementations"], keys["count"]
    return keys | given | _placed(Path(), given, named)


_FLAG_NAMES = {"datasets": "dataset", "sets": "set", "implementations": "impl"}


def flag_name(field: str) -> str:
    """The flag of a field of `Experiment`: '--impl', '--time-limit'."""
    return f"--{_FLAG_NAMES.get(field, field).replace('_', '-')}"
