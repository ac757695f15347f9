"""``bot queue``."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from bot.cli.shared.operate import NUMBER, ask_server, bot_option, open_store, operate, store_of
from bot.cli.shared.output import counted, echo_json, local_time, styled
from bot.core.engine_answers import DeadLettersEnded, Status
from bot.core.engine_requests import AskStatus, DropDeadLetters, RetryDeadLetters
from bot.core.errors import BotError
from bot.core.text import printable
from bot.server.shard_requests import why_it_waits
from bot.store.database import StoreAddress

if TYPE_CHECKING:
    from bot.core.messages import Message
    from bot.store.dead_letter_rows import DeadLetter
    from bot.store.rows import PendingSend

ACTIONS = ("retry", "drop")
THINGS = {"retry": "message", "drop": "dead letter"}
QUESTIONS = {"retry": "Send {} again?", "drop": "Delete {} for ever?"}
DONE = {"retry": "To be sent again: {}.", "drop": "Deleted: {}."}
MISSING = {"retry": "dead letter {} of a message or of an event to deliver", "drop": "dead letter {}"}


@click.command("queue")
@click.argument("action", metavar="[retry|drop]", required=False, type=click.Choice(ACTIONS))
@click.argument("letters", metavar="[ID...]", nargs=-1, type=click.IntRange(min=1))
@bot_option
@click.option("--all", "every", is_flag=True, help="All dead letters, instead of ids.")
@click.option("--code", metavar="CODE", help="With --all: only those with this code of the gateway.")
@click.option("--broadcast", metavar="NAME", help="With --all: only messages of this broadcast.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("-n", "limit", metavar="N", type=NUMBER, default=50, show_default=True, help="At most N of each.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print an object: alarms, pending, waits, late, events, dead, broadcasts, counts; or done, missing, opted_out, same_key, "
    "may_double, held.",
)
@click.pass_context
def command(
    ctx: click.Context,
    action: str | None,
    letters: tuple[int, ...],
    folder: Path | None,
    every: bool,
    code: str | None,
    broadcast: str | None,
    yes: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Show the messages that wait to be sent, or until their contacts write (window_closed), the events that wait to be
    delivered (events_to in bot.yml), and the dead letters (messages, events and turns that were given up), with the
    reason and what to do.

    "retry ID" sends a message or an event again, after everything else for its contact; when several messages are
    retried, new replies go first. It says which of them may have been sent already, and asks before it sends those
    again. "drop ID" deletes a dead letter for ever. The running server does both; if none runs, the messages wait for
    the next start.

    \b
      $ bot queue
      $ bot queue retry 17
      $ bot queue retry --all --code 132012
      $ bot queue drop 17 18

    Exit code 0: success. 1: there is no store yet, no such message, or you said no.
    """
    named = bool(letters)
    if (action is None and (named or every)) or (action and named == every) or ((code or broadcast) and not every):
        raise click.UsageError("write bot queue, or bot queue retry|drop with ids or --all: bot queue lists the ids")
    if action is None:
        _show(folder, limit, as_json)
        return
    from bot.runtime.operator_requests import end_dead_letters

    if every:
        from bot.store.dead_letter_rows import LetterSearch

        with open_store(folder) as store:
            search = LetterSearch(code=code or "", broadcast=broadcast or "", retried=action == "retry")
            letters = tuple(store.dead_letters.ids(search))
    if letters and not yes and (every or action == "drop"):
        click.confirm(QUESTIONS[action].format(counted(len(letters), THINGS[action])), abort=True, err=True)
    end = partial(end_dead_letters, partial(operate, folder))
    answer = end(RetryDeadLetters(letters) if action == "retry" else DropDeadLetters(letters))
    if answer.unclear and _is_to_be_repeated(answer, yes=yes):
        again = end(RetryDeadLetters(answer.unclear, sure=True))
        both = {
            name: [*getattr(answer, name), *getattr(again, name)] for name in ("done", "missing", "opted_out", "held")
        }
        answer = replace(again, **both)
    missing = [] if every else answer.missing  # of all dead letters, some may have been handled by another command
    if as_json:
        echo_json(asdict(answer))
    elif answer.done or not missing:
        click.echo(DONE[action].format(counted(len(answer.done), THINGS[action])))
    for name in () if as_json else answer.held:
        click.echo(
            f'They wait because the broadcast "{name}" is stopped or paused (bot broadcast resume "{name}" resumes it).'
        )
    if (stay := answer.opted_out) and not as_json:
        whose = "its contact has" if len(stay) == 1 else "their contacts have"
        click.echo(f"Not sent, and still dead letters: {counted(len(stay), 'message')}, because {whose} opted out.")
    for id in missing:
        click.echo(f"there is no {MISSING[action].format(id)} (`bot queue` lists them)", err=True)
    ctx.exit(1 if missing else 0)


_SAME_KEY = "{} may have been sent already. A retry has the same key, and the gateway sends no message twice while it knows its key."
_MAY_DOUBLE = "{} may have been sent already, and the gateway cannot recognise a retry: the contact may get it twice."


def _is_to_be_repeated(answer: DeadLettersEnded, *, yes: bool) -> bool:
    """Say what may happen to those that may have been sent, and ask. They stay dead letters without a yes."""
    for letters, what in ((answer.same_key, _SAME_KEY), (answer.may_double, _MAY_DOUBLE)):
        if letters:
            click.echo(what.format(counted(len(letters), "message")), err=True)
    return yes or click.confirm("Send again all the same?", err=True)


