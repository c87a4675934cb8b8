"""The command `grailbench site`."""

from pathlib import Path
from time import monotonic

import click

from grailbench.cli import options
from grailbench.cli.printing import note, show

EVERY_SECONDS = 3.0


class Said:
    """Says every few seconds how many files there are and which was written last."""

    def __init__(self):
        self._files, self._last = 0, monotonic()

    def __call__(self, address: str) -> None:
        self._files += 1
        if monotonic() - self._last >= EVERY_SECONDS:
            self._last = monotonic()
            note(f"{self._files} files: {address}")


@click.command
@click.argument("out", type=options.Output(path_type=Path))
@click.argument("runs", nargs=-1, metavar="[RUN...]", type=options.RUN)
@click.option("--title", metavar="TEXT", help="Of the site. [default: Reachability benchmarks]")
@options.as_json
def site(out, runs, title, as_json):
    """Write a web site of runs into the folder OUT: who is fastest, a leaderboard, a page a graph, an implementation
    and a run, and all times as CSV.

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

    paths = build.build(entries.chosen(runs), out, title or build.TITLE, note, Said())
    show(as_json, ({"path": str(path), "bytes": path.stat().st_size} for path in paths), [str(out / "index.html")])
    if not as_json:
        note(f"{len(paths)} files, {sum(path.stat().st_size for path in paths) / 1e6:.1f} MB")
