"""A conversation as it was held: its lines, and each message as text."""

from collections.abc import Collection

from bot.core.immutable import immutable
from bot.testing.conversations.comparison import PARTS
from bot.testing.simulation.phone import ShownMessage


@immutable
class SpokenLine:
    """One line of the conversation. ``who`` is the bot, or what happened: user, tap, pick, wait, ..."""

    who: str
    text: str
    message: ShownMessage | None = None

    def in_words(self, speakers: Collection[str]) -> str:
        """The line as text: what one of the ``speakers`` says as it is, anything else with what it is."""
        if self.message is not None:
            return message_text(self.message)
        return self.text if self.who in speakers else f"({self.who}) {self.text}".strip()


def message_text(message: ShownMessage) -> str:
    """A message with all that there is to see of it."""
    parts = [part_text(key, part(message)) for key, part in PARTS.items()]
    return "\n".join(part for part in parts if part)


def part_text(key: str, value: str | tuple[str, ...] | None, found: bool = False) -> str:
    """A part of a message in one line."""
    if not value:
        return ""
    match key:
        case "says":
            return str(value)
        case "contains":
            return str(value) if found else f"... {' ... '.join(value)} ..."
        case "buttons":
            return " ".join(f"[{title}]" for title in value)
        case "rows" | "body" | "payloads":
            return f"{key}: {' | '.join(value)}"
    return f"{key}: {value}"
