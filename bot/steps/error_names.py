"""The names under `errors` of a step."""

import re
from collections.abc import Collection

from bot.keys.fields import Fields
from bot.lang.nodes import Map
from bot.lang.problems import did_you_mean

ELSE = "else"
SENDING = ("refused", "mismatch", "failed")
"""How a step that sends a message can fail."""


def check_error_names(
    fields: Fields, known: Collection[str], whose: str, fix: str, also: re.Pattern[str] | None = None
) -> None:
    """The step's own `errors` are those that it can end with: inherited ones are for other steps too.

    ``whose`` says what has no such error, ``also`` which names it takes beside those that are ``known``.
    """
    own = fields.raw("errors")
    named = own.entries if isinstance(own, Map) and own.get("then") is None else ()
    for name, _ in named:
        if name.text not in (*known, ELSE) and not (also is not None and also.fullmatch(name.text)):
            what = f'{fields.what}: {whose} "{name.text}"'
            fields.problems.add("E504", name.mark, what, did_you_mean(name.text, [*known, ELSE], fix))
