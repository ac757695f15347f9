"""The view of the versions that were published, and the way back to one."""

from flask import abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from bot.loading.folder import file_changes
from bot.pages.console.edits import WORDS
from bot.pages.console.routes import Console, Route, say
from bot.pages.console.users import OPERATOR, User
from bot.store.published_versions import files_of, history, newest_version, publish_request, served_version


def versions(console: Console, user: User) -> str:
    """All versions that are kept, and which one is served."""
    database = console.reader.database
    newest = newest_version(database)
    listed = console.cached(("versions", newest), lambda: history(database, console.folder.path))
    return render_template("versions.html", listed=listed, served=served_version(database))


def version(console: Console, user: User, number: str) -> str:
    """The page of a version: its differences from the served version, and its effect on the conversations under way."""
    database, check, shown = console.reader.database, console.live_check, _number(number)
    files, served = files_of(database, shown, console.folder.path), served_version(database)
    before = None if served is None else files_of(database, served.number, console.folder.path)
    return render_template(
        "version.html",
        number=shown,
        served=served,
        newest=newest_version(database),
        differs=served is None or served.digest != files.digest,
        changes=None if before is None else file_changes(before, files),
        report=check.reports.get(shown),
        looks=check.looks(shown),
        words=WORDS,
    )


def look_at_version(console: Console, user: User, number: str) -> Response:
    """Begin to look at what it would do, which the page then shows."""
    console.live_check.begin(_number(number))
    return redirect(url_for("version", number=number))


def roll_back(console: Console, user: User, number: str) -> Response:
    """Publish a version again, after the user has seen its effects."""
    report = console.live_check.reports.get(_number(number))
    if report is None or report.found is None:
        abort(409, "look first at what this version would do to the conversations under way")
    files, name = files_of(console.reader.database, _number(number), console.folder.path), f"version {number}"
    after = request.form.get("after", 0, int)
    if console.tried(publish_request(files, f"{name} again", after=after, by=user.name, name=name)):
        say(f"The files of version {number} are served now, as a new version.")
    return redirect(url_for("versions"))


def _number(text: str) -> int:
    if not (text.isdecimal() and len(text) < 18):
        abort(404, "there is no such version")
    return int(text)


ROUTES = (
    Route("/versions", versions, OPERATOR, title="Versions"),
    Route("/version/<number>", version, OPERATOR),
    Route("/version/<number>/look", look_at_version, OPERATOR, posts=True),
    Route("/version/<number>/publish", roll_back, OPERATOR, posts=True),
)
