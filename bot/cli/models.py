"""``bot models``."""

from pathlib import Path

import click

from bot.cli.ai import model_service
from bot.cli.shared.operate import bot_option
from bot.cli.shared.output import counted, echo_json


@click.command("models")
@bot_option
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects: id, owned_by, name, used.")
@click.pass_context
def command(ctx: click.Context, folder: Path | None, as_json: bool) -> None:
    """List the models of the chat-completion service. An asterisk marks the models that the bot uses.

    \b
      $ bot models

    BOT_AI_URL and BOT_AI_KEY name the service; BOT_AI_MODEL names the bot's models, the preferred one first.

    Exit code 0: success. 1: the service failed, the settings are wrong, or one of the bot's models is not listed.
    """
    with model_service(folder) as (service, own):
        listed = service.models()
    if as_json:
        echo_json([{"id": m.id, "owned_by": m.owned_by, "name": m.name, "used": m.id in own} for m in listed])
    else:
        width = max((len(model.id) for model in listed), default=0)
        named = max((len(model.name) for model in listed), default=0)
        for model in listed:
            click.echo(
                f"{'*' if model.id in own else ' '} {model.id:{width}}  {model.name:{named}}  {model.owned_by}".rstrip()
            )
        click.echo(f"{counted(len(listed), 'model')}.")
    missing = [slug for slug in own if slug not in {model.id for model in listed}]
    for slug in missing:
        click.echo(f"BOT_AI_MODEL names {slug}, which is not in the list.", err=True)
    ctx.exit(1 if missing else 0)
