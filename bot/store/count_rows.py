"""The counts in the engine's tables: the rows of each queue, the tokens that models used, the results of steps."""

from datetime import datetime

from bot.core.immutable import immutable
from bot.core.values import LEAST_COUNTED, storable, time_text
from bot.store.database import Queries

QUEUE_COUNTS = """
    SELECT 'parked', count(*) FROM parked
    UNION ALL SELECT 'outbox', count(*) FROM outbox
    UNION ALL SELECT 'calls', count(*) FROM calls
    UNION ALL SELECT 'events_out', count(*) FROM events_out
"""
"""How many rows each queue has, by table."""
COUNTS = f"""
    SELECT 'sessions', count(*) FROM sessions
    UNION ALL SELECT 'dead_letters', count(*) FROM dead_letters
    UNION ALL {QUEUE_COUNTS}
"""
"""How many rows each queue has, and how many sessions and dead letters there are."""

OLDEST = """
    SELECT 'outbox', (SELECT created_at FROM {0}outbox ORDER BY id LIMIT 1)
    UNION ALL SELECT 'calls', (SELECT created_at FROM {0}calls ORDER BY id LIMIT 1)
    UNION ALL SELECT 'events_out', (SELECT created_at FROM {0}events_out ORDER BY id LIMIT 1)
    UNION ALL SELECT 'parked', (SELECT parked_at FROM {0}parked ORDER BY id LIMIT 1)
"""
"""Since when the oldest row of each table of a shard waits; NULL for none. Ids follow the time in a shard alone."""

COUNT_RESULT = """
    INSERT INTO results (day, flow, step, split, way, outcome, count) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (day, flow, step, split, way, outcome) DO UPDATE SET count = results.count + excluded.count
"""
RESULTS = """
    SELECT day, flow, step, split, way, outcome, count FROM results
    WHERE day >= ? ORDER BY flow, step, split, way, outcome, day
"""
FORGET_RESULTS = "DELETE FROM results WHERE day < ?"


@immutable
class ResultCount:
    """How often something happened at a step of a flow on a day (UTC): see `bot.core.turn.Counted`."""

    day: str
    flow: str
    step: str
    split: str
    way: str
    outcome: str
    count: int


ADD_USAGE = """
    INSERT INTO usage (at, contact, flow, model, prompt_tokens, completion_tokens, estimated) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_COUNTED = f"""
    CASE WHEN prompt_tokens + completion_tokens > {LEAST_COUNTED} THEN prompt_tokens + completion_tokens ELSE {LEAST_COUNTED} END
"""
_TOKENS = f"SELECT coalesce(sum({_COUNTED}), 0) FROM usage WHERE at >= ?"
_TOKENS_OF = _TOKENS + " AND contact = ?"
_SUMS = """
    SELECT {of} AS name, count(*), sum(prompt_tokens), sum(completion_tokens), sum(estimated) FROM usage
    WHERE at >= ? GROUP BY name ORDER BY {order}, name
"""
_MOST_FIRST = "sum(prompt_tokens + completion_tokens) DESC"
USAGE_SUMS = {
    "contact": _SUMS.format(of="CASE contact WHEN '' THEN 'erased' ELSE contact END", order=_MOST_FIRST),
    "flow": _SUMS.format(of="flow", order=_MOST_FIRST),
    "model": _SUMS.format(of="model", order=_MOST_FIRST),
    "day": _SUMS.format(of="substr(at, 1, 10)", order="name"),
}
USAGE_BY = tuple(USAGE_SUMS)
"""The columns by which usage can be summed up."""


@immutable
class UsageSum:
    """The tokens that one contact, flow, model or day (UTC) used. The service did not count ``estimated`` answers."""

    name: str
    answers: int
    prompt_tokens: int
    completion_tokens: int
    estimated: int


class UsageReader(Queries):
    """The tokens that models used."""

    def tokens(self, contact: str | None, since: datetime) -> int:
        """The tokens that models used since a time: for one contact, or (None) for all together."""
        if contact is None:
            return int(self.database.one(_TOKENS, time_text(since))[0])
        return int(self.database.one(_TOKENS_OF, time_text(since), storable(contact))[0])

    def sums(self, since: datetime, by: str) -> list[UsageSum]:
        """The tokens that models used since a time, the largest use first, but days in order. ``by``: one of
        `USAGE_BY`.
        """
        return [UsageSum(*row) for row in self.database.all(USAGE_SUMS[by], time_text(since))]
