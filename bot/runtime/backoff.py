"""How long to wait before something is tried again."""

from datetime import timedelta
from random import Random

LONGEST_BACKOFF = 60.0  # seconds


def backoff(attempts: int, random: Random) -> timedelta:
    """The pause after so many tries: from a second on doubled each time, and spread, so that not all come back at once."""
    seconds = min(2.0 ** min(max(attempts - 1, 0), 10), LONGEST_BACKOFF)
    return timedelta(seconds=seconds * random.uniform(1.0, 1.25))
