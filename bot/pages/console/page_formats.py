"""The formats of times, numbers, contacts and texts on the console's pages, by the reader's browser and role."""

from datetime import date, datetime, timedelta

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_datetime, format_skeleton, format_time, format_timedelta
from babel.numbers import format_decimal, format_percent
from flask import Flask, abort, request, url_for
from markupsafe import Markup, escape

from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import is_contact
from bot.pages.console.masking import HIDDEN, masked_number, masked_words
from bot.pages.console.routes import Console, current_login
from bot.pages.console.users import AGENT

_CODE = lazy_pattern("`([^`]+)`")
_NAME = lazy_pattern(r"\w+(\.\w|:/|/|@)")


def reads() -> bool:
    """True if the user of this request sees numbers, names and texts."""
    return current_login().user.may(AGENT)


def number(contact: str) -> str:
    """A contact's number, as this user sees it."""
    return contact if reads() else masked_number(contact)


def called(words: str) -> str:
    """Words of the operator's or the bot's, such as a broadcast's name, as this user sees them: they may say whom they
    are about.
    """
    return words if reads() else masked_words(words)


def private(text: object) -> str:
    """A name, a value, or what somebody has said, as this user sees it."""
    return str(text) if reads() else HIDDEN


def address_of(contact: str) -> str:
    """The address of a contact's page. For viewers it does not have the number."""
    return url_for("contact", who=sealed(contact))


def sealed(text: str) -> str:
    """The code for a number, a name or a place in a list in this user's addresses."""
    return text if reads() else current_login().sealed(text)


def unsealed(text: str) -> str | None:
    """The text that was `sealed`; None for a code that this user was not given."""
    return text if reads() else current_login().unsealed(text)


def number_at(who: str) -> str:
    """The number of the contact whose page has this address; 404 if there is no such contact."""
    contact = unsealed(who)
    if contact is None or not is_contact(contact):
        abort(404, "there is no such contact")
    return contact


def code(words: str) -> Markup:
    """The bot's words, with the parts between `` as code: ``see `bot queue` `` -> ``see <code>bot queue</code>``"""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(words))))


def sentence(words: str) -> Markup:
    """Words of the bot's as a sentence, with what stands between `` as code.

    A name of a file or an address keeps its first letter.
    """
    if not _NAME.match(words):
        words = words[:1].upper() + words[1:]
    return code(words + ("" if words.endswith((".", "!", "?")) else "."))


def page_asked() -> int:
    """The number of the page of a list that the request asks for; the first is 1."""
    return min(max(request.args.get("page", 1, int), 1), 1_000_000)


def reader_locale() -> Locale:
    """The locale of the reader's browser."""
    for tag, _ in request.accept_languages:
        try:
            return Locale.parse(tag, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale("en")


def add_formats(app: Flask, console: Console) -> None:
    """Give the templates their filters: ``contact | number``, ``words | called``, ``text | private``, ``words | code``,
    ``words | sentence``, ``at | clock``, ``date``, ``day`` and ``ago``, ``day | plain_day``, ``count | decimal``,
    ``share | percent``.
    """

    def plain_day(day: date | str) -> str:
        return format_date(date.fromisoformat(day) if isinstance(day, str) else day, "medium", locale=reader_locale())

    def moment(at: datetime) -> str:
        at = at.astimezone(console.zone)
        skeleton = "MMMd" if at.year == console.clock.now().astimezone(console.zone).year else "yMMMd"
        day = format_skeleton(skeleton, at, locale=reader_locale())
        return f"{day}, {format_time(at, 'short', locale=reader_locale())}"

    def ago(at: datetime) -> str:
        past = at - console.clock.now()
        if timedelta(minutes=-1) < past <= timedelta() and reader_locale().language == "en":
            return "seconds ago"  # as `times.js` says: a number that changes each second would draw the eye
        away = max(abs(past), timedelta(seconds=1)) * (-1 if past <= timedelta() else 1)
        return format_timedelta(away, threshold=1, add_direction=True, locale=reader_locale())

    app.jinja_env.filters |= {
        "number": number,
        "private": private,
        "called": called,
        "code": code,
        "sentence": sentence,
        "decimal": lambda count: format_decimal(count, locale=reader_locale()),
        "clock": lambda at: format_time(at.astimezone(console.zone), "short", locale=reader_locale()),
        "date": lambda at: format_date(at.astimezone(console.zone), "full", locale=reader_locale()),
        "moment": moment,
        "day": lambda at: format_datetime(at.astimezone(console.zone), "medium", locale=reader_locale()),
        "plain_day": plain_day,
        "percent": lambda share: format_percent(share, locale=reader_locale()),
        "ago": ago,
    }
    app.jinja_env.globals |= {
        "bots_time": console.clock.now,
        "address_of": address_of,
        "reads": reads,
        "current": current_login,
    }
