"""The view of an edit's effect: the files on the disk, and the conversations under way."""

from flask import redirect, render_template, url_for
from werkzeug.wrappers import Response

from bot.checker.replaying.migration_preview import MigrationKind
from bot.pages.console.routes import Console, Route
from bot.pages.console.users import OPERATOR, User

WORDS = {kind.name.lower(): kind.value for kind in MigrationKind}
"""The outcomes for a conversation, in words."""


def edits(console: Console, user: User) -> str:
    """The last report, if there is one."""
    check = console.live_check
    return render_template("edits.html", report=check.reports.get(None), looks=check.looks(), words=WORDS)


def check_edits(console: Console, user: User) -> Response:
    """Begin a check, which the page then shows."""
    console.live_check.begin()
    return redirect(url_for("edits"))


ROUTES = (Route("/edits", edits, OPERATOR, title="Edits"), Route("/edits", check_edits, OPERATOR, posts=True))
