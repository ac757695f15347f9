"""What an account may use: requests a minute and a day, and tokens in windows (spec: "Limits", "Errors")."""

from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta

from bot.emulator.completion.answers import refuse

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
WINDOWS = {"5h": timedelta(hours=5), "weekly": timedelta(days=7), "monthly_exhausted": timedelta(days=30)}


class Throttle:
    """So many requests in a window that slides; ``limit`` None is without one."""

    def __init__(self, limit: int | None, length: timedelta) -> None:
        self.limit = limit
        self._length = length
        self._times: deque[datetime] = deque()

    def take(self, now: datetime) -> None:
        """Count a request. Raises `Refusal` when there were too many."""
        if self.limit is None:
            return
        while self._times and self._times[0] <= now - self._length:
            self._times.popleft()
        if len(self._times) >= self.limit:
            refuse("rate_limit_exceeded", "too many requests; slow down")
        self._times.append(now)


class Quotas:
    """Tokens by kind of window (``5h``, ``weekly``, ``monthly_exhausted``); one opens with its first use."""

    def __init__(self, tokens: Mapping[str, int]) -> None:
        if strange := tokens.keys() - WINDOWS.keys():
            raise ValueError(f"a quota is one of {', '.join(WINDOWS)}, not {', '.join(strange)}")
        self._tokens = dict(tokens)
        self._used: dict[str, tuple[datetime, int]] = {}

    def check(self, now: datetime) -> None:
        """Raise `Refusal`, with the time until its window ends, where a quota is used up."""
        for kind, most in self._tokens.items():
            began, used = self._window(kind, now)
            if used >= most:
                left = (began + WINDOWS[kind] - now).total_seconds()
                refuse("quota_exceeded", f"your {kind} quota is used up", kind=kind, reset_in=round(left))

    def use(self, tokens: int, now: datetime) -> None:
        """Deduct what an answer has used."""
        for kind in self._tokens:
            began, used = self._window(kind, now)
            self._used[kind] = (began, used + tokens)

    def _window(self, kind: str, now: datetime) -> tuple[datetime, int]:
        began, used = self._used.get(kind, (now, 0))
        return (began, used) if now < began + WINDOWS[kind] else (now, 0)
