"""``bot queue``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli.operate import bot_option, open_store, operate
from bot.cli.output import counted, echo_json, local_time, styled

if TYPE_CHECKING:
    from bot.store.reader import DeadLetter, PendingSend

EVENT_ADVICE = "it is kept in the inbox; nothing is lost but its turn"
TURN_ADVICE = "correct the flow or the handler, then see the contact with `bot trace`"


@click.command("queue", short_help="Show what waits to be sent, and what was given up.")
@click.argument("action", metavar="[retry ID]", required=False, type=click.Choice(["retry"]))
@click.argument("letter", metavar="", required=False, type=int)
@bot_option
@click.option(
    "-n", "limit", metavar="N", type=click.IntRange(min=1), default=50, show_default=True, help="At most N of each."
)
@click.option("--json", "as_json", is_flag=True, help="Print an object: pending, dead, counts; or what was done.")
def command(action: str | None, letter: int | None, folder: Path | None, limit: int, as_json: bool) -> None:
    """Show the messages that wait to be sent, and what was given up: why, in the gateway's words, and what to do.

    "retry ID" sends a message that was given up after all, behind everything else for its contact. It goes
    through the running server; if none runs, the message waits for the next start.

    \b
      $ bot queue
      $ bot queue retry 17

    Exit code 0: fine. 1: there is no store yet, or no such message.
    """
    if action is None:
        _show(folder, limit, as_json)
    elif letter is None:
        raise click.UsageError("which one? Write bot queue retry ID: bot queue lists the ids")
    else:
        answer = operate(folder, {"do": "retry", "id": letter})
        if as_json:
            echo_json(answer)
        else:
            click.echo(f"The message to {answer['contact']} waits to be sent again.")


def _show(folder: Path | None, limit: int, as_json: bool) -> None:
    with open_store(folder) as store:
        pending, dead, counts = store.pending_sends(limit), store.dead_letters(limit), store.counts()
    if as_json:
        echo_json({"pending": pending, "dead": [_readable(letter) for letter in dead], "counts": counts})
        return
    for send in pending:
        _echo(_pending_lines(send))
    for letter in reversed(dead):
        _echo(_dead_lines(letter))
    waiting, given_up = counts["outbox"], counts["dead_letters"]
    click.echo(f"{counted(waiting, 'message')} {'waits' if waiting == 1 else 'wait'} to be sent, {given_up} given up.")
    if len(pending) < waiting or len(dead) < given_up:
        click.echo(f"Shown are {len(pending)} and {len(dead)}: -n shows more.")


def _echo(lines: Iterator[str]) -> None:
    click.echo("\n".join(lines) + "\n")


def _pending_lines(send: "PendingSend") -> Iterator[str]:
    from bot.cli.explain import effect_in_words

    yield f"{styled('waiting', fg='yellow')} {send.id}  to {send.contact}  since {local_time(send.created_at)}"
    yield f"  {effect_in_words(send.effect)}"
    if send.attempts:
        yield f"  {counted(send.attempts, 'try') if send.attempts == 1 else f'{send.attempts} tries'}: {send.detail}"
        yield f"  the next is at {local_time(send.due_at)}"
    elif send.detail:  # not tried: nothing at all can be sent now
        yield styled(f"  held: {send.detail}", fg="red")


def _dead_lines(letter: "DeadLetter") -> Iterator[str]:
    from bot.cli.explain import effect_in_words

    whose = f"  {'to' if letter.what == 'send' else 'of'} {letter.contact}" if letter.contact else ""
    yield f"{styled('given up', fg='red')} {letter.id}  {letter.what}{whose}  at {local_time(letter.at)}"
    if letter.what == "send":
        yield f"  {effect_in_words(_readable(letter)['body']['effect'])}"
    yield f"  {letter.reason}"
    advice = {"send": f"when that is put right: bot queue retry {letter.id}", "turn": TURN_ADVICE}
    yield styled(f"  {advice.get(letter.what, EVENT_ADVICE)}", dim=True)


def _readable(letter: "DeadLetter") -> dict[str, Any]:
    """A dead letter with its message as a value; an event's body stays as it came."""
    import dataclasses

    from bot.core import codec

    body = codec.loads(letter.body) if letter.what == "send" else letter.body
    return {field.name: getattr(letter, field.name) for field in dataclasses.fields(letter)} | {"body": body}
