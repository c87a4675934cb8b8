"""The `grailbench` command: loads its commands and turns expected errors into one line and an exit code."""

import importlib
import os
import sys
import tomllib
from contextlib import suppress
from keyword import iskeyword
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from grailbench.cli import streams
from grailbench.cli.printing import Help, note
from grailbench.errors import GrailbenchError, InputError, TooLittleMemory, of_system
from grailbench.util import __version__, faults, kernelcache, memory, outputs
from grailbench.util.guard import prompt_interrupts
from grailbench.util.visible import visible
from grailbench.util.words import did_you_mean

#: section of `grailbench --help` -> command -> what it does
SECTIONS = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
COMMANDS = {name: does for section in SECTIONS.values() for name, does in section.items()}
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}  #: of the contexts of all commands
INTERRUPTED = 130


class Context(click.Context):
    """A context whose help fits the terminal."""

    formatter_class = Help


class Command(Context):
    """The context of a command that runs: no output may be one of the files that the command line names as inputs."""

    def invoke(self, callback, /, *args, **kwargs):
        """Runs the command. Raises InputError if an output would replace an input."""
        from grailbench.cli.options import Output
        from grailbench.graph.mapped import MAGIC

        given = ((param.type, self.params.get(param.name)) for param in self.command.params)
        values = [(kind, each) for kind, value in given for each in (value if isinstance(value, tuple) else (value,))
                  if isinstance(each, str | os.PathLike)]  # fmt: skip
        with outputs.of_one_command():
            for kind, value in values:
                if not isinstance(kind, Output) and os.path.isfile(value):
                    outputs.protect(value)
            for kind, value in values:
                if isinstance(kind, Output):
                    outputs.require_writable(value, kind.index, MAGIC if kind.index else None)
            return super().invoke(callback, *args, **kwargs)


class Commands(click.Group):
    """Imports the module of a command when the command is used; the list of all commands needs none."""

    context_class = Context

    def list_commands(self, ctx):
        return list(COMMANDS)

    def get_command(self, ctx, name):
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"grailbench.cli.{name}_" if iskeyword(name) else f"grailbench.cli.{name}")
        found = next(each for each in vars(module).values() if isinstance(each, click.Command) and each.name == name)
        found.context_class, found.context_settings = Command, SETTINGS
        return found

    def resolve_command(self, ctx, args):
        if not (ctx.resilient_parsing or {*ctx.help_option_names} & {*args}):  # completion and help need no libraries
            memory.require_loadable()
        if not ctx.resilient_parsing and args[0] not in COMMANDS and not args[0].startswith("-"):
            nearest = did_you_mean(args[0], COMMANDS, "'grailbench --help' lists the commands", show=repr)
            raise click.UsageError(f"No such command {args[0]!r} ({nearest})", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx, formatter):
        width = max(map(len, COMMANDS))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), does) for name, does in commands.items()])

    def shell_complete(self, ctx, incomplete):
        items = [CompletionItem(name, help=does) for name, does in COMMANDS.items() if name.startswith(incomplete)]
        return items + click.Command.shell_complete(self, ctx, incomplete)


@click.command(cls=Commands, invoke_without_command=True, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="grailbench")
@click.pass_context
def cli(ctx):
    """Benchmark graph reachability, searches, shortest paths and closures: fetch graphs, run implementations, check
    every answer, report the times.

    \b
    Exit codes:
      0 done
      1 a check or gate failed: a wrong answer, a failed cell, a graph that does not match, a regression
      2 usage or bad input, with one line that says what to do; or an output that cannot be written
      3 nothing was measured
      4 the machine lacks what was asked for
      130 interrupted; what was finished is kept
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(argv: list[str] | None = None) -> None:
    """Runs the command line and exits; an expected error becomes one line on stderr and its exit code.

    If the reader of stdout stops early (`| head`), the command ends. If stdout cannot be written (a full disk), it goes
    on to its end, prints an error and exits with 2.
    """
    with streams.guarded() as failure:
        try:
            code = _run(argv)
        except KeyboardInterrupt:  # a second one, while the first was reported
            code = INTERRUPTED
        except streams.ReaderLeft:
            code = 0
        if (error := failure()) is not None:
            note(f"error: the output cannot be written: {error.strerror}")
            code = code or InputError.exit_code
    # If an interrupt passed through an exec of a text, as in an import, 'python -m' ends by SIGINT although it was
    # caught, unless another exec succeeds.
    exec("")  # noqa: S102 - nothing at all
    sys.exit(code)


def _run(argv: list[str] | None) -> int:
    """Runs a command, prints its error if there is one, and returns the exit code."""
    try:
        with prompt_interrupts(_before_exit, leave=False):
            code = cli.main(args=argv, prog_name="grailbench", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        if (ctx := getattr(error, "ctx", None)) is not None:
            usage = f"{ctx.get_usage()}\nTry '{ctx.command_path} {ctx.help_option_names[0]}' for help.\n"
            click.echo(usage, err=True)
        note(f"error: {error.format_message()}")
        return InputError.exit_code
    except Exception as error:
        expected = isinstance(error, GrailbenchError | MemoryError)
        if not expected and kernelcache.forget(error):  # a damaged cache entry of numba may raise anything
            return _run(argv)
        if (found := _explained(error)) is None:
            raise
        if found.exit_code == INTERRUPTED:
            click.echo(visible(str(found), "\n"), err=True)
        else:
            note(f"error: {found}")
        return found.exit_code
    return code if isinstance(code, int) else 0


def _explained(error: Exception) -> GrailbenchError | None:
    """The error to show for one that a command raised; None if none was expected."""
    if isinstance(error, OSError):
        return of_system(error)
    if isinstance(error, MemoryError):
        what = str(error) or "an allocation failed"
        return TooLittleMemory(f"too little memory: {what} (take a smaller graph)")
    return error if isinstance(error, GrailbenchError) else faults.explained(error)


def _before_exit() -> None:
    with suppress(OSError):
        os.write(2, b"interrupted\n")


if __name__ == "__main__":
    main()
