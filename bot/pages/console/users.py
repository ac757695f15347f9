"""The console's users, and what each role may do."""

from collections.abc import Iterable, Mapping

from bot.core.immutable import immutable
from bot.settings.setting_values import CONSOLE_ROLES

VIEWER, AGENT, OPERATOR = CONSOLE_ROLES
"""A viewer sees where conversations are, how many and why something waits, and neither numbers nor texts.

An agent also reads conversations and answers in the bot's place. An operator also changes what the bot does: retries,
drops, stops, resets, exports, erases.
"""


@immutable
class User:
    """Somebody who may log in."""

    name: str
    role: str
    hash: str

    def may(self, role: str) -> bool:
        """True if the user's role is this one, or one that may do more."""
        return CONSOLE_ROLES.index(self.role) >= CONSOLE_ROLES.index(role)


def users_in(entries: Iterable[str]) -> Mapping[str, User]:
    """The users, by name. ``entries`` are those of `bot.settings.setting_values.console_users`."""
    users = (User(*entry.split(":", 2)) for entry in entries)
    return {user.name: user for user in users}
