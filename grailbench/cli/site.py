"""`grailbench site`: a web site over recorded runs."""

from __future__ import annotations

from pathlib import Path

import click

from grailbench.cli import completion, options
from grailbench.cli.printing import note, show


@click.command("site")
@click.argument("out", metavar="[OUT]", required=False, type=options.Output(path_type=Path))
@click.argument("runs", nargs=-1, metavar="[RUN...]", type=completion.RUN)
@click.option("--title", metavar="TEXT", help="Of the site. [default: Reachability benchmarks]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file.")
@click.option(
    "--figures", metavar="DIR", type=options.Output(file_okay=False, path_type=Path),
    help="No site: draw the pictures of README.md and docs into DIR, from the recorded runs.",
)  # fmt: skip
@click.option(
    "--check", is_flag=True, help="Of --figures: write nothing, fail when a picture is not what the runs say."
)
def command(out, runs, title, as_json, figures, check):
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
      grailbench site --figures pictures
    """
    from grailbench.errors import CheckFailed, InputError
    from grailbench.report import pages
    from grailbench.report.site import build, entries

    if (out is None) == (figures is None) or (figures and title):
        raise InputError("a site needs its folder OUT, --figures goes without OUT and --title")
    if check and not figures:
        raise InputError("--check goes with --figures")
    if check:
        if stale := pages.stale_pictures(figures):
            names = ", ".join(map(str, stale))
            raise CheckFailed(f"{names}: not what the runs say (grailbench site --figures {figures} draws them)")
        return
    if figures:
        paths = pages.write_pictures(figures)
    else:
        found = entries.chosen(runs)
        paths = build.build(entries.sources(found, note), out, title or build.TITLE)
    written = paths if figures else [out / "index.html"]
    show(as_json, ({"path": str(path), "bytes": path.stat().st_size} for path in paths), map(str, written))
    if not as_json:
        note(f"{len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB")
