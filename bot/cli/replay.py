"""``bot replay``."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from bot.cli.loading import loaded
from bot.cli.numbers import number
from bot.cli.operate import Refused, bot_option, store_of
from bot.cli.output import echo_json, quiet_log
from bot.cli.spans import span

if TYPE_CHECKING:
    from bot.cli.replayed import Tally
    from bot.core.turn import Conversation
    from bot.store.store_reader import StoreReader

EVER = datetime.min.replace(tzinfo=UTC)


@click.command("replay")
@click.argument("contact", required=False)
@bot_option
@click.option("--since", metavar="DURATION", callback=span, help="Only conversations that went on in this time.")
@click.option("--show", is_flag=True, help="Show numbers, names and values; they are hidden else.")
@click.option("--json", "as_json", is_flag=True, help="Print an object: conversations, alike, stopped, differences.")
@click.pass_context
def command(
    ctx: click.Context, contact: str | None, folder: Path | None, since: timedelta | None, show: bool, as_json: bool
) -> None:
    """Hold recorded conversations against the flows as they are now: what would the bot have done otherwise?

    What contacts wrote, and what calls, requests and models came to, is taken from the store. Nothing is sent, called
    or asked. Of each conversation the first difference counts; those that are alike are shown once.

    \b
      $ bot replay --since 1d
      $ bot replay 6281234567890 --show

    Exit code 0: none differs. 1: some do, or the bot has problems, or there is no store, or nothing of the contact.
    2: wrong usage.
    """
    from bot.cli.replayed import Tally, lines_of, object_of
    from bot.store.store_reader import StoreReader

    quiet_log()
    bot, path = store_of(folder)
    library, began = loaded(bot).library, perf_counter()
    tally = Tally(library, show)
    with closing(StoreReader(path)) as store:
        _replay(store, tally, contact, EVER if since is None else datetime.now(UTC) - since)
    if contact is not None and not tally.conversations:
        raise Refused(f"no conversation of {number(contact)} is recorded (turns are kept for 7 days)")
    if as_json:
        echo_json(object_of(tally, bot.path))
    else:
        for line in lines_of(tally, bot.path, perf_counter() - began):
            click.echo(line)
    ctx.exit(1 if tally.differ else 0)


def _replay(store: "StoreReader", tally: "Tally", contact: str | None, since: datetime) -> None:
    from bot.checker.replaying.conversation_replay import replay
    from bot.store.trace_rows import UnreadableRecord

    for each in store.contacts_traced(since) if contact is None else (number(contact),):
        try:
            recorded = list(_since(store.conversations(each), since))
        except UnreadableRecord:
            tally.add_unreadable()
            continue
        for conversation in recorded:
            tally.add(conversation.contact, replay(tally.library, conversation))


def _since(conversations: list["Conversation"], since: datetime) -> Iterator["Conversation"]:
    return (conversation for conversation in conversations if conversation.turns[-1].event.at >= since)
