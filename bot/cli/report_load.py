"""What `bot check --load` prints: how much the flows of a bot can send, held against the gateway's limits."""

from collections.abc import Iterator
from math import ceil

from bot.checker.loads import FlowLoad, loads
from bot.checker.rules.load import PER_MINUTE
from bot.cli.output import counted
from bot.flow.library import Library

PER_DAY = 10_000
CONTACTS = 1_000
"""To whom a flow is started at once, for example."""


def lines(library: Library) -> Iterator[str]:
    """A line for each flow."""
    yield f"At most, by {PER_MINUTE} messages a minute and {PER_DAY:,} a day:"
    width = max((len(name) for name in library.flows), default=0)
    for load in loads(library):
        turn = f"{load.turn:,} in one turn, {_conversation(load)}"
        started = f"{CONTACTS:,} contacts x {counted(load.first, 'message')}: {_duration(CONTACTS * load.first)}"
        yield f"  {load.flow:{width}}  {turn}; {started}"


def _conversation(load: FlowLoad) -> str:
    if load.conversation is not None:
        return f"{load.conversation:,} in one conversation"
    return "no end in one conversation" + (f": round by {'/'.join(load.circle)}" if load.circle else "")


def _duration(messages: int) -> str:
    """How long the gateway takes to be sent so many messages, for people."""
    if messages > PER_DAY:
        return f"{ceil(messages / PER_DAY):,} days"
    return f"{ceil(messages / PER_MINUTE)} min"
