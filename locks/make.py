"""Makes the lock files anew: `make lock`, which installs uv, the resolver, where it is not there.

A lock names one release of everything that is installed, what is needed by what is needed included, with the SHA-256 of
each of its files for all platforms. `base.txt` is what `make bench` installs, `dev.txt` what `make test` installs,
`peers.txt` the base with the peers, `docs.txt` what `make docs` needs; a release in two of them is the same. What
builds grailbench itself is in each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

LOCKS = Path(__file__).resolve().parent
PROJECT = LOCKS.parent / "pyproject.toml"
EXTRAS = {"base": (), "dev": ("dev",), "peers": ("peers",), "docs": ("docs", "release")}
OLDEST = "3.11"
# A release with something harmful in it is mostly found, and taken away, within days.
AGE = "7 days"
BUILDS = "editables~=0.3"  # what hatchling asks for beyond itself, to install a checkout in place


def wanted(*extras):
    """list[str]: what `pyproject.toml` asks for with these extras, and to build grailbench."""
    table = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    project = table["project"]
    found = [*table["build-system"]["requires"], BUILDS, *project["dependencies"]]
    for extra in extras:
        found += project["optional-dependencies"][extra]
    return found


def resolve(lines, target, *flags):
    """Write the lock of these requirements to `target`; ends with uv's own words where there is none."""
    command = [*(sys.executable, "-m", "uv", "pip", "compile", "-", "--quiet", "--universal", "--generate-hashes")]
    # One release for all versions of Python: what is tested with one of them is what the others get.
    command += ["--fork-strategy", "fewest", "--python-version", OLDEST, "--exclude-newer", AGE, "--upgrade"]
    command += ["--no-annotate", "--custom-compile-command", "make lock", *flags, "--output-file", str(target)]
    text = "\n".join(lines) + "\n"
    ended = subprocess.run(command, input=text, text=True, check=False, env=os.environ | {"UV_NO_CONFIG": "1"})
    if ended.returncode:
        sys.exit(f"{target.name} could not be made, for the reason above; locks made before it are new: run it again")


def main():
    """Resolve everything together, then each lock to the same releases."""
    together = LOCKS / "all.txt"
    try:
        resolve(wanted(*{extra for of in EXTRAS.values() for extra in of}), together)
        for name, extras in EXTRAS.items():
            resolve(wanted(*extras), LOCKS / f"{name}.txt", "--constraints", str(together))
            print(f"locks/{name}.txt")
    finally:
        together.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
