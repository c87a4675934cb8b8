"""What `make docs` adds to the pages here: the columns of CSV files, from the program, the changelog and, with
EXPLORE=1, the site over the recorded runs."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

from mkdocs.structure.files import File
from mkdocs.structure.nav import Link

from grailbench.cli.main import COMMANDS, cli
from grailbench.report import dictionary

_EXPLORED = os.environ.get("EXPLORE") == "1"


def on_config(config):
    """Has mkdocs-click show what click does not reflow, exit codes and examples, as it stands."""
    for command in (cli, *(cli.get_command(None, name) for name in COMMANDS)):
        parts = inspect.cleandoc(command.help or "").split("\n\n")
        command.help = "\n\n".join(_block(part) if part.startswith("\b") else part for part in parts)
    return config


def _block(text):
    title, *lines = text.removeprefix("\b\n").split("\n")
    return "\n".join([title, "", "```", *(line.removeprefix("  ") for line in lines), "```"])


def on_files(files, config):
    """Adds the changelog."""
    text = Path(config.config_file_path).with_name("CHANGELOG.md").read_text("utf-8")
    files.append(File.generated(config, "changes.md", content=text.replace("](docs/", "](")))
    return files


def on_nav(nav, **_):
    """Leads to the site where it is made."""
    if _EXPLORED:
        (results,) = (each for each in nav.items if each.title == "Results")
        results.children.append(Link("Explore", "explore/index.html"))
    return nav


def on_page_markdown(markdown, page, **_):
    """The page of columns is what the program says of them."""
    return dictionary.page() if page.file.src_uri == "reference/columns.md" else markdown


def on_post_build(config):
    """Makes the site in the folder `explore`."""
    if _EXPLORED:
        command = [sys.executable, "-m", "grailbench", "site", str(Path(config.site_dir, "explore"))]
        subprocess.run(command, check=True)  # noqa: S603
