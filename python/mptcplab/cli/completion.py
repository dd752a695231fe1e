"""`mptcplab completion`: what a shell needs to complete commands, options, scenarios and papers."""

import click
from click.shell_completion import get_completion_class

from mptcplab.cli.common import print_line

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print a shell script that completes commands, options, ready-made scenarios and papers.

    \b
    Example: mptcplab completion bash > ~/.local/share/bash-completion/completions/mptcplab
    """
    from mptcplab.cli.app import COMPLETE, app

    kind = get_completion_class(shell)
    assert kind is not None, "click completes for these shells"
    print_line(kind(app, {}, "mptcplab", COMPLETE).source())
