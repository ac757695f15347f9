"""What `bot check --load` prints: how much the flows of a bot can send, held against the gateway's limits."""

from collections.abc import Iterator
from math import ceil

from bot.checker.analysis.loads import flow_loads, model_loads
from bot.checker.rules.gateway_limits import PER_MINUTE
from bot.cli.output import counted
from bot.core.values import LEAST_COUNTED
from bot.flow.library import Library

PER_DAY = 10_000
CONTACTS = 1_000
"""To whom a flow is started at once, for example."""


def lines(library: Library) -> Iterator[str]:
    """A line for each flow."""
    yield f"At most, by {PER_MINUTE} messages a minute and {PER_DAY:,} a day:"
    width = max((len(name) for name in library.flows), default=0)
    for load in flow_loads(library):
        rounds = f": round by {'/'.join(load.circle)}" if load.circle else ""
        said = f"{_most(load.turn)} in one turn, {_most(load.conversation)} in one conversation{rounds}"
        yield f"  {load.flow:{width}}  {said}; {_started(load.first)}"
    yield from _models(library)


def _models(library: Library) -> Iterator[str]:
    """What one contact can cost a day, whatever it writes and a model answers."""
    found = model_loads(library)
    if not found:
        return
    yield "At most, what one contact can cost a day (UTC), whatever it writes and a model answers:"
    width = max(len("/".join(load.place)) for load in found)
    for load in found:
        budget = "no budget" if load.contact is None else f"{load.contact:,} of its budget"
        under_way = (
            f"{load.at_once} x {load.request:,} under way" if load.at_once > 1 else f"{load.request:,} under way"
        )
        calls = f", {_most(load.calls)} calls of tools ({load.each} each)" if load.each else ""
        requests = f"{_most(load.requests)} requests (each counts {LEAST_COUNTED} or more)"
        yield f"  {'/'.join(load.place):{width}}  {_most(load.tokens)} tokens ({budget}, {under_way}), {requests}{calls}"
    tokens, requests, calls = (
        _most(None if None in all else max(each for each in all if each is not None))
        for all in ([getattr(load, name) for load in found] for name in ("tokens", "requests", "calls"))
    )
    yield f"  {'in all':{width}}  {tokens} tokens, {requests} requests, {calls} calls of tools: the steps share a contact's day"


def _most(messages: int | None) -> str:
    return "no end" if messages is None else f"{messages:,}"


def _started(messages: int | None) -> str:
    """What it is to start a flow whose first turn sends so many messages."""
    if messages is None:
        return "its first turn has no end"
    return f"{CONTACTS:,} contacts x {counted(messages, 'message')}: {_duration(CONTACTS * messages)}"


def _duration(messages: int) -> str:
    """How long the gateway takes to be sent so many messages, for people."""
    if messages > PER_DAY:
        return f"{ceil(messages / PER_DAY):,} days"
    return f"{ceil(messages / PER_MINUTE)} min"
