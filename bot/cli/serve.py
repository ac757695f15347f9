"""``bot serve``."""

import logging
import os
from pathlib import Path

import click

from bot.cli.shared.operate import bot_argument, bot_as_served, load_env, refuse_together
from bot.core import telemetry
from bot.loading.folder import Folder, find_bot, read_folder
from bot.server.process.child import Half
from bot.server.process.supervisor import ROLES, Supervisor
from bot.settings import BadSettings, Settings, read_settings, short_secrets, unknown_variables
from bot.store.opening import is_shared

log = logging.getLogger("bot.serve")


@click.command("serve")
@bot_argument
@click.option("--console", is_flag=True, help="Also serve the console: pages of the live store, for those who log in.")
@click.option("--web", is_flag=True, help="Only receive events; engines on other machines process them.")
@click.option("--engine", is_flag=True, help="Only process events; other machines receive them.")
@click.pass_context
def command(ctx: click.Context, folder: Path | None, console: bool, web: bool, engine: bool) -> None:
    """Run the bot in DIR: receive the gateway's events at /webhook, and answer through the gateway.

    Settings come from the environment, from a file .env (here, or beside bot.yml), or from "settings" in bot.yml.
    docs/going-live.md explains each.

    \b
    Needed:
      BOT_GATEWAY_URL     the gateway's base address
      BOT_GATEWAY_KEY     the API key
      BOT_WEBHOOK_SECRET  the webhook's signing secret (`bot webhook register`)
    \b
    If the bot asks models:
      BOT_AI_URL, BOT_AI_KEY, BOT_AI_MODEL (several, separated by commas: the
      first is asked, the others are fallbacks), BOT_AI_KEY_IN (authorization)
    \b
    Optional:
      BOT_STORE (bot.db in DIR), BOT_HOST (127.0.0.1), BOT_PORT (8000),
      BOT_PUBLIC_URL, BOT_WEBHOOK_PATH (/webhook), BOT_WEBHOOK_TOLERANCE (300),
      BOT_CHANNEL_ID, BOT_GATEWAY_PER_MINUTE (60), BOT_GATEWAY_PER_DAY (10000),
      BOT_REPEAT_UNKNOWN (no), BOT_API_KEY (none: programs cannot start flows),
      BOT_ANSWER_IDS (no),
      BOT_LOG (turns: a line each), BOT_LOG_FORMAT (text, or json)
    \b
    For --console:
      BOT_CONSOLE_USERS (`bot console password` prints an entry), BOT_CONSOLE_URL,
      BOT_CONSOLE_HOST (127.0.0.1), BOT_CONSOLE_PORT (8001)

    The secrets that bot.yml, or the version that is served, names under "secrets" are required, too.

    With a store in PostgreSQL several machines can serve the bot, each as a whole or with --web or --engine
    (docs/scaling.md). A server with --engine needs no port: `bot doctor --server` says whether it answers.

    Flows are loaded again when a file is saved or on SIGHUP; if they have problems, these are listed and the old flows
    stay. Once a version was published (bot publish), that is served instead of the files. Ctrl-C or SIGTERM stops the
    bot within 30 seconds; unfinished work continues at the next start.
    """
    refuse_together(web=web, engine=engine)  # a server does both without either
    role = "web" if web else "engine" if engine else None
    bot = read_folder(find_bot(folder))
    settings = _settings(bot)
    if console and not settings.console_users:
        why = "BOT_CONSOLE_USERS is missing: `bot console password` makes a user, and prints what to set it to"
        raise BadSettings([why])
    if role is not None and not is_shared(settings.store):
        other = "engine" if role == "web" else "web"
        why = f"--{role} is for a store that several machines share: a file of SQLite has one server, which does both"
        fix = f"Leave --{role} out, or set BOT_STORE to a database of PostgreSQL and run `bot serve --{other}`, too"
        raise BadSettings([f"{why}. {fix}"])
    telemetry.set_up("serve", settings.secrets, settings.log_format)
    for line in [*unknown_variables(os.environ), *short_secrets(settings)]:
        log.warning(line)

    def announce(address: str | None, console_url: str | None) -> None:
        answers = f"answers at {address}{settings.webhook_path}"
        does = "processes the events of other machines" if address is None else answers
        try:
            if console_url is not None:
                click.echo(f"The console is at {console_url}.")
            click.echo(f"{bot.name} {does}, its store is {settings.store}. Ctrl-C stops it.")
        except OSError as error:  # the bot serves all the same
            log.warning("it is not printed where the bot answers: %s", error.strerror)

    roles = ROLES if role is None else (role,)
    ctx.exit(Supervisor(settings, bot.path, announce, roles=roles, console=_console_half if console else None).run())


def _console_half() -> Half:
    from bot.pages.console import console_process  # most servers have none

    return console_process.run


def _settings(bot: Folder) -> Settings:
    """Read the settings. If they are wrong, also list what is wrong with the flows."""
    load_env(bot.path)
    try:
        return read_settings(bot.path, os.environ, bot.settings(), bot_as_served(bot).secrets())
    except BadSettings as error:
        from bot.loading.program import problems_of

        raise BadSettings([*error.problems, *unknown_variables(os.environ), *map(str, problems_of(bot))]) from None
