"""The view of dead letters: messages, events and turns that were given up, to retry or drop: those that are ticked, or
all that are found.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any

from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from bot.core.engine_requests import DropDeadLetters, RetryDeadLetters
from bot.core.immutable import immutable
from bot.core.text import digits, printable
from bot.pages.console.page_formats import reads
from bot.pages.console.routes import Console, Route, say
from bot.pages.console.users import OPERATOR, VIEWER, User
from bot.runtime.operator_requests import end_dead_letters as end_letters
from bot.store.dead_letter_rows import DeadLetter, LetterSearch
from bot.store.rows import LAST_ID
from bot.testing.simulation.turn_words import effect_in_words

PAGE = 50
KINDS = {"send": "message", "event_out": "event out", "turn": "turn", "event": "unreadable event"}
"""The kinds of dead letters, in words."""


def dead_letters(console: Console, user: User) -> str:
    """The dead letters that are looked for, the newest first."""
    before = min(max(request.args.get("before", LAST_ID, int), 1), LAST_ID)
    asked = _asked(request.args)
    search = _search(console, asked)
    found, further = console.reader.dead_letters.find(search, PAGE + 1, before)
    if more_found := len(found) > PAGE:
        further = found[PAGE - 1].id
    total, complete = console.reader.dead_letters.count(search)
    return render_template(
        "dead_letters.html",
        letters=[(letter, _words(letter)) for letter in found[:PAGE]],
        asked=asked,
        searched=any(asked.values()),
        kinds=KINDS,
        newest=url_for("dead_letters", **_given(asked)) if before != LAST_ID else "",
        older=url_for("dead_letters", **_given(asked), before=further) if further else "",
        cut=bool(further) and not more_found,
        total=total,
        complete=complete,
        acts=user.may(OPERATOR),
    )


def _asked(given: Mapping[str, str]) -> dict[str, str]:
    """The search of a request. Viewers cannot search for numbers and texts: they could guess these digit by digit."""
    asked = {name: given.get(name, "").strip()[:200] for name in ("contact", "what", "reason", "since", "until")}
    return asked if reads() else asked | {"contact": "", "reason": ""}


def _given(asked: Mapping[str, str]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value}


def _search(console: Console, asked: Mapping[str, str], *, retried: bool = False) -> LetterSearch:
    since, until = (_day(console, asked[name]) for name in ("since", "until"))
    contact = asked["contact"] and (digits(asked["contact"]) or "none")
    return LetterSearch(
        contact=contact,
        what=asked["what"],
        reason=asked["reason"],
        since=since,
        until=None if until is None else until + timedelta(days=1),
        retried=retried,
    )


def _day(console: Console, text: str) -> datetime | None:
    """The beginning of a day (``2030-05-06``) in the bot's time zone."""
    try:
        return datetime.combine(datetime.strptime(text, "%Y-%m-%d").date(), time(), console.zone)
    except ValueError:
        return None


def _words(letter: DeadLetter) -> str:
    """The effect that was given up, in words; an empty text if the reason says all."""
    return effect_in_words(letter.body["effect"]) if isinstance(letter.body, dict) else ""


@immutable
class _Chosen:
    """The dead letters of a form: the ticked ones, or all that the search finds up to the newest one of when the user
    was asked.
    """

    ids: Sequence[int]
    newest: int = 0


def end_dead_letters(console: Console, user: User) -> str | Response:
    """Retry the dead letters of a form, or drop them; of all that are found, and before anything is dropped, the user
    is asked first.
    """
    form, retries = request.form, request.form.get("do") == "retry"
    asked, everything = _asked(form), "all" in request.values
    chosen = _chosen(console, asked, retries=retries) if everything else _Chosen(_ticked())
    if not chosen.ids:
        say("These dead letters are gone." if everything else "Choose dead letters first.")
    elif "sure" not in form and (everything or not retries):
        return render_template(
            "end_dead_letters.html", chosen=chosen, asked=_given(asked), all=everything, retries=retries, kinds=KINDS
        )
    elif unclear := _end(console, chosen.ids, retries=retries, sure="unclear" in form):
        return render_template(
            "end_dead_letters.html",
            chosen=_Chosen(unclear[:PAGE]),
            asked=_given(asked),
            all=False,
            retries=True,
            unclear=True,
        )
    return redirect(url_for("dead_letters", **_given(asked)))


def _ticked() -> list[int]:
    return [int(id) for id in request.form.getlist("id")[:PAGE] if id.isdecimal() and int(id) <= LAST_ID]


def _chosen(console: Console, asked: Mapping[str, str], *, retries: bool) -> _Chosen:
    search = _search(console, asked, retried=retries)
    newest = min(request.form.get("newest", LAST_ID - 1, int), LAST_ID - 1)
    ids = console.reader.dead_letters.ids(search, newest + 1)
    return _Chosen(ids, ids[-1] if ids else 0)


def _end(console: Console, ids: Sequence[int], *, retries: bool, sure: bool) -> list[int]:
    """Ask the engine, in pieces, and say what was done. Returns those that may have been sent, and stay unless the user
    is ``sure``.
    """
    total = end_letters(console.act, RetryDeadLetters(ids, sure) if retries else DropDeadLetters(ids))
    say(f"{'To be sent again' if retries else 'Dropped'}: {len(total.done)}.")
    if retries and total.missing:
        say(f"Nothing that can be sent again, or gone already: {len(total.missing)}.")
    if total.opted_out:
        say(f"Not sent, because their contacts have opted out: {len(total.opted_out)}.")
    for name in total.held:
        say(f'They wait because the broadcast "{printable(name)}" is stopped or paused.')
    return sorted(total.unclear)


ROUTES = (
    Route("/dead-letters", dead_letters, VIEWER, title="Dead letters"),
    Route("/dead-letters/end", end_dead_letters, OPERATOR, posts=True),
)
