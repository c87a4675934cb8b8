"""How to cite grailbench, and a run of it: with the papers that its tables reproduce, where its graphs come from, and
the machine in a paragraph for a section on methods."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from grailbench.compare.measures import grouped
from grailbench.data.registry import registry
from grailbench.harness import folder as results
from grailbench.harness import pack, plugins
from grailbench.harness.cells import Run, load
from grailbench.harness.environment import busy, commit_state
from grailbench.problems.contract import PROBLEMS, registered
from grailbench.report.published import PAPER_TABLES
from grailbench.report.render.latex import escape
from grailbench.util import __version__, paths, words
from grailbench.util.visible import visible

_GRAPHS = 12  #: names of graphs that the title of a source has


@dataclass(frozen=True)
class Entry:
    """What is cited: the type of its entry in BibTeX, its key, and its fields as plain text."""

    kind: str
    key: str
    fields: Mapping[str, str]

    def bibtex(self) -> str:
        """The entry; names in two braces stay as they are."""
        lines = [f"  {name} = {_field(name, value)}," for name, value in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def text(self) -> str:
        """The entry in a line."""
        values = [value for name, value in self.fields.items() if name not in ("license", "abstract")]
        return ". ".join(visible(each).rstrip(".") for each in values) + "."


@dataclass(frozen=True)
class Citation:
    """Entries, the first of which is the software; of a run also the environment as a paragraph, and the sha256 of its
    files and of its graphs by their names."""

    entries: list[Entry]
    environment: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    graphs: Mapping[str, str] = field(default_factory=dict)

    def bibtex(self) -> str:
        """A .bib file: what is outside of entries is a comment there."""
        sums = [f"% sha256 {_comment(f'{its} {name}')}" for name, its in {**self.files, **self.graphs}.items()]
        about = [f"% {_comment(self.environment)}"] if self.environment else []
        return "\n\n".join(["\n".join([*about, *sums])] * bool(about or sums) + [e.bibtex() for e in self.entries])

    def text(self) -> str:
        """Plain text."""
        parts = ["\n".join(f"- {entry.text()}" for entry in self.entries)]
        parts += [f"Environment: {visible(self.environment)}"] if self.environment else []
        for title, sums in (("Files of the run", self.files), ("Graphs", self.graphs)):
            lines = [f"{title} (sha256):", *(visible(f"  {its}  {name}") for name, its in sums.items())]
            parts += ["\n".join(lines)] * bool(sums)
        return "\n\n".join(parts)

    def record(self) -> dict:
        """The same as plain values."""
        entries = [{"type": each.kind, "key": each.key, **each.fields} for each in self.entries]
        return {"entries": entries, "environment": self.environment, "files": dict(self.files),
                "graphs": dict(self.graphs)}  # fmt: skip


def software() -> Citation:
    """How to cite the software: as CITATION.cff says, with the version and the commit that is here."""
    return Citation([_software(*commit_state())])


def of_run(run: str | None = None, authors: Iterable[str] = ()) -> Citation:
    """How to cite a run (a folder, a name or a pack; None: the latest), which some people measured; by default it has
    the authors of grailbench. Raises the errors of `runs.cells.load`."""
    from grailbench.report import document  # here, because the software alone is cited without

    found = load(run)
    environment = found.environment
    tables = [table.name for table in document.make(found).tables]
    with pack.folder_of(found.folder) as where:
        files = results.checksums(where, pack.FILES)
        plan = results.read_json(where / results.PLAN) if results.PLAN in files else {}
    graphs: dict[str, str] = {}
    for cell in found.cells:
        if cell.graph_sha256:
            graphs.setdefault(cell.dataset, cell.graph_sha256)
    own = _software(environment.get("commit"), environment.get("dirty"), environment.get("grailbench"))
    entries = [own, _run(found, plan, files, authors), *_papers(tables, found), *_sources(found), *_others(found)]
    return Citation(entries, paragraph(environment), files, graphs)


def links() -> list[tuple[str, str]]:
    """The papers that are reproduced, and the repository where it is known, with their addresses."""
    found = [("Repository", _cff().get("repository-code"))]
    for each in _cff()["references"]:
        names = " and ".join(person["family-names"] for person in each["authors"][:3])
        address = f"https://doi.org/{each['doi']}" if "doi" in each else each.get("url")
        found.append((", ".join(filter(None, (names, str(each.get("year", ""))))), address))
    return [(name, address) for name, address in found if address]


def paragraph(environment: Mapping) -> str:
    """The environment of a run as sentences for a section on methods; what is unknown is left out."""
    drivers = dict.fromkeys(str(gpu["driver"]) for gpu in environment.get("gpus") or [] if gpu.get("driver"))
    settings = [f"{name}={value}" for name, value in (environment.get("threads") or {}).items() if value]
    commit = environment.get("commit")
    unlike = any(each.get("fingerprint") != environment.get("fingerprint") for each in environment.get("earlier", ()))
    parts = {
        "Measured on {}": words.machine({**environment, "commit": None, "packages": None}),
        "NVIDIA driver {}": ", ".join(drivers),
        "Packages: {}": ", ".join(f"{n} {v}" for n, v in (environment.get("packages") or {}).items()),
        "Frequency governor {}": environment.get("governor"),
        "Settings of threads: {}": ", ".join(settings),
        "Pinned to cores {}": ", ".join(map(str, environment.get("pinned") or ())),
        "The machine had other work: {}": busy(environment),
        "grailbench {}": (environment.get("grailbench") or "of an unknown version")
        + (f", commit {commit[:12]}" if commit else "") + " WITH CHANGES" * bool(environment.get("dirty")),
        "Plug-in {}": ". Plug-in ".join(plugins.sentences(environment)),
        "Sessions of the run were on {}": "unlike machines" * unlike,
    }  # fmt: skip
    return ". ".join(text.format(value) for text, value in parts.items() if value) + "."


# ------------------------------------------------------------------ entries


@cache
def _cff() -> dict:
    """CITATION.cff, which ships with the package."""
    import yaml

    return yaml.safe_load(paths.shipped("CITATION.cff").read_text(encoding="utf-8"))


def _software(commit: str | None, dirty: bool | None, version: str | None = None) -> Entry:
    cff = _cff()
    code = f"commit {commit[:12]}{' with changes' if dirty else ''}" if commit else ""
    fields = {"author": _authors(cff["authors"]), "title": f"{cff['title']}: {cff['abstract'].partition(':')[0]}",
              "version": version or __version__, "year": str(cff["date-released"])[:4],
              "url": cff.get("repository-code"), "note": code, "license": cff["license"]}  # fmt: skip
    return Entry("software", "grailbench", _known(fields))


def _run(run: Run, plan: Mapping, files: Mapping[str, str], authors: Iterable[str]) -> Entry:
    at = (run.environment.get("at") or min((row["at"] for row in run.rows if row.get("at")), default=""))[:10]
    sums = [f"sha256 of {name} {digest}" for name, digest in files.items()]
    what = f"{words.count(len(run.cells), 'cell')}, {words.listing(run.implementations)}"
    fields = {"author": " and ".join(authors) or _authors(_cff()["authors"]),
              "title": f"{run.title} of grailbench: {what}", "year": at[:4],
              "date": at, "howpublished": f"Measured on {run.machine}",
              "note": "; ".join([f"config {plan['name']}", *sums] if plan.get("name") else sums)}  # fmt: skip
    return Entry("misc", f"grailbench-run-{_key(run.name)}", _known(fields))


def _papers(tables: list[str], run: Run) -> Iterator[Entry]:
    """The papers of the tables that a report of the run has, of its problems, and of its implementations: by the
    keywords of the references in CITATION.cff."""
    wanted = {"computation" if name in PAPER_TABLES else "thesis" for name in tables}
    wanted |= {name for cell in run.cells for name in (cell.problem, cell.impl)}
    for each in _cff()["references"]:
        if wanted & {*each["keywords"]}:
            kind, at = _KINDS[each["type"]]
            fields = {"author": _authors(each["authors"]), at: (each.get("institution") or {}).get("name"),
                      **{ours: each.get(theirs) for ours, theirs in _PAPER.items()}}  # fmt: skip
            first = each["authors"][0]["family-names"]
            yield Entry(kind, f"{_key(first)}{each.get('year', '')}{each.get('section', '')}", _known(fields))


#: types of CITATION.cff, in BibTeX, and the field of their institution there
_KINDS = {"thesis": ("mastersthesis", "school"), "article": ("article", "school"), "slides": ("misc", "organization"),
          "report": ("techreport", "institution"), "conference-paper": ("inproceedings", "organization")}  # fmt: skip
#: fields of a paper in BibTeX and in CITATION.cff
_PAPER = {"title": "title", "journal": "journal", "booktitle": "collection-title", "type": "thesis-type",
          "volume": "volume", "number": "issue", "pages": "start", "year": "year", "doi": "doi",
          "url": "url"}  # fmt: skip


def _sources(run: Run) -> Iterator[Entry]:
    """Where the graphs of the registry come from, a source a set."""
    known = map(registry().get, dict.fromkeys(cell.dataset for cell in run.cells))
    for name, members in grouped(filter(None, known), lambda dataset: dataset.set).items():
        urls = dict.fromkeys(url for each in members for url in each.archives[each.archive].urls if "://" in url)
        named = words.listing([each.name for each in members], _GRAPHS)
        fields = {"title": f"{members[0].set_title}: {named}", "howpublished": words.listing(urls, 3)}
        yield Entry("misc", f"graphs-{_key(name)}", _known(fields))


def _others(run: Run) -> Iterator[Entry]:
    """The implementations of others: plug-ins with their distributions, and peers with the versions of their packages
    as the run has them."""
    packages = run.environment.get("packages") or {}
    found = {(cell.problem, cell.impl): cell.distribution for cell in reversed(run.cells)
             if not cell.ours and cell.problem in PROBLEMS}  # fmt: skip
    for (problem, name), version in reversed(found.items()):
        made_by, bare = registered(name, problem), name.partition(":")[2]
        package = None if version else next((each for each in packages.items() if bare.startswith(each[0])), None)
        version = " ".join(package) if package else version
        fact = (run.environment.get("implementations") or {}).get(plugins.key(problem, name), {})
        page = f"https://pypi.org/project/{'/'.join(package)}/" if package else ""
        source = fact.get("source") or (made_by.source if made_by else "")
        fields = {"title": name, "version": version, "url": page, "note": source}
        yield Entry("software", _key(name), _known(fields))


def _authors(people: list[dict]) -> str:
    names = [p.get("name") or f"{p['family-names']}, {p['given-names']}" for p in people]
    return " and ".join(names)


def _known(fields: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items() if value}


def _key(name: str) -> str:
    """A key of BibTeX: ASCII letters, digits, '.', '_' and '-'."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "unnamed"


def _field(name: str, value: str) -> str:
    """The value of a field of BibTeX: its authors apart, all else in braces that keep capital letters."""
    text = value if name in ("doi", "url") else escape(value)
    corporate = name == "author" and "," not in value
    return f"{{{{{text}}}}}" if name == "title" or corporate else f"{{{text}}}"


def _comment(text: str) -> str:
    """Text outside of entries, where an at sign would begin one, on a line."""
    return re.sub(r"[^\x20-\x7e]|@", lambda found: f"(U+{ord(found[0]):04X})", text)
