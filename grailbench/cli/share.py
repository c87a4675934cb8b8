"""The commands that share runs: pack, record, cite, site."""

import json
from collections import Counter
from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import note, put, sheet, show
from grailbench.util import words


@click.command
@click.argument("run", type=options.RUN)
@click.option("--out", type=options.OUT_FILE, help="The pack. [default: RUN.pack.zip here]")
@click.option("--redact", is_flag=True, help="Leave out folders, hosts and the user's name, but no measurement.")
@click.option("--check", is_flag=True, help="RUN is a pack: verify it whole, judge it, and say what is in it.")
@options.as_json
def pack(run, out, redact, check, as_json):
    """Pack the run RUN into one file: its rows, its plan, its environment, and a manifest with their checksums.

    The same run gives the same bytes. 'report', 'compare', 'plot' and 'cite' take the file in place of a run,
    and verify it whole before they believe any of it. Packed is what 'grailbench record' takes, and also what was not
    measured from a clean commit, which is marked wherever it is shown.

    With --redact, of folders the last part stays, of hosts and the user's name nothing: in the command and the config,
    and in the reasons of cells without times, whose checksums are renewed. Rows with times stay byte for byte.

    With --check: known graphs must have the registry's checksums, and implementations that were asked the same pairs
    of the same graph must have given the same answers.

    \b
    Exit codes: 1 a pack is whole, but cannot be what it says; 2 a run that is not packed (damaged, failed or wrong
    cells), or a pack that is damaged or no pack.

    \b
    Examples:
      grailbench pack results/runs/2025-01-31-quickstart --redact
      grailbench pack --check mine.pack.zip
    """
    from grailbench.harness import plugins, submission

    if check and (out or redact):
        raise click.UsageError("--check goes without --out and --redact")
    found = submission.judge(run) if check else submission.submit(run, out, redact)
    environment = found.run.environment
    facts = {
        "path": str(found.path), "run": found.run.name, "machine": found.run.machine,
        "fingerprint": found.run.fingerprint, "cells": len(found.run.cells),
        "statuses": Counter(cell.status for cell in found.run.cells), "commit": environment.get("commit"),
        "plugins": plugins.sentences(environment), "clean": found.clean, "redacted": found.redacted,
    }  # fmt: skip
    unclean = [] if found.clean else ["NOT FROM A CLEAN COMMIT: nobody can repeat it"]
    if check:
        facts |= {"verified": found.methods, "graphs": found.graphs, "faults": found.faults}
        show(as_json, [facts], [f"{found.path}: a whole pack", *unclean, *sheet(facts)])
        found.check()
        return
    facts["bytes"] = found.size
    parts = [f"written: {found.path}, {words.size(found.size)}", *unclean, *sheet(facts)]
    if found.says:
        parts += ["", "Read before you share it:", *(f"  {line}" for line in found.says)]
        parts += [] if redact else ["--redact leaves out folders, hosts and the user's name."]
    show(as_json, [facts | {"says": found.says}], parts)


@click.command
@click.argument("run", type=options.RUN)
@click.argument("name")
@click.option("--replace", is_flag=True, help="Take the place of a run that is recorded under this name.")
def record(run, name, replace):
    """Copy the run RUN to results/baselines/NAME and enter it in the manifest there.

    Only what others can repeat is recorded: every session of the run must name a commit, and its files must have been
    those of the commit; so must the code of a plug-in that is not an installed release. A copy without git data
    knows its commit from COMMIT.json, which 'python -m grailbench.harness.provenance' writes in a clean checkout.

    \b
    Exit codes: 2 when the run is damaged, has a failed or wrong cell, or comes from changed files. harish-racy, which
    is right by luck, may be wrong.

    \b
    Examples:
      grailbench record 20250131-120000-fused my-machine/fused
      grailbench record /tmp/fused my-machine/fused --replace
    """
    from grailbench.harness import provenance

    folder = provenance.record(run, name, replace)
    put([f"recorded: {folder}"])


@click.command
@click.argument("run", required=False, type=options.RUN)
@click.option("--format", "form", type=click.Choice(["bibtex", "text", "json"]), default="bibtex", show_default=True,
              help="A .bib file, plain text, or one JSON object.")  # fmt: skip
def cite(run, form):
    """Say how to cite grailbench, or a run of it.

    The run RUN (a folder, a name or a pack) is cited with its date, machine, commit, config and checksums, the papers
    that its tables reproduce, the sources of its graphs and the versions of its peers. There is also its environment,
    as a paragraph for a section on methods, and the sha256 of every graph; in BibTeX both are comments.

    \b
    Examples:
      grailbench cite
      grailbench cite results/runs/2025-01-31-quickstart
      grailbench cite results/runs/2025-01-31-quickstart --format text
      grailbench cite mine.pack.zip --format json
    """
    from grailbench.report import cite

    found = cite.software() if run is None else cite.of_run(run)
    click.echo(json.dumps(found.record()) if form == "json" else found.text() if form == "text" else found.bibtex())


@click.command
@click.argument("out", type=options.Output(path_type=Path))
@click.argument("runs", nargs=-1, metavar="[RUN...]", type=options.RUN)
@click.option("--title", metavar="TEXT", help="Of the site. [default: Reachability benchmarks]")
@options.as_json
def site(out, runs, title, as_json):
    """Write a web site of runs into the folder OUT: a leaderboard, a page a graph, an implementation and a run, and
    all times as CSV.

    RUN is a folder, the name of a run ('grailbench list runs') or a pack that somebody sent ('grailbench pack'), which
    is verified whole; without one, the recorded runs of a checkout, else all stored ones. Each run has a page with what
    it ran on, the command that repeats it and every cell; numbers of other pages lead there. A run whose workers were
    of several machines is shown machine by machine; one without rows is left out.

    The pages need no network and no server: open index.html, or copy the folder to any web server. To see it as from
    one: python -m http.server --directory OUT. OUT is a new or empty folder, or a site of this command, which is
    replaced when the new one is whole; the same runs give the same files.

    \b
    Examples:
      grailbench site public results/runs/2025-01-31-quickstart
      grailbench site public results/runs/2025-01-31-quickstart --title "My graphs" --json
    """
    from grailbench.report.site import build, entries

    paths = build.build(entries.sources(entries.chosen(runs), note), out, title or build.TITLE)
    show(as_json, ({"path": str(path), "bytes": path.stat().st_size} for path in paths), [str(out / "index.html")])
    if not as_json:
        note(f"{len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB")