def _show(folder: Path | None, limit: int, as_json: bool) -> None:
    from bot.store.broadcast_rows import outcome_for_people

    with open_store(folder) as store:
        pending, dead, counts = store.messages.pending(limit), store.dead_letters.newest(limit), store.counts()
        events, late = store.events.pending(limit), store.sessions.late_messages(limit)
        broadcasts = store.broadcasts.unfinished()
        next_at = {name: min(store.broadcasts.to_come(name), default=None) for name in broadcasts}
    server = _ask_server(folder, [send.id for send in pending])
    if as_json:
        status = server.status
        shown = {"alarms": status.alarms, "pending": pending, "waits": status.waits, "events": events, "dead": dead}
        echo_json(shown | {"late": late, "broadcasts": broadcasts, "counts": counts})
        return
    for alarm in server.status.alarms:
        click.echo(styled(f"{alarm['what']} (since {local_time(datetime.fromisoformat(alarm['since']))})", fg="red"))
        click.echo(f"  {alarm['advice']}\n")
    for send in pending:
        _echo(_pending_lines(send, server))
    for event in events:
        _echo(_event_lines(event))
    for contact, messages in late.items():
        _echo(_late_lines(contact, messages))
    for letter in reversed(dead):
        _echo(_dead_lines(letter))
    for name, numbers in broadcasts.items():
        why = f' (bot broadcast show "{name}" says why)' if "paused" in numbers else ""
        if "scheduled" in numbers and (at := next_at.get(name)) is not None:
            why = f" (the next at {local_time(at)})"
        by_outcome = ", ".join(f"{number:,} {outcome_for_people(outcome)}" for outcome, number in numbers.items())
        click.echo(f'broadcast "{name}": {by_outcome}{why}')
    waiting, given_up = counts["outbox"], counts["dead_letters"]
    click.echo(f"{counted(waiting, 'message')} {'waits' if waiting == 1 else 'wait'} to be sent, {given_up} given up.")
    if delivered := counts["events_out"]:
        click.echo(f"{counted(delivered, 'event')} {'waits' if delivered == 1 else 'wait'} to be delivered.")
    if len(pending) < waiting or len(dead) < given_up:
        click.echo(f"{len(pending)} and {len(dead)} are shown: -n shows more.")


class _Server(NamedTuple):
    """The state of the server on the store. ``runs``: there is a server."""

    store: StoreAddress
    runs: bool
    status: Status


def _ask_server(folder: Path | None, ids: list[int]) -> _Server:
    store = store_of(folder)[1]
    try:
        return _Server(store, True, ask_server(store, AskStatus(ids)))
    except BotError:  # none runs, or it is just starting or stopping
        return _Server(store, False, Status())


def _echo(lines: Iterator[str]) -> None:
    click.echo("\n".join(lines) + "\n")


def _pending_lines(send: "PendingSend", server: _Server) -> Iterator[str]:
    from bot.testing.simulation.turn_words import effect_in_words

    yield f"{styled('waiting', fg='yellow')} {send.id}  to {send.contact}  since {local_time(send.created_at)}"
    yield f"  {effect_in_words(send.effect)}"
    if send.attempts:
        yield f"  {_tries(send.attempts)}: {send.detail}"
    elif send.detail:
        yield styled(f"  held: {send.detail}", fg="red")
    yield f"  {_why(send, server)}"


def _event_lines(event: "PendingSend") -> Iterator[str]:
    from bot.testing.simulation.turn_words import effect_in_words

    yield f"{styled('waiting', fg='yellow')} event {event.id}  of {event.contact}  since {local_time(event.created_at)}"
    yield f"  {effect_in_words(event.effect)}"
    if event.attempts:
        yield f"  {_tries(event.attempts)}: {event.detail}; it is tried again: {local_time(event.due_at)}"


def _tries(number: int) -> str:
    return f"{number} {'try' if number == 1 else 'tries'}"


def _late_lines(contact: str, messages: "Sequence[Message]") -> Iterator[str]:
    from bot.core.messages import in_words
    from bot.testing.simulation.turn_words import line_of

    yield f"{styled('waiting', fg='yellow')} {counted(len(messages), 'message')}  to {contact}  until the contact writes"
    yield from (f"  {line_of(in_words(message))}" for message in messages)
    yield "  the 24-hour window was closed"


def _why(send: "PendingSend", server: _Server) -> str:
    if not server.runs:
        return "it waits until a server runs: `bot serve`"
    wait = server.status.waits.get(str(send.id))
    if wait is None:
        return why_it_waits(server.store, send.contact, server.status.silent) or "it waits for earlier messages"
    until = wait["until"]
    return f"{wait['why']}" if until is None else f"{wait['why']}: {local_time(datetime.fromisoformat(until))}"


def _dead_lines(letter: "DeadLetter") -> Iterator[str]:
    from bot.testing.simulation.turn_words import effect_in_words

    whose = f"  {'to' if letter.what == 'send' else 'of'} {letter.contact}" if letter.contact else ""
    yield f"{styled('given up', fg='red')} {letter.id}  {letter.what}{whose}  at {local_time(letter.at)}"
    if isinstance(letter.body, dict):
        yield f"  {effect_in_words(letter.body['effect'])}"
    yield f"  {printable(letter.reason)}"
    yield styled(f"  {letter.advice}", dim=True)
