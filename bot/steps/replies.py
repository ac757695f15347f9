"""The id that travels with a button or a row and comes back with the tap."""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from bot.core.codec import dumps

_NUMBERS = re.compile("[0-9]{1,3}/[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class ReplyId:
    """Which choice of which question was tapped: an old tap never chooses something else.

    Written ``flow/step/choice/visit/hash``, well under the gateway's 256 characters: names have 64 at most.
    """

    flow: str
    step: str
    choice: int
    visit: int
    hash: str

    def __str__(self) -> str:
        return f"{self.flow}/{self.step}/{self.choice}/{self.visit}/{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read an id of ours; None when it is somebody else's."""
        match text.split("/"):
            case [flow, step, choice, visit, hashed] if _NUMBERS.fullmatch(f"{choice}/{visit}") and len(hashed) == 8:
                return cls(flow, step, int(choice), int(visit), hashed)
        return None


def value_hash(title: str, value: Any) -> str:
    """Eight hex digits that tell what a choice stood for when it was shown."""
    return _hashed_text(title, value) if isinstance(value, str) else _hashed(title, value)


@lru_cache(maxsize=4096)
def _hashed_text(title: str, value: str) -> str:
    """The same of most choices there are: each is shown again and again."""
    return _hashed(title, value)


def _hashed(title: str, value: Any) -> str:
    return hashlib.sha256(dumps([title, value]).encode(errors="surrogatepass")).hexdigest()[:8]
