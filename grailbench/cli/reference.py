"""The reference of the command line as Markdown, generated from the commands.

`python -m grailbench.cli.reference > docs/cli.md` writes the page; a test checks that it is up to date.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from grailbench.cli.main import COMMANDS, SECTIONS, cli

HEAD = """\
# The commands

Made from the commands themselves by `python -m grailbench.cli.reference > docs/cli.md`; `grailbench COMMAND --help` (or
`-h`) shows the same. How they are used together is in the [guide](guide.md), what the words mean in the
[glossary](glossary.md).
"""
EXIT_CODES = "Exit codes:"  #: the heading of their list in help texts
_NUMBERS = {"integer": "N", "integer range": "N", "float": "X", "float range": "X"}  # click's names of types
_VERBATIM = "\b\n"  # the mark before paragraphs that click does not wrap


def page() -> str:
    """The whole page, which ends with a newline."""
    sections = (line for name in COMMANDS for line in _section(name, cli.get_command(None, name)))
    return "\n".join([HEAD, *_overview(), *sections])


def _overview() -> Iterator[str]:
    text, _, *codes = _help(cli)
    yield text
    for section, commands in SECTIONS.items():
        yield from ("", f"| {section} | |", "| --- | --- |")
        for name, each in commands.items():
            yield f"| [`{name}`](#grailbench-{name}) | {_cell(each['does'])} |"
    yield from ("", "## Exit codes", "", *codes)


def _section(name: str, command: click.Command) -> Iterator[str]:
    arguments = " ".join(_argument(param) for param in command.params if isinstance(param, click.Argument))
    yield from (f"## grailbench {name}", "", f"`grailbench {name} [OPTIONS]{' ' * bool(arguments)}{arguments}`", "")
    yield from (*_help(command), "| option | what it does |", "| --- | --- |")
    for param in command.params:
        if isinstance(param, click.Option):
            yield f"| {_flags(param)} | {_cell(_text(param))} |"
    yield ""


def _help(command: click.Command) -> Iterator[str]:
    """The paragraphs of a help text; those that click does not wrap become a table of exit codes or code blocks."""
    for paragraph in re.split(r"\n{2,}", inspect.cleandoc(command.help or "")):
        if not paragraph.startswith(_VERBATIM):
            yield from (" ".join(paragraph.split("\n")), "")
            continue
        first, *rest = paragraph.removeprefix(_VERBATIM).split("\n")
        if not rest or not rest[0].startswith(" "):
            yield from (" ".join([first, *rest]), "")
            continue
        lines = inspect.cleandoc("\n" + "\n".join(rest)).split("\n")
        if first == EXIT_CODES:
            codes = [line.split(" ", 1) for line in lines]
            rows = (f"| {code} | {_cell(text)} |" for code, text in codes)
            yield from ("| exit code | meaning |", "| --- | --- |", *rows, "")
            continue
        yield from (first, "", "```sh" if first == "Examples:" else "```", *lines, "```", "")


def _argument(param: click.Argument) -> str:
    """An argument as in a usage line."""
    name = "|".join(param.type.choices) if isinstance(param.type, click.Choice) else param.name.upper()
    name = name if param.required else f"[{name}]"
    return f"{name}..." if param.nargs == -1 else name


def _flags(param: click.Option) -> str:
    """The spellings of an option and its value."""
    value = ""
    if not param.is_flag:
        choices = param.type.choices if isinstance(param.type, click.Choice) else ()
        value = param.metavar or "|".join(choices) or _NUMBERS.get(param.type.name, param.type.name.upper())
        value = value if value.startswith("[=") else f" {value}"
    return ", ".join(f"`{_cell(name + value)}`" for name in (*param.opts, *param.secondary_opts))


def _text(param: click.Option) -> str:
    """The help of an option, whether it is required, and its default if the help does not say it."""
    default = f"[default: {param.default}]" if isinstance(param.default, str | int | float) else ""
    return " ".join(filter(None, (param.help, "[required]" * param.required, default * bool(param.show_default))))


def _cell(text: str) -> str:
    """A text for a cell of a table: on one line, with escaped bars."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    click.echo(page(), nl=False)
