"""The command `grailbench completion`."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
#: bash ends a word at a colon, but names such as 'peer:pyreachability-grail' contain one
_COLONS = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"


@click.command
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx, shell):
    """Print a script that makes SHELL complete commands, options and values: names of graphs, implementations, configs,
    figures, tables and runs.

    bash must be 4.4 or newer. The script calls 'grailbench', which must be on the PATH then.

    \b
    Examples:
      eval "$(grailbench completion bash)"
      grailbench completion zsh > ~/.grailbench.zsh
      grailbench completion fish > ~/.config/fish/completions/grailbench.fish
    """
    found = get_completion_class(shell)(ctx.find_root().command, {}, "grailbench", "_GRAILBENCH_COMPLETE")
    click.echo((_COLONS if shell == "bash" else "") + found.source())
