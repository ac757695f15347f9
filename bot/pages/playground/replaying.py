"""A conversation of the playground, held again with the flows as they are now."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from itertools import zip_longest

from bot.core.immutable import immutable
from bot.pages.playground.playground import Playground
from bot.pages.playground.refused import Refused
from bot.pages.shared.contact_view import Bubble
from bot.testing.simulation.phone import ShownMessage

_NOTHING = "not sent"


@immutable
class Replayed:
    """A conversation that a new ``contact`` has held again.

    ``difference``: the first one in the bot's messages; empty if they are the same.
    """

    contact: str
    difference: str


def replay(playground: Playground, contact: str, before: int | None = None) -> Replayed:
    """Hold a contact's conversation again as a new contact: all of it, or the part before a bubble."""
    chats = playground.chats
    held = [bubble for bubble in chats.bubbles(contact) if before is None or bubble.number < before]
    new = chats.add_contact()
    difference, later = "", playground.simulation.clock.now() - held[0].at if held else timedelta()
    for bubble in held:
        if bubble.message is None and not difference:
            try:
                _repeat(playground, new, bubble, later)
                playground.act_as(new, lambda bot: bot.settle())
            except Refused as error:
                difference = f"{error}: {bubble.text}"
    said, says = _said_in(held), _said_in(chats.bubbles(new))
    for number, (one, other) in enumerate(zip_longest(said, says), start=1):
        if one != other and not difference:
            words = [_NOTHING if message is None else _in_words(message) for message in (one, other)]
            difference = f"message {number} of the bot's was {words[0]}, and is now {words[1]}"
    return Replayed(new, difference)


def _repeat(playground: Playground, contact: str, bubble: Bubble, later: timedelta) -> None:
    """Do for another contact what was done at a bubble. ``later``: so long after that conversation began, this did."""
    data = bubble.data
    match bubble.kind:
        case "text":
            playground.write(contact, bubble.text)
        case "choice":
            playground.choose(contact, *_newest_choice(playground, contact, bubble.text))
        case "audio" if "words" in data:
            playground.speak(contact, data["words"])
        case "location":
            playground.send_place(contact, data["latitude"], data["longitude"], data.get("name", ""))
        case "wait":
            playground.wait(max(bubble.until + later - playground.simulation.clock.now(), timedelta(seconds=1)))
        case "start":
            playground.start(contact, data["flow"], data["data"])
        case "signal":
            playground.signal(contact, data["name"], data["data"])
        case "event":
            playground.happen(contact, bubble.text)
        case "model":
            playground.answer(contact, data["written"])
        case "colleague":
            playground.decide(contact, data["agreed"], data["note"])
        case "set":
            playground.set_values(contact, data["flow"], data["values"])
        case _:
            kept, _, name = bubble.file.partition(" ")
            playground.send_file(contact, name, playground.simulation.emulator.media[kept], bubble.text)


def _newest_choice(playground: Playground, contact: str, title: str) -> tuple[int, int]:
    for bubble in reversed(playground.chats.bubbles(contact)):
        if bubble.message is not None and title in bubble.message.choices:
            return bubble.number, bubble.message.choices.index(title)
    raise Refused("there is no such button any more")


def _said_in(bubbles: Iterable[Bubble]) -> list[ShownMessage]:
    """The bot's messages, without what is different each time."""
    return [replace(bubble.message, ids=()) for bubble in bubbles if bubble.message is not None]


def _in_words(message: ShownMessage) -> str:
    parts = [message.text or message.template or message.place or (message.file.link if message.file else "")]
    return " ".join([f'"{parts[0]}"', *(f"[{title}]" for title in message.choices)])
