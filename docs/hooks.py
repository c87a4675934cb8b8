"""What `make docs` adds to the pages here: the columns of CSV files, from the program, the changelog and, with
EXPLORE=1, the site over the recorded runs."""

import os
import subprocess
import sys
from pathlib import Path

from mkdocs.structure.files import File

from grailbench.report import dictionary


def on_files(files, config):
    """Adds two pages that no file here has."""
    changes = Path(config.config_file_path).with_name("CHANGELOG.md").read_text("utf-8")
    for name, text in (("reference/columns.md", dictionary.page()), ("changes.md", changes.replace("](docs/", "]("))):
        files.append(File.generated(config, name, content=text))
    return files


def on_post_build(config):
    """Makes the site in the folder `explore`."""
    if os.environ.get("EXPLORE") == "1":
        command = [sys.executable, "-m", "grailbench", "site", str(Path(config.site_dir, "explore"))]
        subprocess.run(command, check=True)
