"""The reference of the command line as Markdown: the help of every command.

`python -m grailbench.cli.reference > docs/cli.md` writes the page; a test checks that it is up to date.
"""

import click
from click.testing import CliRunner

from grailbench.cli.main import COMMANDS, SECTIONS, cli

HEAD = """\
# The commands

What `grailbench COMMAND --help` (or `-h`) shows, written by `python -m grailbench.cli.reference > docs/cli.md`. How the
commands are used together is in the [guide](guide.md), what the words mean in the [glossary](glossary.md).
"""


def page() -> str:
    """The whole page, which ends with a newline."""
    lines = [HEAD]
    for section, commands in SECTIONS.items():
        lines += [f"| {section} | |", "| --- | --- |"]
        lines += [f"| [`{name}`](#grailbench-{name}) | {does} |" for name, does in commands.items()]
        lines.append("")
    for heading, *words in (("Exit codes",), *((f"grailbench {name}", name) for name in COMMANDS)):
        shown = CliRunner(env={"COLUMNS": "110"}).invoke(cli, [*words, "--help"], "", prog_name="grailbench")
        lines += [f"## {heading}", "", f"```\n{shown.output}```", ""]
    return "\n".join(lines[:-1]) + "\n"


if __name__ == "__main__":
    click.echo(page(), nl=False)
