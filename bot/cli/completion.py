"""``bot completion``."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script with which a shell completes commands, options and the folders of bots.

    Write it where your shell looks for such scripts, and open a new shell:

    \b
      bash  ~/.local/share/bash-completion/completions/bot
      zsh   a file _bot in a folder of $fpath
      fish  ~/.config/fish/completions/bot.fish

    \b
      $ bot completion fish > ~/.config/fish/completions/bot.fish

    For the current bash alone:

    \b
      $ eval "$(bot completion bash)"

    Exit code 0: the script was printed.
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "bot", "_BOT_COMPLETE").source())
