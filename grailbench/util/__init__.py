"""What the whole program needs of the system: files, folders, signals, memory, text."""

__version__ = "1.0.0"
#: where the documentation of the newest release is read, with a slash at its end; mkdocs.yml has it as `site_url`
DOCS = "https://grailbench.github.io/grailbench/latest/"
