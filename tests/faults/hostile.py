r"""Names drawn from hostile alphabets, in each field of a run, an environment and a plan, through everything that shows
one.

    python tests/faults/hostile.py --seconds 240 --record hostile-names

A round has a seed: the same one draws the same names. It puts a name into one field of a run after the other, shows the
run by every renderer (terminal, JSON, CSV, Markdown, LaTeX, HTML, SVG), writes a site and citations, and has each text
read by the scanner of its format (`attacks`). A field that may not have the name has to be refused in one line. Exit
code 1 if a scanner finds something, or anything else is raised than an error for users.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))

import attacks
import record
from attacks import ATTACKS
from stored import ENVIRONMENT, store, trials

from grailbench.errors import GrailbenchError
from grailbench.util.visible import quoted, visible

NIGHT = 240  #: seconds of `--nightly`
ALPHABETS = {
    "controls": [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0))],
    "direction": list("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061cאבجد"),
    "unseen": list("\u200b\u200c\u200d\u2060\ufeff\u00ad\ufe0f\u034f\u115f\u3164\u2800\u180e\U000e0041\U000e0100"),
    "markup": list("<>&\"'/=;#!-") + ["<script>", "</script>", "<!--", "]]>", "onload=", "javascript:"],
    "formula": list("=+-@\t\r\n;,'\" |1A") + ["HYPERLINK(", "cmd|"],
    "markdown": list("|`*_~[]()<>!#-+.\\&$:1 ") + ["http://", "&lt;"],
    "latex": list("\\{}$&#^_~%[]") + ["\\input", "\\end", "^^5c"],
    "marks": list("\u0301\u0308\u0489\u20dd\u0335ae ") + ["\u0301" * 20],
    "planes": [chr(at) for at in (0xE000, 0xFFFE, 0x1FFFF, 0x10FFFF, 0x2028, 0x2029, 0x85, 0xFFFC, 0xF0000)],
    "letters": list("abcé中文日本עברית😀 0123456789."),
}


def drawn(draw: random.Random) -> str:
    """A name of one or several alphabets, or a known attack and some more."""
    letters = [each for name in draw.sample([*ALPHABETS], draw.randint(1, 3)) for each in ALPHABETS[name]]
    name = "".join(draw.choice(letters) for _ in range(draw.randint(1, 24)))
    return draw.choice([name, name, name + draw.choice([*ATTACKS.values()]), draw.choice([*ATTACKS.values()]) + name])


# ------------------------------------------------------------------ where a name stands

ROWS = ("dataset", "impl", "query_set", "order", "search", "filters", "kind", "stands_for", "checksum", "verified",
        "graph_sha256", "at", "reason", "phase", "under", "problem", "worker", "counters", "run")  # fmt: skip
SAID = ("cpu", "host", "commit", "branch", "os", "python", "governor", "fingerprint", "at", "grailbench", "packages",
        "threads", "command", "gpus", "pinned", "load_average", "started")  # fmt: skip
PLAN = ("name", "title", "description", "digest")
SOURCES = (*(("row", field) for field in ROWS), *(("environment", field) for field in SAID),
           *(("plan", field) for field in PLAN), ("folder", "name"))  # fmt: skip


def made(root: Path, source: tuple[str, str], name: str) -> Path:
    """A stored run with the name in that field."""
    where, field = source
    folder = root / (attacks.file_name(name) if where == "folder" else "run")
    value: object = {"counters": {name: 3}, "packages": {"numba": name, name: "1"}, "threads": {name: name},
                     "command": ["grailbench", name], "gpus": [{"name": name, "driver": name}], "pinned": [name],
                     "load_average": [name]}.get(field, name)  # fmt: skip
    rows = trials(query=3.0) + trials(impl="parallel", threads=2)
    if where == "row":
        part = {"reason": {"status": "failed"}}.get(field, {})
        if field in ("phase", "under"):
            rows += [each | {field: name} for each in trials(dataset="human")]
        else:
            rows += trials(**({"dataset": "human", "query": 5.0} | {field: value} | part))
    path = store(folder, rows, ENVIRONMENT | ({field: value} if where == "environment" else {}))
    (path / "plan.json").write_text(json.dumps({field: value} if where == "plan" else {}))
    return path


# ------------------------------------------------------------------ what shows it


def shown(run: Path, out: Path, site: bool) -> Iterator[tuple[str, str, Callable]]:
    """Each text that a run becomes: what it is, the text, and its scanner; drawings only with a `site`."""
    import io

    from rich.console import Console

    from grailbench.cli import compare as compared
    from grailbench.cli import info
    from grailbench.compare import runs as compare
    from grailbench.compare.gate import Gate
    from grailbench.harness.cells import read
    from grailbench.report import cite, document, draw, figures
    from grailbench.report.page import page
    from grailbench.report.render import json as of_table
    from grailbench.report.render import terminal
    from grailbench.report.render.latex import latex
    from grailbench.report.table import Table
    from grailbench.util.screen import paired, put

    def lines(parts) -> str:
        text = io.StringIO()
        flat = (each for part in parts for each in (terminal(part) if isinstance(part, Table) else [part]))
        put(flat, Console(file=text, width=10_000))
        return text.getvalue()

    report = document.of_run(str(run))
    yield "report", lines(document.show(report, True)), attacks.terminal
    yield "info", lines(paired(info._lines(info.info(str(run))[0]))), attacks.terminal
    for table in (*report.shown, report.details):
        for line in of_table(table):
            yield "json", line, attacks.json_lines
        yield "latex", latex(table, report.title), attacks.latex
    for path in document.write(report, "both", out):
        if path.suffix in attacks.SCANNERS:
            yield path.suffix, path.read_bytes().decode(), attacks.SCANNERS[path.suffix]
    if site:
        yield "html", page(report), attacks.page
    found = cite.of_run(str(run))
    yield "cite", found.text(), attacks.terminal
    yield "bibtex", found.bibtex(), lambda text: [] if text.isascii() else ["not ASCII"]
    for figure in [each for each in figures.of_report(report).values() if each.drawable][: 2 * site]:
        for name, data in draw.files(figure, report.title, "svg"):
            yield name, data.decode(), attacks.SCANNERS["." + name.rpartition(".")[2]]
    both = compare.compare(read(run), read(run), Gate())
    yield "compare", lines(compared.show(both, True)), attacks.terminal
    yield "compare markdown", compared.markdown(both), attacks.markdown


def of_site(run: Path, out: Path) -> Iterator[tuple[str, str, Callable]]:
    """The files of a site of the run."""
    from grailbench.report.site import build, entries

    for path in build.build(entries.sources(entries.chosen([run])), out):
        if path.suffix in attacks.SCANNERS:
            yield f"site/{path.name}", path.read_bytes().decode(), attacks.SCANNERS[path.suffix]


def tried(source: tuple[str, str], name: str, site: bool) -> tuple[int, bool, list[str]]:
    """How many texts were read, whether the run was refused, and what is wrong."""
    wrong, texts = [], 0
    with tempfile.TemporaryDirectory() as root:
        try:
            run = made(Path(root), source, name)
            for parts in (shown(run, Path(root) / "out", site), of_site(run, Path(root) / "site") if site else ()):
                for what, text, scanner in parts:
                    texts += 1
                    wrong += [f"{what}: {each}" for each in scanner(text)]
        except GrailbenchError as error:
            line = f"error: {visible(str(error))}\n"
            return texts, True, wrong + [f"the error: {each}" for each in attacks.terminal(line)]
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})")
    return texts, False, wrong


@record.program(
    "Names in outputs",
    "No name of a graph, run or machine moves a cursor, hides, or becomes code, markup or a formula.",
    night=f"{NIGHT} seconds.",
)
@click.option("--seconds", type=float, default=20, show_default=True, help="How long.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first round's seed.")
def main(seconds: float, nightly: bool, seed: int) -> record.Found:
    counts, faults = Counter(), []
    for turn in record.rounds(NIGHT if nightly else seconds):
        at = seed + turn
        draw = random.Random(at)
        for number, source in enumerate(SOURCES):
            word = drawn(draw)
            texts, refused, wrong = tried(source, word, site=number % 8 == at % 8)
            counts.update({"names": 1, "texts": texts, "refused": refused})
            quoted(word)
            if wrong:
                faults += record.told([f"seed {at}, {source}: {ascii(word)}: {ascii(wrong[:3])}"])
    figure = f"{counts['names']:,} names in {len(SOURCES)} fields, {counts['texts']:,} texts read, {len(faults)} faults"
    click.echo(f"{counts['refused']:,} runs refused in one line")
    fields = [".".join(each) for each in SOURCES]
    return record.Found(figure, faults, {**counts, "seeds": [seed, at], "fields": fields, "faults": len(faults)})


if __name__ == "__main__":
    main()
