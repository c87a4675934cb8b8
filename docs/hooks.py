"""What `make docs` adds to the pages here: the columns of CSV files, from the program, and the changelog."""

from pathlib import Path

from mkdocs.structure.files import File

from grailbench.report import dictionary


def on_files(files, config):
    """Two pages that no file here has."""
    changes = Path(config.config_file_path).with_name("CHANGELOG.md").read_text("utf-8")
    for name, text in (("reference/columns.md", dictionary.page()), ("changes.md", changes)):
        files.append(File.generated(config, name, content=text))
    return files
