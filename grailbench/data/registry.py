"""The registry: which graphs there are, the sources of their files, and what the papers print about them.

There is one TOML file for each set in `datasets/`. Its keys are the fields of the models below: `archives` are the
files to download, `datasets` are the graphs in them. `{file}` in a source stands for the name of the archive.
"""

import re
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from grailbench.errors import InputError
from grailbench.util import paths, settings

LISTED = "'grailbench list datasets' shows them"  #: the remedy for an unknown name without similar names
_HEX64 = r"^[0-9a-f]{64}$"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Counts(_Model):
    """Numbers of vertices and edges of a file, without the super-root and with duplicate edges."""

    vertices: int = Field(gt=0)
    edges: int = Field(ge=0)


class Pairs(_Model):
    """The size of the transitive closure of a file's digraph, as we count it and as Datalog systems do.

    pairs   (u, v) with a path from u to v, u and v different
    cyclic  vertices on a cycle, self-loops included, that is pairs (v, v)
    """

    pairs: int = Field(ge=0)
    cyclic: int = Field(ge=0)

    @property
    def with_cycles(self) -> int:
        """The size with the pairs (v, v), as Datalog systems print it."""
        return self.pairs + self.cyclic


class Printed(Counts):
    """A row of a table in a paper. The thesis counts the super-root and its edges, Computation 2020 does not.

    degree   with the digits as printed
    erratum  why the row is known to be wrong; such a row is shown, but not compared with measurements
    """

    paper: Literal["thesis", "computation"]
    table: str
    degree: str
    erratum: str | None = None

    @property
    def super_root(self) -> bool:
        """Whether the counts include the super-root and its edges."""
        return self.paper == "thesis"

    @property
    def where(self) -> str:
        """Paper and table, as in 'thesis, table 2.1'."""
        return f"{'thesis' if self.paper == 'thesis' else 'Computation 2020'}, table {self.table}"


class Archive(_Model):
    """A file to download.

    sha256    None where the file was never available; only files with one can be verified
    git_blob  id of the file in the repository of the GRAIL authors (SHA-1 over 'blob <size>\\0' and the content); it
              identifies a file without a known sha256, which does not count as verified
    sources   URLs or folders in the order in which they are tried; those of the set if absent
    """

    file: str
    sha256: str | None = Field(default=None, pattern=_HEX64)
    git_blob: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")
    bytes: int | None = Field(default=None, gt=0)
    sources: tuple[str, ...]

    @property
    def urls(self) -> tuple[str, ...]:
        """The sources with the name of the file filled in."""
        return tuple(source.replace("{file}", self.file) for source in self.sources)


class Form(_Model):
    """A file that contains the graph.

    archive  the file to download, a .gz or a .tar.gz
    member   path inside a .tar.gz
    format   one of `grailbench.graph.readers.FORMATS`
    sha256   of the graph file itself, unpacked
    """

    archive: str
    member: str | None = None
    format: str = "gra"
    sha256: str | None = Field(default=None, pattern=_HEX64)

    @model_validator(mode="after")
    def _member_of_a_tar(self):
        if (self.member is not None) != self.archive.endswith((".tar.gz", ".tgz")):
            raise ValueError(f"{self.archive}: a member is named for a .tar.gz, and only for one")
        return self

    @property
    def graph_file(self) -> str:
        """Name of the graph file once unpacked, as in 'kegg_dag_uniq.gra'."""
        return PurePosixPath(self.member).name if self.member else self.archive.removesuffix(".gz")


