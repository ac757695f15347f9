"""How long to wait before something is tried again."""

from datetime import datetime
from random import Random

from bot.clock import to_microseconds

LONGEST_BACKOFF = 60.0  # seconds
_SPREAD = 1.25
_LONGEST_WAIT = LONGEST_BACKOFF * _SPREAD


def backoff(attempts: int, random: Random) -> float:
    """The pause in seconds after so many tries: from a second on doubled each time, and spread, so that not all come back at once."""
    seconds = min(2.0 ** min(max(attempts - 1, 0), 10), LONGEST_BACKOFF)
    return to_microseconds(seconds * random.uniform(1.0, _SPREAD))


def left_to_wait(attempts: int, due_at: datetime, now: datetime) -> float:
    """The seconds until what is stored to be tried at ``due_at`` is tried: no more than any pause can have been.

    The clock may have been set back since then. What has not been tried yet waits for nothing.
    """
    return min(max((due_at - now).total_seconds(), 0.0), _LONGEST_WAIT) if attempts else 0.0
