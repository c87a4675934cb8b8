"""The `grailbench` command: loads its commands and turns expected errors into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress

import click

from grailbench.cli import options, streams
from grailbench.errors import GrailbenchError, InputError, TooLittleMemory, of_system
from grailbench.util import __version__, faults, kernelcache, memory
from grailbench.util.guard import prompt_interrupts
from grailbench.util.visible import visible

#: in the order of `grailbench --help`
COMMANDS = (
    "fetch", "import", "export", "generate", "list", "info", "profile", "build", "ask", "plan", "run", "verify",
    "cluster", "limits", "report", "plot", "site", "compare", "history", "ab", "advise", "record", "pack",
    "cite", "cache", "completion",
)  # fmt: skip
_MODULES = {"import": "import_", "list": "list_"}  # where the module is named otherwise

INTERRUPTED = 130
KEPT = "interrupted: finished results are kept"


class Commands(click.Group):
    """Imports the module of a command when the command is used."""

    def list_commands(self, ctx):
        return list(COMMANDS)

    def get_command(self, ctx, name):
        if name not in COMMANDS:
            return None
        found = importlib.import_module(f"grailbench.cli.{_MODULES.get(name, name)}").command
        found.context_class = options.Command
        return found

    def resolve_command(self, ctx, args):
        if not (ctx.resilient_parsing or {*ctx.help_option_names} & {*args}):  # completion and help need no libraries
            memory.require_loadable()
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx, formatter):
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.get_command(ctx, name).get_short_help_str(limit=200)) for name in COMMANDS])


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="grailbench")
def cli():
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


def main(argv: list[str] | None = None) -> None:
    """Runs the command line and exits; an expected error becomes one line on stderr and its exit code.

    If the reader of stdout stops early (`| head`), the command goes on to its end. It also does so if stdout cannot be
    written (a full disk), and then prints an error and exits with 2.
    """
    with streams.guarded() as outputs:
        try:
            code = _run(argv)
        except KeyboardInterrupt:  # a second one, while the first was reported
            code = INTERRUPTED
        if (failure := outputs.failure) is not None:
            click.echo(f"error: the output cannot be written: {failure.strerror}", err=True)
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
    except GrailbenchError as error:
        if error.exit_code == INTERRUPTED:
            click.echo(visible(str(error), "\n"), err=True)
        else:
            _complain(error)
        return error.exit_code
    except click.ClickException as error:
        click.echo(_in_words(error), err=True)
        return InputError.exit_code
    except OSError as error:
        if kernelcache.forget(error):
            return _run(argv)
        explained = of_system(error)
        _complain(explained)
        return explained.exit_code
    except MemoryError as error:
        _complain(f"too little memory: {str(error) or 'an allocation failed'} (take a smaller graph)")
        return TooLittleMemory.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo(KEPT, err=True)
        return INTERRUPTED
    except Exception as error:
        if kernelcache.forget(error):  # a damaged cache entry of numba may raise anything; a failed import is repeated
            return _run(argv)
        if (found := faults.explained(error)) is not None:
            _complain(found)
            return found.exit_code
        raise
    return code if isinstance(code, int) else 0


def _complain(error: Exception | str) -> None:
    """Prints an error as one line, whatever names it has."""
    click.echo(f"error: {visible(str(error))}", err=True)


def _in_words(error: click.ClickException) -> str:
    """The message for wrong usage: the usage line, where to find help, and the error in the form of all our errors; for
    a group without a command, its help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message()
    lines = []
    if (ctx := getattr(error, "ctx", None)) is not None:
        lines = [ctx.get_usage(), f"Try '{ctx.command_path} {ctx.help_option_names[0]}' for help.", ""]
    return "\n".join([*lines, f"error: {visible(error.format_message())}"])


def _before_exit() -> None:
    with suppress(OSError):
        os.write(2, f"{KEPT}\n".encode())


if __name__ == "__main__":
    main()
