"""What a contact can tap or pick of what the phone shows."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from bot.core.errors import BotError

if TYPE_CHECKING:  # it serves HTTP, which whoever only prints messages need not wait for
    from bot.emulator import Choice

TAPPED = ("button", "template")
PICKED = ("list",)


class NotOnScreen(BotError):
    """The contact was never shown what it is to tap."""


def newest_button(shown: "Sequence[Choice]", title: str) -> "Choice":
    """The newest button of a title, of a message or a template. Raises `NotOnScreen`."""
    return _newest(shown, title, TAPPED, "button", "a row of a list: `pick` it")


def newest_row(shown: "Sequence[Choice]", title: str) -> "Choice":
    """The newest row of a title. Raises `NotOnScreen`."""
    return _newest(shown, title, PICKED, "row", "a button: `tap` it")


def _newest(shown: "Sequence[Choice]", title: str, kinds: Collection[str], what: str, else_it_is: str) -> "Choice":
    called = [choice for choice in shown if choice.title == title]
    meant = [choice for choice in called if choice.kind in kinds]
    if not meant:
        others = [choice for choice in shown if choice.kind in kinds]
        instead = f", but {else_it_is}" if called else _instead(others)
        raise NotOnScreen(f'there is no {what} "{title}"{instead}')
    return meant[-1]


def _instead(on_screen: "list[Choice]") -> str:
    newest = list(dict.fromkeys(choice.title for choice in reversed(on_screen)))[:10]
    return f", but there is {', '.join(reversed(newest))}" if newest else ", and nothing else to choose from either"