class Dataset(Form):
    """A graph: its names, its files (as a `Form` itself, then `also`), what we counted of it, and its printed rows."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    title: str
    aliases: tuple[str, ...] = ()
    also: tuple[Form, ...] = ()
    counted: Counts | None = None
    closure: Pairs | None = None
    published: tuple[Printed, ...] = ()
    notes: tuple[str, ...] = ()
    set: str
    set_title: str
    archives: dict[str, Archive]

    @property
    def forms(self) -> tuple[Form, ...]:
        """The files that hold this graph, the preferred one first."""
        return (self, *self.also)

    @property
    def sources(self) -> tuple[str, ...]:
        """All URLs and folders that may have the graph, in the order in which they are tried."""
        return tuple(url for form in self.forms for url in self.archives[form.archive].urls)

    @property
    def table(self) -> str | None:
        """The table of the thesis that has the graph ('2.1'), if any."""
        return next((row.table for row in self.published if row.super_root), None)

    def printed(self, super_root: bool) -> Printed | None:
        """The printed row with or without the super-root, preferably one that is no erratum; None if there is none."""
        rows = [row for row in self.published if row.super_root == super_root]
        return min(rows, key=lambda row: row.erratum is not None, default=None)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that a user may type for the graph, normalized by `squeeze`."""
        files = [name for form in self.forms for name in (form.graph_file, Path(form.graph_file).stem)]
        files += [form.archive for form in self.forms if form.member is None]
        return frozenset(squeeze(name) for name in (self.name, *self.aliases, *files))


class _File(_Model):
    """A file of the registry: a set of graphs. `sources` are for archives without their own."""

    set: str
    title: str
    position: int
    sources: list[str] = []
    archives: dict[str, Archive]
    datasets: list[Dataset]


def squeeze(name: str) -> str:
    """The lower-case letters and digits of a name, so that different spellings compare equal."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def registry() -> dict[str, Dataset]:
    """All graphs by canonical name, in printed order. Raises InputError for a faulty TOML file."""
    return load(paths.shipped("datasets"))


def sets() -> dict[str, list[Dataset]]:
    """The graphs of each set, in printed order."""
    found: dict[str, list[Dataset]] = {}
    for dataset in registry().values():
        found.setdefault(dataset.set, []).append(dataset)
    return found


def find(name: str) -> Dataset | None:
    """The graph with that name or alias, in any spelling; None when there is none."""
    known = registry()
    if name in known:
        return known[name]
    wanted = squeeze(name)
    # Canonical names first: 'Citeseer' is the small graph, although 'citeseer.scc.gra' is a file of the large one.
    return next((d for d in known.values() if squeeze(d.name) == wanted), None) or next(
        (d for d in known.values() if wanted in d.names), None
    )


@cache
def load(folder: Path) -> dict[str, Dataset]:
    """Read all TOML files of a folder. Raises InputError naming a file that is faulty or uses a name twice."""
    files = [(path, settings.read(path, _File, _fill_in)) for path in sorted(folder.glob("*.toml"))]
    known: dict[str, Dataset] = {}
    owner: dict[str, str] = {}
    for path, file in sorted(files, key=lambda item: item[1].position):
        for dataset in file.datasets:
            if lacking := [form.archive for form in dataset.forms if form.archive not in file.archives]:
                raise InputError(f"{dataset.name}: no [archives] entry for {lacking[0]}", path=path)
            for name in dataset.names:
                if owner.setdefault(name, dataset.name) != dataset.name:
                    raise InputError(f"{owner[name]} and {dataset.name} share the name {name!r}", path=path)
            known[dataset.name] = dataset
    if not known:
        raise InputError("holds no registry of datasets", path=folder, remedy="reinstall grailbench")
    return known


def _fill_in(raw: dict) -> None:
    """Copy the values that a file gives once, for the whole set, into each of its archives and datasets."""
    archives, datasets = raw.get("archives"), raw.get("datasets")
    for file, fields in archives.items() if isinstance(archives, dict) else ():
        if isinstance(fields, dict):
            fields |= {"sources": fields.get("sources", raw.get("sources", [])), "file": file}
    for fields in datasets if isinstance(datasets, list) else ():
        if isinstance(fields, dict):
            fields |= {"set": raw.get("set"), "set_title": raw.get("title"), "archives": archives}
