"""The console's users, and what each role may do."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote

from bot.core.immutable import immutable
from bot.settings.setting_values import CONSOLE_ROLES

VIEWER, AGENT, OPERATOR = CONSOLE_ROLES
"""A viewer sees where conversations are, how many and why something waits, and neither numbers nor texts.

An agent also reads conversations and answers in the bot's place. An operator also changes what the bot does: retries,
drops, stops, resets, exports, erases.
"""


@immutable
class User:
    """Somebody who may log in. ``teams`` are those whose conversations they look after."""

    name: str
    role: str
    hash: str
    teams: tuple[str, ...] = ()

    def may(self, role: str) -> bool:
        """True if the user's role is this one, or one that may do more."""
        return CONSOLE_ROLES.index(self.role) >= CONSOLE_ROLES.index(role)


def users_in(entries: Iterable[str]) -> Mapping[str, User]:
    """The users, by name. ``entries`` are those of `bot.settings.setting_values.console_users`."""
    users = (_user_in(*entry.split(":")) for entry in entries)
    return {user.name: user for user in users}


def _user_in(name: str, role: str, *teams_and_hash: str) -> User:
    *teams, hash = teams_and_hash
    return User(name, role, hash, tuple(unquote(team) for each in teams for team in each.split(",")))


def entry_of(name: str, role: str, teams: Iterable[str], hash: str) -> str:
    """The entry of a user, as `users_in` reads it. Names of teams are percent-encoded."""
    encoded = ",".join(quote(team, safe="") for team in teams)
    return ":".join(filter(None, (name, role, encoded, hash)))
