"""The command `grailbench cite`."""

import json

import click

from grailbench.cli import options


@click.command
@click.argument("run", required=False, type=options.RUN)
@options.many("--author", text="Who measured the run, as 'Family, Given'; may repeat.", name="authors", metavar="NAME")
@click.option("--format", "form", type=click.Choice(["bibtex", "text", "json"]), default="bibtex", show_default=True,
              help="A .bib file, plain text, or one JSON object.")  # fmt: skip
def cite(run, authors, form):
    """Say how to cite grailbench, or a run of it.

    The run RUN (a folder, a name or a pack) is cited with its date, machine, commit, config and checksums, the papers
    that its tables reproduce, the sources of its graphs and the versions of its peers. There is also its environment,
    as a paragraph for a section on methods, and the sha256 of every graph; in BibTeX both are comments.

    \b
    Examples:
      grailbench cite
      grailbench cite results/runs/2025-01-31-quickstart
      grailbench cite results/runs/2025-01-31-quickstart --format text
      grailbench cite mine.pack.zip --author "Rossi, Ada" --format json
    """
    from grailbench.report import cite

    if authors and run is None:
        raise click.UsageError("--author is of a run: name one")
    found = cite.software() if run is None else cite.of_run(run, authors)
    click.echo(json.dumps(found.record()) if form == "json" else found.text() if form == "text" else found.bibtex())
