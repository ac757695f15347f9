"""How a call or a request is tried: for how long, how often; and how old the answer to a request can be."""

from datetime import timedelta

from bot.core.immutable import immutable
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import DURATION, Form, KeySet, KeySpec, integer, one_of, seconds
from bot.language.keys.fields import refuse
from bot.language.source.problems import Problems
from bot.language.source.wall_clock import parse_duration
from bot.language.source.yaml_tree import Node, Scalar

WITHIN = 10.0  # seconds, where nothing is written
_NEVER = "never"


@immutable
class Attempts:
    """A service's settings for all requests to it; None: not written."""

    within: float | None = None
    tries: int | None = None
    cache: float | None = None


def _read_cache(node: Node, problems: Problems, what: str) -> float:
    text = node.text if isinstance(node, Scalar) else ""
    age = timedelta() if text == _NEVER else parse_duration(text)
    if age is None:
        refuse(node, problems, what, "a duration", "write one like 10m, or never")
        return 0.0
    return age.total_seconds()


WITHIN_KEY = KeySpec("within", seconds(WITHIN), f"How long one try may take; {WITHIN:.0f}s by default.")
TRIES_KEY = KeySpec("tries", integer(1, 10), "How often it is tried; once by default.")
CACHE_KEY = KeySpec(
    "cache",
    Form(key_schemas.either(one_of(_NEVER).schema, DURATION.schema), _read_cache, absent=0.0),
    "How long an answer to GET is kept and used again; or never, which is the default.",
)
ATTEMPT_KEYS = KeySet(WITHIN_KEY, TRIES_KEY, CACHE_KEY)
"""The keys for attempts, on a service for all its requests or on one request."""
