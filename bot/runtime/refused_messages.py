"""The log's lines about messages that were given up."""

import logging
import re
from collections import Counter
from collections.abc import Iterable

from bot.runtime.sending import REFUSED, UNCLEAR, WINDOW_CLOSED_CODE, SendResult
from bot.services.gateway.gateway_answers import BY_CODE
from bot.store.message_rows import DEAD_LETTER_OUTCOMES

_OWN_CODES = (
    REFUSED,
    WINDOW_CLOSED_CODE,
    UNCLEAR,
)  # beside the table's and numbers, the codes that are no text of a stranger's

log = logging.getLogger(__name__)


class RefusedMessages:
    """Counts the messages that were given up since the start, by the gateway's code."""

    def __init__(self) -> None:
        self._counts = Counter[str]()

    def note(self, results: Iterable[SendResult]) -> None:
        """Log why messages were given up: at the first, the tenth, the hundredth of each code, and so on.

        The line has the gateway's code and our advice, not the gateway's words, since they may quote a contact.
        """
        for result in results:
            if result.state not in DEAD_LETTER_OUTCOMES:
                continue
            own = result.code in _OWN_CODES or re.fullmatch("[0-9]{3,6}", result.code) is not None
            code = (result.code if own or result.code in BY_CODE else "another code") if result.code else result.state
            self._counts[code] += 1
            if str(self._counts[code]).strip("0") == "1":  # 1, 10, 100, ...
                advice = BY_CODE[code].advice if code in BY_CODE else "`bot queue` has the gateway's words"
                log.warning("messages given up with %s since the start: %d (%s)", code, self._counts[code], advice)
