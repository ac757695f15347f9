"""The view of dead letters: messages, events and turns that were given up, to retry or drop."""

from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from bot.console.routes import Console, Route, say
from bot.console.users import OPERATOR, VIEWER, User
from bot.core.text import printable
from bot.simulation.turn_words import effect_in_words
from bot.store.rows import LAST_ID
from bot.store.store_reader import DeadLetter

PAGE = 50


def dead_letters(console: Console, user: User) -> str:
    """The dead letters, the newest first."""
    before = min(max(request.args.get("before", LAST_ID, int), 1), LAST_ID)
    found = console.reader.dead_letters(PAGE + 1, before)
    return render_template(
        "dead_letters.html",
        letters=[(letter, _words(letter)) for letter in found[:PAGE]],
        before=found[PAGE - 1].id if len(found) > PAGE else None,
        newest=before == LAST_ID,
        total=console.reader.counts()["dead_letters"],
        acts=user.may(OPERATOR),
    )


def _words(letter: DeadLetter) -> str:
    """What was given up, in words; an empty text where the reason says all."""
    return effect_in_words(letter.body["effect"]) if isinstance(letter.body, dict) else ""


def end_dead_letters(console: Console, user: User) -> str | Response:
    """Retry the dead letters of a form, or drop them when the user is sure."""
    ids = [int(id) for id in request.form.getlist("id")[:PAGE] if id.isdecimal() and int(id) <= LAST_ID]
    if not ids:
        say("Choose dead letters first.")
    elif request.form.get("do") == "retry":
        answer = console.act({"do": "retry", "ids": ids})
        say(f"To be sent again: {len(answer['done'])}.")
        if answer["missing"]:
            say(f"Nothing that can be sent again, or gone already: {len(answer['missing'])}.")
        if answer["opted_out"]:
            say(f"Not sent, because their contacts have opted out: {len(answer['opted_out'])}.")
        for name in answer["held"]:
            say(f'They wait because the broadcast "{printable(name)}" is stopped or paused.')
    elif "sure" in request.form:
        say(f"Dropped: {len(console.act({'do': 'drop', 'ids': ids})['done'])}.")
    else:
        return render_template("drop_dead_letters.html", ids=ids)
    return redirect(url_for("dead_letters"))


ROUTES = (
    Route("/dead-letters", dead_letters, VIEWER, title="Dead letters"),
    Route("/dead-letters/end", end_dead_letters, OPERATOR, posts=True),
)
