"""Where the files of a report are written: into the run's folder by default, but never into a recorded run."""

import subprocess
from pathlib import Path

from grailbench.harness import provenance
from grailbench.util import commands
from grailbench.util.outputs import replaced

WHY = "a recorded run or a pack, into which nothing is written unasked"


def folder_for(run: Path, name: str, out: str | Path | None = None) -> Path | None:
    """The folder of a report's files: `out` if given, else the subfolder `name` of the run; None for a recorded run
    and for one in a pack."""
    if out is not None:
        return Path(out)
    return None if recorded(run) else Path(run) / name


def save(path: Path, data: bytes, over: bytes | None = None) -> Path:
    """Write a file as `outputs.replaced` does, and make its folders. Returns the path. A symbolic link is replaced, as
    the folder of a run may come from others."""
    with replaced(path, over=over, follow=False) as file:
        file.write(data)
    return path


def recorded(run: Path) -> bool:
    """True for a run in results/baselines of the checkout, for one in a pack, and for one with files that git
    tracks."""
    if Path(run).is_file() or provenance.is_recorded(run := Path(run).resolve()):
        return True
    try:
        done = subprocess.run(  # noqa: S603 - the folder's path is one word, as no shell reads it
            commands.git("-C", str(run), "ls-files", "--", "."),
            capture_output=True, timeout=10, env=commands.git_environment(),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return bool(done.stdout.strip())
