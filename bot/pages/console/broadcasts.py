"""The views of broadcasts: their list, and the results of one, which an operator can stop and resume."""

from collections.abc import Mapping

from flask import abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from bot.core.engine_requests import ResumeBroadcast, StopBroadcast
from bot.pages.console.charts import bar
from bot.pages.console.page_formats import called, page_asked, sealed, unsealed
from bot.pages.console.routes import REFRESH, Console, Route, say
from bot.pages.console.users import OPERATOR, VIEWER, User
from bot.runtime.broadcasting import why_paused
from bot.services.gateway.gateway_answers import BY_CODE
from bot.store.broadcast_rows import (
    ANSWERED_WITHIN,
    LIVE,
    PAUSED,
    REACHED_FIELDS,
    STOPPED,
    FlowToStart,
    outcome_for_people,
    reached_totals,
    without_message,
)

PAGE = 20
SHOWN = 50
"""The most contacts that are listed of those who did not get it."""


def broadcasts(console: Console, user: User) -> str:
    """The broadcasts, the newest first."""
    page = page_asked()
    found = console.reader.broadcasts.all()
    shown = found[(page - 1) * PAGE : page * PAGE]
    return render_template(
        "broadcasts.html",
        broadcasts=[(each, _in_words(_outcomes(console, each.name))) for each in shown],
        page=page,
        total=len(found),
        more=len(found) > page * PAGE,
        address=_address,
    )


def broadcast(console: Console, user: User) -> str:
    """One broadcast.

    Those who did not get it, and how far messages have got, are not looked up again while the page is open.
    """
    name = unsealed(request.args.get("name", "")) or ""
    found = console.reader.broadcasts.get(name)
    if found is None:
        abort(
            404, "there is no such broadcast, or its address was of an earlier login: look for it among the broadcasts"
        )
    counts = _outcomes(console, name)
    reached, unsent = {}, []
    if REFRESH not in request.headers:
        reached = reached_totals(console.reader.broadcasts.reached(name).values())
        unsent = without_message(console.reader.broadcasts.recipients(name))
    content = found.content
    return render_template(
        "broadcast.html",
        broadcast=found,
        sends=f"flow {content.flow}" if isinstance(content, FlowToStart) else f"{content.name} ({content.language})",
        counts=[(words, count, _advice(words)) for words, count in _in_words(counts).items()],
        most=max(counts.values(), default=0),
        bar=bar,
        why=[called(words) for words in why_paused(found, "“Resume”")] if found.state == PAUSED else [],
        to_come=list(console.reader.broadcasts.to_come(name).items()),
        reached=reached,
        reached_fields=REACHED_FIELDS,
        answered_within=ANSWERED_WITHIN,
        unsent=[(contact, outcome_for_people(outcome), code) for contact, outcome, code in unsent[:SHOWN]],
        not_shown=max(len(unsent) - SHOWN, 0),
        can_stop=found.state in (*LIVE, PAUSED),
        can_resume=found.state in (PAUSED, STOPPED),
        acts=user.may(OPERATOR),
    )


def stop_broadcast(console: Console, user: User) -> Response:
    """Take back all messages of a broadcast that are not being sent."""
    name = request.form.get("name", "")
    answer = console.act(StopBroadcast(name))
    say(f"It is stopped. Contacts who will not get it: {answer.stopped}.")
    if answer.in_flight:
        say(f"Messages that may have been sent and cannot be withdrawn: {answer.in_flight}.")
    return redirect(_address(name))


def resume_broadcast(console: Console, user: User) -> Response:
    """Resume a broadcast: its next message is sent alone, then the others."""
    name = request.form.get("name", "")
    answer = console.act(ResumeBroadcast(name))
    say(f"It is resumed. Contacts who will get it now: {answer.resumed}.")
    if answer.to_come:
        say(f"Contacts who will get it at their time: {answer.to_come}.")
    return redirect(_address(name))


def _outcomes(console: Console, name: str) -> dict[str, int]:
    return console.cached(("outcomes", name), lambda: console.reader.broadcasts.outcomes(name))


def _in_words(counts: Mapping[str, int]) -> dict[str, int]:
    """A broadcast's outcomes in words, with their counts."""
    return {outcome_for_people(outcome): count for outcome, count in sorted(counts.items())}


def _advice(words: str) -> str:
    """The advice for an outcome with a code, such as ``failed (132000)``; else an empty text."""
    known = BY_CODE.get(words.partition(" (")[2].removesuffix(")"))
    return "" if known is None else known.advice


def _address(name: str) -> str:
    """The address of a broadcast's page. For viewers it does not have the name."""
    return url_for("broadcast", name=sealed(name))


ROUTES = (
    Route("/broadcasts", broadcasts, VIEWER, title="Broadcasts"),
    Route("/broadcast", broadcast, VIEWER),
    Route("/broadcast/stop", stop_broadcast, OPERATOR, posts=True),
    Route("/broadcast/resume", resume_broadcast, OPERATOR, posts=True),
)
